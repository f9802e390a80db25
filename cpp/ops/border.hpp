// Borders that continue an image; for ops/ only.
#pragma once
#include <string>
#include <vector>

#include "graph/tensor.hpp"

namespace sg {

// x with borders of these widths: before and behind, the last dimension first. The mode is reflect, replicate or
// circular; widths that the mode has no elements for are a ValueError. x has elements.
Tensor with_borders(const Tensor& x, const std::vector<int64_t>& widths, const std::string& mode);

}  // namespace sg
