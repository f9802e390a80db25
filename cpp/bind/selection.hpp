// What waits for a count: the places of the elements of a mask.
// Threads: the GIL is held; the wait gives it up.
#pragma once
#include <vector>

#include "graph/tensor.hpp"

namespace sg::bind {

// Row-major numbers, int64, of the elements that are not 0. Runs what is pending on the device.
Tensor places_of(const Tensor& mask);
// The same, one tensor a dimension.
std::vector<Tensor> coordinates_of(const Tensor& mask);

}  // namespace sg::bind
