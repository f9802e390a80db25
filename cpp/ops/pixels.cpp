// Images as rows of channels: the op that rearranges them. On the CPU there is none.
#include "ops/pixels.hpp"

#include "base/error.hpp"
#include "base/round.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

struct PixelsParameters {
  int32_t top, left, channels, rows, pitch, stride, planes;
  int32_t unused = 0;
};

constexpr int64_t kSquare = 64;  // pixels and channels that a workgroup turns, as in shaders/pixels.glsl

void expand_pixels(const Node& node, bool gpu, Expansion& e) {
  if (!gpu) fail<Error>(node.op->name, "there is no kernel for the CPU", "report this");
  const auto p = node.parameters.as<PixelsParameters>();
  const Dims &shape = node.domain, &strides = node.in[0].strides;
  const int64_t plane = node.numel / (p.planes * p.channels);
  CustomKernel& custom = e.launch(node.op->name);
  custom.tensors = {{0, node.dtype}, {e.result(), node.dtype, true}};
  for (const Dims* dims : {&shape, &strides}) custom.words.insert(custom.words.end(), dims->begin(), dims->end());
  for (int64_t word : {int64_t{p.top}, int64_t{p.left}, int64_t{p.channels}, int64_t{p.rows}, int64_t{p.pitch},
                       int64_t{p.stride}, int64_t{p.planes}, plane})
    custom.words.push_back(word);
  custom.cost = static_cast<double>(node.numel);
  custom.source = "#include \"pixels.glsl\"\n";
  custom.threads = std::min<int64_t>(256, e.gpu->max_group_threads) / kSquare * kSquare;
  set_groups(custom, p.planes * divide_up(plane, kSquare) * divide_up(int64_t{p.channels}, kSquare));
}

}  // namespace

namespace ops {
const OpInfo Pixels = {.name = "pixels",
                       .doc = "An image as rows of channels, one for each pixel, with zeros around it.",
                       .kind = Kind::kernel,
                       .arity = 1,
                       .expand = expand_pixels};
}  // namespace ops

Pixels pixels_of(const Tensor& image, const Frame& f) {
  const int64_t channels = round_up(image.shape()[1], int64_t{8});
  const auto small = [](int64_t n) { return static_cast<int32_t>(n); };
  const PixelsParameters parameters{small(f.before[0]), small(f.before[1]), small(channels), small(f.rows),
                                    small(f.pitch),     small(f.stride),    small(f.planes)};
  const Dims shape = {times("pixels", times("pixels", f.planes, f.plane), channels)};
  return {custom_kernel(ops::Pixels, {image}, shape, image.dtype(), parameters), channels, f};
}

}  // namespace sg
