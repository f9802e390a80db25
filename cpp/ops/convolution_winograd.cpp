// Convolutions of float32 with kernels of 3 x 3 by minimal filtering: docs/decisions/046-fewer-multiplications.md.
#include "ops/convolution.hpp"
#include "ops/list.hpp"
#include "ops/winograd.hpp"

namespace sg::convolution {
namespace {

// Whether the kernels' values are worth a launch, and whole tiles of 32 outputs and steps of eight channels.
bool is_worth_filtering(const Tensor& image, int64_t outputs, const Geometry& g) {
  constexpr double kLeastWork = 1 << 27;  // multiplications
  constexpr int64_t kLeastChannels = 16;  // and outputs
  const int64_t channels = image.shape()[1];
  return std::min(channels, outputs) >= kLeastChannels &&
         static_cast<double>(image.shape()[0] * g.result.numel() * 9) * static_cast<double>(channels * outputs) >=
             kLeastWork;
}

}  // namespace

bool through_winograd(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g) {
  const HeightWidth three{3, 3}, one{1, 1};
  if (!image.device().is_gpu() || image.dtype() != DType::float32 || other.dtype() != DType::float32) return false;
  if (g.groups != 1 || g.kernel != three || g.stride != one || g.dilation != one) return false;
  if (image.numel() == 0 || outputs == 0 || g.result.numel() == 0) return false;
  const Features& gpu = features_of(image.device());
  if (!winograd::fits(gpu) || (!ignores_sizes() && !is_worth_filtering(image, outputs, g))) return false;
  double places = static_cast<double>(image.shape()[0]);
  for (int d = 0; d < 2; ++d) places *= static_cast<double>(std::max(g.image[d], g.result[d]) + 1);
  const double most = static_cast<double>(std::max(image.shape()[1], outputs) + 32);
  return places * most <= INT32_MAX && 16 * most * most <= INT32_MAX;
}

Tensor correlate_winograd(const Tensor& x, const Tensor& w, const Geometry& g) {
  return winograd::correlate(x, w, {g.padding, g.result});
}

// A convolution of the result with the kernels reversed.
Tensor image_gradient_winograd(const Tensor& y, const Tensor& w, const Geometry& g) {
  return winograd::correlate(y, transpose(w, 0, 1), {{2 - g.padding[0], 2 - g.padding[1]}, g.image}, true);
}

Tensor weights_winograd(const Tensor& x, const Tensor& y, const Geometry& g) {
  return winograd::weights(x, y, {g.padding, g.result});
}

}  // namespace sg::convolution
