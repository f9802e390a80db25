// Whole numbers that are large enough: of parts, and of bytes or elements in whole steps. For n of 0 or more.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sg {

// How many parts of `size` hold n.
template <std::integral T>
constexpr T divide_up(T n, std::type_identity_t<T> size) {
  return (n + size - 1) / size;
}
// The first multiple of `step` from n on.
template <std::integral T>
constexpr T round_up(T n, std::type_identity_t<T> step) {
  return divide_up(n, step) * step;
}

// What divides a number below 2^31 by `size` without a division: a factor and, above it, how far to shift. The twin of
// quotient() in shaders/common.glsl.
constexpr int64_t divisor_word(int64_t size) {
  const auto d = static_cast<uint64_t>(size);
  const auto shift = static_cast<uint64_t>(std::bit_width(d - 1));
  const uint64_t factor = (((uint64_t{1} << shift) - d) << 32) / d + 1;
  return static_cast<int64_t>(factor | shift << 32);
}

}  // namespace sg
