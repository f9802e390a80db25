// Images as rows of channels: the op that rearranges them, and the one that ends the gradient by weights. On the CPU there
// are none.
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

constexpr int64_t kLookers = 128;  // threads of a workgroup that looks for sums which are not finite
constexpr int64_t kSquare = 64;    // pixels and channels that a workgroup turns, as in shaders/pixels.glsl

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

struct PixelsWeightsParameters {
  int32_t channels, images, rows, pitch, plane;
  uint16_t result[2], stride[2], dilation;
  uint16_t unused = 0;
};

// How elements of a type are read and written.
std::string element_text(const std::string& prefix, DType t) {
  const bool wide = t == DType::float32, half = t == DType::float16;
  const std::string name = wide ? "Float32" : half ? "Float16" : "Bfloat16";
  const std::string value = wide ? "" : half ? "float16_value" : "bfloat16_value";
  const std::string bits = wide ? "" : half ? "float16_bits" : "bfloat16_bits";
  return "#define " + prefix + " " + name + "\n#define " + prefix + "_VALUE(x) " + value + "(x)\n#define " + prefix +
         "_BITS(x) " + (wide ? "(x)" : "uint16_t(" + bits + "(x))") + "\n#define " + prefix + "_BYTES " +
         std::to_string(size_of(t)) + "ul\n";
}

void expand_weights(const Node& node, bool gpu, Expansion& e) {
  if (!gpu) fail<Error>(node.op->name, "there is no kernel for the CPU", "report this");
  const auto p = node.parameters.as<PixelsWeightsParameters>();
  CustomKernel& custom = e.launch(node.op->name);
  const DType factors = node.in[1].dtype;
  custom.tensors = {{0, node.dtype}, {1, factors}, {2, factors}, {e.result(), node.dtype, true}};
  custom.words.assign(node.domain.begin(), node.domain.end());
  for (int64_t word : {int64_t{p.channels}, int64_t{p.images}, int64_t{p.rows}, int64_t{p.pitch}, int64_t{p.result[0]},
                       int64_t{p.result[1]}, int64_t{p.stride[0]}, int64_t{p.stride[1]}, int64_t{p.dilation},
                       int64_t{p.plane}, round_up(node.domain[1], int64_t{8})})
    custom.words.push_back(word);
  custom.cost = static_cast<double>(node.numel);
  custom.source =
      element_text("SUM", node.dtype) + element_text("FACTOR", factors) + "#include \"pixels_weights.glsl\"\n";
  custom.threads = kLookers;
  set_groups(custom, divide_up(node.numel, kLookers));
}

}  // namespace

namespace ops {
const OpInfo PixelsWeights = {.name = "pixels_weights",
                              .doc = "The gradient of a convolution by its weights from products of shifted rows.",
                              .kind = Kind::kernel,
                              .arity = 3,
                              .expand = expand_weights};
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

Tensor weights_of_sums(const Tensor& sums, const Tensor& gradient, const Pixels& x, int64_t channels,
                       const SeenPlaces& seen) {
  const auto small = [](int64_t n) { return static_cast<int32_t>(n); };
  const auto narrow = [](int64_t n) { return static_cast<uint16_t>(n); };
  const PixelsWeightsParameters p{small(channels),
                                  small(seen.images),
                                  small(seen.grid[0]),
                                  small(seen.grid[1]),
                                  small(x.frame.plane),
                                  {narrow(seen.result[0]), narrow(seen.result[1])},
                                  {narrow(seen.stride[0]), narrow(seen.stride[1])},
                                  narrow(seen.dilation)};
  return custom_kernel(ops::PixelsWeights, {sums, gradient, x.rows},
                       {sums.shape()[1], channels, sums.shape()[0], sums.shape()[2]}, sums.dtype(), p);
}

}  // namespace sg
