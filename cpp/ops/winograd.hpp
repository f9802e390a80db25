// Convolutions with kernels of 3 x 3 by F(2 x 2, 3 x 3), the minimal filtering of Winograd:
// docs/decisions/046-fewer-multiplications.md. For ops/convolution*.cpp, on GPUs, of float32.
#pragma once
#include "kernel/features.hpp"
#include "ops/image.hpp"

namespace sg::winograd {

// Where the first result looks: so many elements before the image; and how many results there are.
struct Places {
  HeightWidth before, result;
};

// [n, output, place] = sum over channels and taps of kernels [outputs, channels, 3, 3]; reversed: with the last tap first.
Tensor correlate(const Tensor& x, const Tensor& kernels, const Places& places, bool reversed = false);
// [output, channel, tap] = sum over images and places.
Tensor weights(const Tensor& x, const Tensor& y, const Places& places);
// Whether the device has room for the kernels: shared memory, and as many sums a thread as they hold.
bool fits(const Features& gpu);

}  // namespace sg::winograd
