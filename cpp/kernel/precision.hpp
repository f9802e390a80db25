// How exactly float32 products are computed. Plain data, without includes that bring code.
#pragma once
#include <cstdint>

namespace sg {

// Of the products of a GPU with matrix units (docs/decisions/032-products-of-scaled-halves.md); others are strict.
enum class Precision : uint32_t {
  highest,  // float32 throughout
  high,     // each factor as the sum of two scaled halves
  medium,   // each factor as one scaled half
};

}  // namespace sg
