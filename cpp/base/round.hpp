// Whole numbers that are large enough: of parts, and of bytes or elements in whole steps. For n of 0 or more.
#pragma once
#include <concepts>
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

}  // namespace sg
