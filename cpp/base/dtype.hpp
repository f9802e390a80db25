// Element types, their sizes, and how two of them combine.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sg {

// In order of promotion: the result of two tensors has the later type, with two exceptions (see promote).
enum class DType : uint8_t { boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 };
inline constexpr int kDTypeCount = 10;

constexpr size_t size_of(DType t) {
  constexpr size_t bytes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return bytes[static_cast<int>(t)];
}
constexpr const char* name_of(DType t) {
  constexpr const char* names[] = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                   "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}
constexpr bool is_float(DType t) { return t >= DType::float16; }

// bool < integer < float.
constexpr int kind_of(DType t) { return t == DType::boolean ? 0 : is_float(t) ? 2 : 1; }

// The type that is computed in: memory holds the small ones, arithmetic does not.
constexpr DType wide_of(DType t) {
  switch (t) {
    case DType::uint8:
    case DType::int8:
    case DType::int16:
      return DType::int32;
    case DType::float16:
    case DType::bfloat16:
      return DType::float32;
    default:
      return t;
  }
}
constexpr bool is_narrow(DType t) { return wide_of(t) != t; }

// Neither of uint8 and int8 holds the other, nor of float16 and bfloat16.
constexpr DType promote(DType a, DType b) {
  const DType low = std::min(a, b), high = std::max(a, b);
  if (low == DType::uint8 && high == DType::int8) return DType::int16;
  if (low == DType::float16 && high == DType::bfloat16) return DType::float32;
  return high;
}

// A number whose type is known from its place: float64 or int64 bits.
union Number {
  double f;
  int64_t i;
};

}  // namespace sg
