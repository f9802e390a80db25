// Convolutions with few channels a group: what the shaders/grouped_*.glsl are told. Pure; sizes alone decide
// (docs/decisions/062-few-channels-a-group.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.hpp"

namespace sg {

struct GroupedConvolution {
  int64_t images = 0, groups = 0;
  int64_t outputs = 0, channels = 0;  // of a group
  // Rows and columns: of what is read and of what is computed; how far before the first element the first result sees.
  int64_t image[2] = {}, result[2] = {}, before[2] = {}, kernel[2] = {}, dilation[2] = {}, stride[2] = {};
  bool spreads = false;   // results lie side by side, and what they see lies `stride` apart: the gradient by an image
  bool reversed = false;  // the last tap comes first
  int64_t group_weights = 0, output_weights = 0, channel_weights = 0;  // strides of weights; taps lie side by side

  int64_t taps() const { return kernel[0] * kernel[1]; }
};

struct GroupedLaunch {
  std::vector<int64_t> words;
  std::string source;
  int64_t threads = 0, groups = 0;  // of a workgroup, and workgroups
};

GroupedLaunch launch_correlation(const GroupedConvolution& convolution, DType dtype);
// Gradients by the weights, as so many sums.
GroupedLaunch launch_weights(const GroupedConvolution& convolution, DType dtype);
int64_t sums_of_weights(const GroupedConvolution& convolution);

}  // namespace sg
