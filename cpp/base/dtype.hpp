// Element types, their sizes, and how two of them combine.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sg {

// In order of promotion: the result of two tensors has the later type.
enum class DType : uint8_t { boolean, int32, int64, float32, float64 };
inline constexpr int kDTypeCount = 5;

constexpr size_t size_of(DType t) {
  constexpr size_t bytes[] = {1, 4, 8, 4, 8};
  return bytes[static_cast<int>(t)];
}
constexpr const char* name_of(DType t) {
  constexpr const char* names[] = {"bool", "int32", "int64", "float32", "float64"};
  return names[static_cast<int>(t)];
}
constexpr bool is_float(DType t) { return t >= DType::float32; }
constexpr DType promote(DType a, DType b) { return std::max(a, b); }

// A number whose type is known from its place: float64 or int64 bits.
union Number {
  double f;
  int64_t i;
};

}  // namespace sg
