// Minimal filtering: the ops. On the CPU there are none.
#include "ops/winograd.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/round.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// As in shaders/winograd.glsl and winograd_product.glsl.
constexpr int64_t kPoints = 16, kTile = 32, kStep = 8, kThreads = 256;
constexpr uint32_t kSums = 64;  // of a thread
constexpr int64_t kSharedBytes = int64_t{2} * kStep * kPoints * kTile * 4;

struct WinogradParameters {
  int32_t top, left, height, width;  // winograd::Places
  int32_t outputs;
  int32_t blocks = 0;    // of a partial sum
  int32_t reversed = 0;  // whether the last tap comes first, in both dimensions
  int32_t unused = 0;
};

struct ValuesParameters {
  int64_t reversed;  // as above
};

HeightWidth blocks_of(const WinogradParameters& p) {
  return {divide_up(int64_t{p.height}, int64_t{2}), divide_up(int64_t{p.width}, int64_t{2})};
}

CustomKernel& launch(const Node& node, bool gpu, Expansion& e, const char* shader) {
  if (!gpu) fail<Error>(node.op->name, "there is no kernel for the CPU", "report this");
  CustomKernel& custom = e.launch(node.op->name);
  for (int32_t i = 0; i < e.inputs; ++i) custom.tensors.push_back({i, DType::float32});
  custom.tensors.push_back({e.result(), DType::float32, true});
  const Dims &shape = node.domain, &strides = node.in[0].strides;
  for (const Dims* dims : {&shape, &strides}) custom.words.insert(custom.words.end(), dims->begin(), dims->end());
  custom.source = std::string("#include \"") + shader + "\"\n";
  custom.threads = kThreads;
  return custom;
}

void expand_values(const Node& node, bool gpu, Expansion& e) {
  CustomKernel& custom = launch(node, gpu, e, "winograd_values.glsl");
  const int64_t row = round_up(node.domain[0], kTile), channels = round_up(node.domain[1], kStep);
  custom.words.insert(custom.words.end(), {row, channels, node.parameters.as<ValuesParameters>().reversed});
  custom.cost = static_cast<double>(node.numel);
  set_groups(custom, divide_up(row * channels, kThreads));
}

// The words of both products.
void add_places(CustomKernel& custom, const WinogradParameters& p, int64_t last) {
  const HeightWidth blocks = blocks_of(p);
  for (int64_t word : {int64_t{p.top}, int64_t{p.left}, blocks[0], blocks[1], int64_t{p.height}, int64_t{p.width},
                       int64_t{p.outputs}, last})
    custom.words.push_back(word);
}

void expand_correlate(const Node& node, bool gpu, Expansion& e) {
  const auto p = node.parameters.as<WinogradParameters>();
  CustomKernel& custom = launch(node, gpu, e, "winograd_correlate.glsl");
  const int64_t row = round_up(int64_t{p.outputs}, kTile), blocks = node.domain[0] * blocks_of(p).numel();
  add_places(custom, p, row);
  const Dims& kernels = node.in[2].strides;
  const int64_t along = p.reversed ? -1 : 1, first = p.reversed ? 2 * (kernels[2] + kernels[3]) : 0;
  custom.words.insert(custom.words.end(), {first, kernels[0], kernels[1], along * kernels[2], along * kernels[3]});
  custom.cost = 2.0 * kPoints * static_cast<double>(blocks * row * node.domain[1]);
  set_groups(custom, row / kTile * divide_up(blocks, kTile));
}

void expand_weights(const Node& node, bool gpu, Expansion& e) {
  const auto p = node.parameters.as<WinogradParameters>();
  CustomKernel& custom = launch(node, gpu, e, "winograd_weights.glsl");
  const int64_t channels = node.domain[1], blocks = node.domain[0] * blocks_of(p).numel();
  add_places(custom, p, p.blocks);
  custom.cost = 2.0 * kPoints * static_cast<double>(blocks * p.outputs * channels);
  set_groups(custom,
             divide_up(int64_t{p.outputs}, kTile) * divide_up(channels, kTile) * divide_up(blocks, int64_t{p.blocks}));
}

constexpr OpInfo row(const char* name, const char* doc, int8_t arity, void (*expand)(const Node&, bool, Expansion&)) {
  return {.name = name, .doc = doc, .kind = Kind::kernel, .arity = arity, .expand = expand};
}

// As the kernels read an image: neighbours of a row lie side by side, and distances are numbers of 32 bits.
Tensor in_rows(const Tensor& x) {
  int64_t span = 0;
  for (int d = 0; d < 4; ++d) span += std::abs(x.strides()[d]) * x.shape()[d];
  return x.strides()[3] == 1 && span <= INT32_MAX ? x : contiguous(x);
}

WinogradParameters parameters_of(const winograd::Places& places, int64_t outputs) {
  const auto small = [](int64_t n) { return static_cast<int32_t>(n); };
  return {small(places.before[0]), small(places.before[1]), small(places.result[0]), small(places.result[1]),
          small(outputs)};
}

// How many blocks a partial sum runs over, so that a wide GPU has work for all its processors. Sizes alone decide.
int64_t blocks_of_a_sum(int64_t tiles, int64_t blocks) {
  constexpr int64_t kGroups = 528, kLeast = 128;  // four for each processor of an H200; blocks
  const int64_t sums = std::clamp(kGroups / tiles, int64_t{1}, std::max(blocks / kLeast, int64_t{1}));
  return round_up(divide_up(blocks, sums), kStep);
}

}  // namespace

namespace ops {
const OpInfo WinogradValues =
    row("winograd_values", "Kernels of 3 x 3 at the points of F(2 x 2, 3 x 3).", 1, expand_values);
const OpInfo Winograd = row("winograd", "A convolution with kernels of 3 x 3 from their values.", 2, expand_correlate);
const OpInfo WinogradWeights =
    row("winograd_weights", "The gradient of a convolution by kernels of 3 x 3, as partial sums.", 2, expand_weights);
}  // namespace ops

namespace winograd {

bool fits(const Features& gpu) {
  const ProductTile& large = gpu.tiles->large;
  return large.thread_m * large.thread_n >= kSums && gpu.max_group_threads >= kThreads &&
         gpu.shared_bytes >= kSharedBytes;
}

Tensor correlate(const Tensor& x, const Tensor& kernels, const Places& places, bool reversed) {
  const int64_t outputs = kernels.shape()[0], channels = kernels.shape()[1];
  const Tensor values =
      custom_kernel(ops::WinogradValues, {kernels}, {round_up(channels, kStep), kPoints, round_up(outputs, kTile)},
                    DType::float32, ValuesParameters{reversed});
  WinogradParameters p = parameters_of(places, outputs);
  p.reversed = reversed;
  return custom_kernel(ops::Winograd, {in_rows(x), values, kernels},
                       {x.shape()[0], outputs, places.result[0], places.result[1]}, DType::float32, p);
}

Tensor weights(const Tensor& x, const Tensor& y, const Places& places) {
  const int64_t outputs = y.shape()[1], channels = x.shape()[1];
  WinogradParameters p = parameters_of(places, outputs);
  const int64_t blocks = x.shape()[0] * blocks_of(p).numel();
  const int64_t each = blocks_of_a_sum(divide_up(outputs, kTile) * divide_up(channels, kTile), blocks);
  const int64_t sums = divide_up(blocks, each);
  p.blocks = static_cast<int32_t>(each);
  const Tensor out = custom_kernel(ops::WinogradWeights, {in_rows(x), contiguous(y)}, {sums, outputs, channels, 3, 3},
                                   DType::float32, p);
  return sums > 1 ? sum(out, {0}) : reshape(out, {outputs, channels, 3, 3});
}

}  // namespace winograd
}  // namespace sg
