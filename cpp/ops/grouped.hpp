// Convolutions with few channels a group, such as depthwise ones: docs/decisions/062-few-channels-a-group.md. For
// ops/convolution*.cpp, on GPUs, of float32 and half types.
#pragma once
#include "ops/image.hpp"

namespace sg::grouped {

// Where the first result looks: so many elements before the image; how many results there are, and how they lie.
struct Places {
  HeightWidth before, result, stride, dilation;
  int64_t groups;
};

// [n, output, place] = sum over the channels of a group and taps.
Tensor correlate(const Tensor& x, const Tensor& w, const Places& places);
// The gradient of that by the image: x is what was a result, and `places` has elements of the image as results.
Tensor spread(const Tensor& y, const Tensor& w, const Places& places);
// [output, channel of a group, tap] = sum over images and places, in float32.
Tensor weights(const Tensor& x, const Tensor& y, const HeightWidth& kernel, const Places& places);

}  // namespace sg::grouped
