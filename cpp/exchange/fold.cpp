// One loop for each type and fold, over blocks that stay in the cache.
#include "exchange/fold.hpp"

#include <algorithm>

#include "math/alu.hpp"

namespace sg {
namespace {

constexpr int64_t kBlock = 1024;

// How values of a type lie in memory, and what they are added as.
template <class Stored, class Value = Stored>
struct Plain {
  using stored = Stored;
  using value = Value;
  static Value load(Stored x) { return static_cast<Value>(x); }
  static Stored store(Value x) { return static_cast<Stored>(x); }
};
struct Half {
  using stored = uint16_t;
  using value = float;
  static float load(uint16_t x) { return alu::from_float16(x); }
  static uint16_t store(float x) { return alu::to_float16(x); }
};
struct Brain {
  using stored = uint16_t;
  using value = float;
  static float load(uint16_t x) { return alu::from_bfloat16(x); }
  static uint16_t store(float x) { return alu::to_bfloat16(x); }
};

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}
template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;  // a NaN stays
}
template <class T>
T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}

template <class Type, auto combine>
void fold_typed(const std::vector<const std::byte*>& rows, std::byte* out, int64_t n, double scale) {
  using Stored = Type::stored;
  using Value = Type::value;
  std::vector<Value> room(rows.size() * static_cast<size_t>(kBlock));
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto* from = reinterpret_cast<const Stored*>(rows[r]) + begin;
      Value* to = room.data() + r * kBlock;
      for (int64_t i = 0; i < count; ++i) to[i] = Type::load(from[i]);
      if constexpr (std::is_floating_point_v<Value>)
        if (scale != 1)
          for (int64_t i = 0; i < count; ++i) to[i] *= static_cast<Value>(scale);
    }
    for (size_t left = rows.size(); left > 1; left = (left + 1) / 2)
      for (size_t r = 0; r < left; r += 2) {
        Value* to = room.data() + r / 2 * kBlock;
        const Value *a = room.data() + r * kBlock, *b = a + kBlock;
        const bool alone = r + 1 == left;
        if (alone)
          std::copy(a, a + count, to);
        else
          for (int64_t i = 0; i < count; ++i) to[i] = combine(a[i], b[i]);
      }
    auto* to = reinterpret_cast<Stored*>(out) + begin;
    for (int64_t i = 0; i < count; ++i) to[i] = Type::store(room[static_cast<size_t>(i)]);
  }
}

template <class Type>
void fold_as(Fold fold, const std::vector<const std::byte*>& rows, std::byte* out, int64_t n, double scale) {
  using V = Type::value;
  switch (fold) {
    case Fold::sum:
      return fold_typed<Type, add<V>>(rows, out, n, scale);
    case Fold::product:
      return fold_typed<Type, multiply<V>>(rows, out, n, scale);
    case Fold::maximum:
      return fold_typed<Type, larger<V>>(rows, out, n, scale);
    case Fold::minimum:
      return fold_typed<Type, smaller<V>>(rows, out, n, scale);
  }
}

}  // namespace

void fold_rows(DType dtype, Fold fold, const std::vector<const std::byte*>& rows, std::byte* out, int64_t n,
               double scale) {
  switch (dtype) {
    case DType::boolean:
      if (fold == Fold::sum) fold = Fold::maximum;
      if (fold == Fold::product) fold = Fold::minimum;
      return fold_as<Plain<uint8_t, int32_t>>(fold, rows, out, n, scale);
    case DType::uint8:
      return fold_as<Plain<uint8_t, int32_t>>(fold, rows, out, n, scale);
    case DType::int8:
      return fold_as<Plain<int8_t, int32_t>>(fold, rows, out, n, scale);
    case DType::int16:
      return fold_as<Plain<int16_t, int32_t>>(fold, rows, out, n, scale);
    case DType::int32:
      return fold_as<Plain<int32_t>>(fold, rows, out, n, scale);
    case DType::int64:
      return fold_as<Plain<int64_t>>(fold, rows, out, n, scale);
    case DType::float16:
      return fold_as<Half>(fold, rows, out, n, scale);
    case DType::bfloat16:
      return fold_as<Brain>(fold, rows, out, n, scale);
    case DType::float32:
      return fold_as<Plain<float>>(fold, rows, out, n, scale);
    case DType::float64:
      return fold_as<Plain<double>>(fold, rows, out, n, scale);
  }
}

}  // namespace sg
