// Convolutions with few channels a group: the ops. On the CPU there are none.
#include "ops/grouped.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernel/grouped.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

struct GroupedParameters {
  int32_t before[2], result[2];  // grouped::Places
  uint16_t kernel[2], dilation[2];
  uint8_t stride[2];
  uint8_t spreads = 0;
  uint8_t unused = 0;
  uint16_t outputs, channels;  // of a group
};

GroupedParameters grouped_parameters(const HeightWidth& kernel, const grouped::Places& at, int64_t outputs,
                                     int64_t channels) {
  GroupedParameters p{};
  for (int d = 0; d < 2; ++d) {
    p.before[d] = static_cast<int32_t>(at.before[d]);
    p.result[d] = static_cast<int32_t>(at.result[d]);
    p.kernel[d] = static_cast<uint16_t>(kernel[d]);
    p.dilation[d] = static_cast<uint16_t>(at.dilation[d]);
    p.stride[d] = static_cast<uint8_t>(at.stride[d]);
  }
  p.outputs = static_cast<uint16_t>(outputs);
  p.channels = static_cast<uint16_t>(channels);
  return p;
}

// `image` is what is read.
GroupedConvolution convolution_of(const GroupedParameters& p, const Dims& image) {
  GroupedConvolution c;
  c.images = image[0], c.groups = image[1] / p.channels;
  c.outputs = p.outputs, c.channels = p.channels;
  for (int d = 0; d < 2; ++d) {
    c.image[d] = image[d + 2], c.result[d] = p.result[d], c.before[d] = p.before[d];
    c.kernel[d] = p.kernel[d], c.dilation[d] = p.dilation[d], c.stride[d] = p.stride[d];
  }
  c.spreads = c.reversed = p.spreads;
  c.group_weights = c.outputs * c.channels * c.taps();
  c.output_weights = c.spreads ? c.taps() : c.channels * c.taps();
  c.channel_weights = c.spreads ? c.outputs * c.taps() : c.taps();
  return c;
}

void expand_launch(const Node& node, bool gpu, Expansion& e, const GroupedConvolution& c, const GroupedLaunch& launch) {
  if (!gpu) fail<Error>(node.op->name, "there is no kernel for the CPU", "report this");
  CustomKernel& custom = e.launch(node.op->name);
  for (int i = 0; i < 2; ++i) custom.tensors.push_back({i, node.in[i].dtype});
  custom.tensors.push_back({e.result(), node.dtype, true});
  custom.words = launch.words;
  custom.source = launch.source;
  custom.threads = launch.threads;
  custom.cost = 2.0 * static_cast<double>(c.images * c.groups * c.outputs * c.result[0] * c.result[1]) *
                static_cast<double>(c.channels * c.taps());
  set_groups(custom, launch.groups);
}

void expand_grouped_spread(const Node& node, bool gpu, Expansion& e) {
  const GroupedConvolution c = convolution_of(node.parameters.as<GroupedParameters>(), node.domain);
  expand_launch(node, gpu, e, c, launch_correlation(c, node.dtype));
}
void expand_weights_of_groups(const Node& node, bool gpu, Expansion& e) {
  const GroupedConvolution c = convolution_of(node.parameters.as<GroupedParameters>(), node.domain);
  expand_launch(node, gpu, e, c, launch_weights(c, node.in[0].dtype));
}

constexpr OpInfo op_of(const char* name, const char* doc, void (*expand)(const Node&, bool, Expansion&)) {
  return {.name = name, .doc = doc, .kind = Kind::kernel, .arity = 2, .expand = expand};
}

// The strides of weights along outputs and channels of a group.
struct WeightStrides {
  int64_t output, channel;
};
// As a product, with which what follows is fused. The image is walked backwards along taps where the last tap comes first.
Tensor multiplied(const Tensor& x, const Tensor& w, int64_t outputs, int64_t channels, const WeightStrides& apart,
                  bool reversed, const grouped::Places& at) {
  const Tensor image = contiguous(x);
  const Dims &shape = image.shape(), &s = image.strides();
  const int64_t rows = w.shape()[2], columns = w.shape()[3], pitch = shape[3] + 2 * columns * at.dilation[1];
  const Window window = {at.before[0], at.before[1], shape[2], shape[3], shape[3], shape[2], pitch};
  const Dims result = {shape[0], outputs * at.groups, at.result[0], at.result[1]};
  const int64_t sign = reversed ? -1 : 1, down = pitch * at.stride[0], right = at.stride[1];
  const int64_t tap_down = sign * pitch * at.dilation[0], tap_right = sign * at.dilation[1];
  if (outputs == 1 && channels == 1)
    return contract(ops::Convolution, w, {0, 0, w.strides()[0], 0, 0, columns, 1}, image,
                    {s[0], 0, s[1], down, right, tap_down, tap_right},
                    {{shape[0], 1, at.groups}, at.result, {rows, columns}, window}, result);
  return contract(ops::Convolution, w,
                  {0, outputs * channels * rows * columns, apart.output, 0, 0, apart.channel, columns, 1}, image,
                  {s[0], channels * s[1], 0, down, right, s[1], tap_down, tap_right},
                  {{shape[0], at.groups, outputs}, at.result, {channels, rows, columns}, window}, result);
}

}  // namespace

namespace ops {
const OpInfo GroupedSpread = op_of(
    "grouped_spread", "The gradient of a convolution with few channels a group by its image.", expand_grouped_spread);
const OpInfo GroupedWeights =
    op_of("grouped_weights", "The gradient of a convolution with few channels a group by its weights, as partial sums.",
          expand_weights_of_groups);
}  // namespace ops

namespace grouped {

Tensor correlate(const Tensor& x, const Tensor& w, const Places& at) {
  const Dims& s = w.shape();
  const int64_t taps = s[2] * s[3];
  return multiplied(x, contiguous(w), s[0] / at.groups, s[1], {s[1] * taps, taps}, false, at);
}

// With stride 1 it is a convolution with reversed kernels.
Tensor spread(const Tensor& y, const Tensor& w, const Places& at) {
  const Dims& s = w.shape();
  const int64_t taps = s[2] * s[3], outputs = s[0] / at.groups;
  if (at.stride == HeightWidth{1, 1} && std::min(at.before[0], at.before[1]) >= 0)
    return multiplied(y, contiguous(w), s[1], outputs, {taps, s[1] * taps}, true, at);
  GroupedParameters p = grouped_parameters({s[2], s[3]}, at, s[1], outputs);
  p.spreads = 1;
  return custom_kernel(ops::GroupedSpread, {contiguous(y), contiguous(w)},
                       {y.shape()[0], s[1] * at.groups, at.result[0], at.result[1]}, y.dtype(), p);
}

Tensor weights(const Tensor& x, const Tensor& y, const HeightWidth& kernel, const Places& at) {
  const int64_t outputs = y.shape()[1], channels = x.shape()[1] / at.groups;
  const GroupedParameters p = grouped_parameters(kernel, at, outputs / at.groups, channels);
  const int64_t sums = sums_of_weights(convolution_of(p, x.shape()));
  const Tensor out = custom_kernel(ops::GroupedWeights, {contiguous(x), contiguous(y)},
                                   {sums, outputs, channels, kernel[0], kernel[1]}, DType::float32, p);
  return sums > 1 ? sum(out, {0}) : reshape(out, {outputs, channels, kernel[0], kernel[1]});
}

}  // namespace grouped
}  // namespace sg
