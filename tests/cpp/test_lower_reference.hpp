// Plain C++ loops over Programs and Products, and the cases that the tests of the lowering share.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernel/kernel.hpp"
#include "math/alu.hpp"
#include "plan/plan.hpp"

namespace sg::lower_test {

using Bytes = std::vector<uint8_t>;

struct Case {
  std::string name;
  Step step;
  std::vector<Bytes> memories;
  std::vector<DType> dtypes;    // of the memories
  std::vector<Number> numbers;  // in the type of the instruction that reads them
  double tolerance = 0;         // relative to the largest magnitude of a result; 0: equal bits
};

// ---- memory ------------------------------------------------------------------------------------------------------

// Bits of an exponent; the other bits of a half, without the sign, are a fraction.
inline int exponent_bits(DType half) { return half == DType::float16 ? 5 : 8; }

inline double from_half(uint16_t bits, DType t) {
  const int fraction = 15 - exponent_bits(t), bias = (1 << (exponent_bits(t) - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction, rest = bits & ((1 << fraction) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1) return rest ? NAN : sign * INFINITY;
  const int whole = exponent ? 1 << fraction : 0;
  return sign * std::ldexp(whole + rest, std::max(exponent, 1) - bias - fraction);
}

// The nearest half; of two, the even one.
inline uint16_t to_half(double x, DType t) {
  const int fraction = 15 - exponent_bits(t), bias = (1 << (exponent_bits(t) - 1)) - 1;
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const int highest = (2 * bias + 1) << fraction;  // infinity
  if (std::isnan(x)) return static_cast<uint16_t>(highest | 1);
  if (x == 0 || std::isinf(x)) return static_cast<uint16_t>(sign | (x == 0 ? 0 : highest));
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const double scaled = std::nearbyint(std::ldexp(std::fabs(x), fraction - exponent));
  const auto bits = static_cast<int64_t>(scaled) + (int64_t{exponent + bias - 1} << fraction);
  return static_cast<uint16_t>(sign | std::min<int64_t>(bits, highest));
}

inline Number read(const Bytes& m, DType t, int64_t at) {
  Number n{};
  const uint8_t* p = m.data() + at * static_cast<int64_t>(size_of(t));
  if (t == DType::boolean) n.i = *p != 0;
  if (t == DType::int32) {
    int32_t v;
    std::memcpy(&v, p, 4);
    n.i = v;
  }
  if (t == DType::int64) std::memcpy(&n.i, p, 8);
  if (t == DType::float32) {
    float v;
    std::memcpy(&v, p, 4);
    n.f = v;
  }
  if (t == DType::float64) std::memcpy(&n.f, p, 8);
  if (t == DType::float16 || t == DType::bfloat16) {
    uint16_t v;
    std::memcpy(&v, p, 2);
    n.f = from_half(v, t);
  }
  return n;
}
inline void write(Bytes& m, DType t, int64_t at, Number n) {
  uint8_t* p = m.data() + at * static_cast<int64_t>(size_of(t));
  if (t == DType::boolean) *p = n.i != 0;
  if (t == DType::int32) {
    const auto v = static_cast<int32_t>(n.i);
    std::memcpy(p, &v, 4);
  }
  if (t == DType::int64) std::memcpy(p, &n.i, 8);
  if (t == DType::float32) {
    const auto v = static_cast<float>(n.f);
    std::memcpy(p, &v, 4);
  }
  if (t == DType::float64) std::memcpy(p, &n.f, 8);
  if (t == DType::float16 || t == DType::bfloat16) {
    const uint16_t v = to_half(n.f, t);
    std::memcpy(p, &v, 2);
  }
}
// Elements as float32.
inline Bytes widened(const Bytes& m, DType t) {
  Bytes out(m.size() / size_of(t) * sizeof(float));
  for (int64_t i = 0; i < static_cast<int64_t>(m.size() / size_of(t)); ++i)
    write(out, DType::float32, i, read(m, t, i));
  return out;
}

// ---- one instruction ---------------------------------------------------------------------------------------------

template <class T>
T get(Number n) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(n.f);
  else
    return static_cast<T>(n.i);
}
template <class T>
Number put(T v) {
  Number n{};
  if constexpr (std::is_floating_point_v<T>)
    n.f = v;
  else
    n.i = v;
  return n;
}

template <class T>
Number cast_from(T x, DType to) {
  switch (to) {
    case DType::boolean:
      return put(alu::cast<bool>(x));
    case DType::int32:
      return put(alu::cast<int32_t>(x));
    case DType::int64:
      return put(alu::cast<int64_t>(x));
    case DType::float32:
      return put(alu::cast<float>(x));
    default:
      return put(alu::cast<double>(x));
  }
}

template <class T>
Number float_function(Code c, T a, T b) {
  switch (c) {
    case Code::div:
      return put(alu::div(a, b));
    case Code::sqrt:
      return put(alu::sqrt(a));
    case Code::exp:
      return put(alu::exp(a));
    case Code::log:
      return put(alu::log(a));
    case Code::tanh:
      return put(alu::tanh(a));
    case Code::sigmoid:
      return put(alu::sigmoid(a));
    case Code::sin:
      return put(alu::sin(a));
    case Code::cos:
      return put(alu::cos(a));
    default:
      return put(alu::pow(a, b));
  }
}

template <class T>
Number apply(const Instr& i, Number na, Number nb) {
  const T a = get<T>(na), b = get<T>(nb);
  switch (i.code) {
    case Code::add:
      return put<T>(alu::add(a, b));
    case Code::sub:
      return put<T>(alu::sub(a, b));
    case Code::mul:
      return put<T>(alu::mul(a, b));
    case Code::neg:
      return put<T>(alu::neg(a));
    case Code::abs:
      return put<T>(alu::abs(a));
    case Code::maximum:
      return put<T>(alu::maximum(a, b));
    case Code::minimum:
      return put<T>(alu::minimum(a, b));
    case Code::lt:
      return put(alu::lt(a, b));
    case Code::le:
      return put(alu::le(a, b));
    case Code::eq:
      return put(alu::eq(a, b));
    case Code::ne:
      return put(alu::ne(a, b));
    case Code::cast:
      return cast_from<T>(a, i.dtype);
    default:
      if constexpr (std::is_floating_point_v<T>)
        return float_function<T>(i.code, a, b);
      else
        return Number{};
  }
}

inline Number apply(const Instr& i, DType from, Number a, Number b, Number c) {
  if (i.code == Code::select) return a.i ? b : c;
  if (i.code == Code::random_bits) return put(alu::random_bits(a.i, b.i, c.i));
  if (i.code == Code::random_wide) return put(alu::random_wide(a.i, b.i, c.i));
  if (i.code == Code::unit_float) return put(alu::unit_float(static_cast<int32_t>(a.i)));
  if (i.code == Code::check_index) return put<int64_t>(a.i >= 0 && a.i < b.i ? a.i : 0);
  switch (from) {
    case DType::boolean:
      return apply<bool>(i, a, b);
    case DType::int32:
      return apply<int32_t>(i, a, b);
    case DType::int64:
      return apply<int64_t>(i, a, b);
    case DType::float32:
      return apply<float>(i, a, b);
    default:
      return apply<double>(i, a, b);
  }
}

// ---- programs ----------------------------------------------------------------------------------------------------

struct Machine {
  const Program& p;
  const Instance& in;
  std::vector<Bytes>& memories;
  const std::vector<Number>& numbers;
  const Bytes* given = nullptr;  // view 0 of an epilogue

  int64_t at(int view, const Dims& c) const {
    int64_t n = p.views[view].offset;
    for (int d = 0; d < p.domain.rank; ++d) n += c[d] * p.views[view].strides[d];
    return n;
  }
  Number leaf(const Instr& i, const Dims& c) const {
    if (i.code == Code::constant)
      return is_float(i.dtype) && i.dtype == DType::float32 ? put(static_cast<float>(i.imm.f)) : i.imm;
    if (i.code == Code::number) return numbers[in.numbers[i.slot]];
    if (i.code == Code::index) return put<int64_t>(at(i.slot, c));
    const View& v = p.views[i.slot];
    return read(v.binding < 0 ? *given : memories[in.bindings[v.binding].memory], v.dtype, at(i.slot, c));
  }
  // Every value of one row: element values first index column, row values column 0.
  void row(const Dims& outer, const std::vector<Dims>& columns) {
    std::vector<std::vector<Number>> v(p.code.size());
    for (size_t n = 0; n < p.code.size(); ++n) {
      const Instr& i = p.code[n];
      auto operand = [&](int32_t o, size_t col) { return o < 0 ? Number{} : v[o][p.code[o].per_row ? 0 : col]; };
      if (i.code == Code::reduce) {
        v[n] = {reduce(i, [&](size_t col) { return operand(i.a, col); }, columns.size())};
        continue;
      }
      const size_t count = i.per_row ? 1 : columns.size();
      v[n].resize(count);
      for (size_t col = 0; col < count; ++col) {
        const Dims& c = i.per_row ? outer : columns[col];
        if (i.code == Code::store)
          v[n][col] = operand(i.a, col);
        else
          v[n][col] = i.code < Code::reduce
                          ? leaf(i, c)
                          : apply(i, p.code[i.a].dtype, operand(i.a, col), operand(i.b, col), operand(i.c, col));
      }
    }
    for (size_t n = 0; n < p.code.size(); ++n)
      if (const Instr& i = p.code[n]; i.code == Code::store)
        for (size_t col = 0; col < v[n].size(); ++col)
          write(memories[in.bindings[p.views[i.slot].binding].memory], i.dtype,
                at(i.slot, i.per_row ? outer : columns[col]), v[n][col]);
  }
  template <class F>
  static Number reduce(const Instr& i, F value, size_t count) {
    if (i.fold == Fold::sum) {
      double f = 0;
      int64_t n = 0;
      for (size_t c = 0; c < count; ++c) is_float(i.dtype) ? f += value(c).f : n += value(c).i;
      if (i.dtype == DType::float32) return put(static_cast<float>(f));
      return is_float(i.dtype) ? put(f) : i.dtype == DType::int32 ? put(static_cast<int32_t>(n)) : put(n);
    }
    const bool high = i.fold == Fold::maximum;
    Number best{};
    if (is_float(i.dtype))
      best.f = high ? -INFINITY : INFINITY;
    else if (i.dtype == DType::boolean)
      best.i = !high;
    else if (i.dtype == DType::int32)
      best.i = high ? INT32_MIN : INT32_MAX;
    else
      best.i = high ? INT64_MIN : INT64_MAX;
    const Instr fold{.code = high ? Code::maximum : Code::minimum, .dtype = i.dtype};
    for (size_t c = 0; c < count; ++c) best = apply(fold, i.dtype, best, value(c), {});
    return best;
  }
};

// Calls f with every coordinate of dimensions [first, last), the others as they are.
template <class F>
void walk(const Dims& domain, Dims c, int first, int last, F f) {
  int64_t n = 1;
  for (int d = first; d < last; ++d) n *= domain[d];
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i;
    for (int d = last - 1; d >= first; --d) c[d] = rest % domain[d], rest /= domain[d];
    f(c);
  }
}

inline void run_program(const Program& p, const Instance& in, std::vector<Bytes>& memories,
                        const std::vector<Number>& numbers, const Bytes* given = nullptr) {
  Machine m{p, in, memories, numbers, given};
  walk(p.domain, Dims::filled(p.domain.rank, 0), 0, p.outer(), [&](const Dims& outer) {
    std::vector<Dims> columns;
    walk(p.domain, outer, p.outer(), p.domain.rank, [&](const Dims& c) {
      if (p.piece_limit == 0 || c[p.outer() - 1] * p.domain[p.outer()] + c[p.outer()] < p.piece_limit)
        columns.push_back(c);
    });
    m.row(outer, columns);
  });
}

inline int64_t place(const Dims& sizes, const Dims& strides, int64_t number) {
  int64_t at = 0;
  for (int d = sizes.rank - 1; d >= 0; --d) at += number % sizes[d] * strides[d], number /= sizes[d];
  return at;
}

template <class T>
Bytes product(const Product& p, const Bytes& a, const Bytes& b) {
  Bytes out(static_cast<size_t>(p.batch * p.m * p.n) * sizeof(T));
  const T* x = reinterpret_cast<const T*>(a.data()) + p.a_offset;
  const T* y = reinterpret_cast<const T*>(b.data()) + p.b_offset;
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  const int64_t groups = p.batch / p.folded;
  for (int64_t at = 0; at < p.batch * p.m * p.n; ++at) {
    const int64_t s = at / (p.m * p.n), m = at / p.n % p.m, n = at % p.n;
    Sum sum = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      const int64_t of_a = p.a_walks() ? place(p.inner.sizes, p.inner.a, k) : k * p.a_k;
      const int64_t of_b = p.b_walks() ? place(p.inner.sizes, p.inner.b, k) + place(p.columns.sizes, p.columns.b, n)
                                       : k * p.b_k + n * p.b_n;
      sum += static_cast<Sum>(x[s % groups * p.a_batch + m * p.a_m + of_a]) *
             static_cast<Sum>(y[s / groups * p.b_folded + s % groups * p.b_batch + of_b]);
    }
    const T v = static_cast<T>(sum);
    std::memcpy(out.data() + static_cast<size_t>(at) * sizeof(T), &v, sizeof(T));
  }
  return out;
}

inline void run_reference(const Step& step, std::vector<Bytes>& memories, const std::vector<Number>& numbers) {
  for (const Instance& in : step.instances) {
    if (in.kernel.kind == Kernel::Kind::program) {
      run_program(in.kernel.program, in, memories, numbers);
      continue;
    }
    const Product& p = *in.kernel.product;
    const Bytes &a = memories[in.bindings[p.a_binding].memory], &b = memories[in.bindings[p.b_binding].memory];
    const Bytes sums = p.dtype == DType::float32   ? product<float>(p, a, b)
                       : p.dtype == DType::float64 ? product<double>(p, a, b)
                       : p.dtype == DType::int64   ? product<int64_t>(p, a, b)
                       : p.dtype == DType::int32   ? product<int32_t>(p, a, b)
                                                   : product<float>(p, widened(a, p.dtype), widened(b, p.dtype));
    run_program(p.epilogue, in, memories, numbers, &sums);
  }
}

std::vector<Case> cases();
std::vector<Case> odd_rows();

}  // namespace sg::lower_test
