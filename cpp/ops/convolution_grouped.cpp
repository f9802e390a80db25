// Convolutions with few channels a group: docs/decisions/062-few-channels-a-group.md.
#include <algorithm>

#include "ops/convolution.hpp"
#include "ops/grouped.hpp"

namespace sg::convolution {

bool through_groups(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g) {
  const DType t = image.dtype();
  if (!image.device().is_gpu() || g.groups == 1 || other.dtype() != t) return false;
  if (t != DType::float32 && t != DType::float16 && t != DType::bfloat16) return false;
  // More fill the tiles of products, and of halves the fragments of matrix units.
  const int64_t most = t == DType::float32 ? 16 : 8;
  if (std::max(image.shape()[1], outputs) > most * g.groups) return false;
  if (image.numel() == 0 || outputs == 0 || g.result.numel() == 0) return false;
  for (int d = 0; d < 2; ++d) {
    if (std::max({g.kernel[d], g.dilation[d], g.image[d], g.result[d]}) > INT16_MAX || g.stride[d] > UINT8_MAX)
      return false;
    if (std::max(g.image[d], g.result[d]) + 2 * g.padding[d] + 2 * g.reach(d) > UINT16_MAX) return false;
  }
  const int64_t places = std::max(g.image.numel(), g.result.numel());
  return image.shape()[0] * std::max(image.shape()[1], outputs) * places <= INT32_MAX;
}

Tensor correlate_groups(const Tensor& x, const Tensor& w, const Geometry& g) {
  return grouped::correlate(x, w, {g.padding, g.result, g.stride, g.dilation, g.groups});
}

// Of the kernel's last tap: so many elements before the result lies what it saw of the image's first element.
Tensor image_gradient_groups(const Tensor& y, const Tensor& w, const Geometry& g) {
  const HeightWidth before = {g.reach(0) - 1 - g.padding[0], g.reach(1) - 1 - g.padding[1]};
  return grouped::spread(y, w, {before, g.image, g.stride, g.dilation, g.groups});
}

Tensor weights_groups(const Tensor& x, const Tensor& y, const Geometry& g) {
  return grouped::weights(x, y, g.kernel, {g.padding, g.result, g.stride, g.dilation, g.groups});
}

}  // namespace sg::convolution
