// Convolutions with few channels a group: the ops. On the CPU there are none.
#include "ops/grouped.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/round.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

int64_t setting(const char* name, int64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : usual;
}

struct GroupedParameters {
  int32_t before[2], result[2];  // grouped::Places
  uint16_t kernel[2], dilation[2];
  uint8_t stride[2];
  uint8_t spreads = 0;  // whether the stride is that of what is read
  uint8_t unused = 0;
  uint16_t outputs, channels;  // of a group

  int64_t taps() const { return int64_t{kernel[0]} * kernel[1]; }
};

// What a thread holds: rows of some columns, of so many outputs. Sizes alone decide, because they decide how sums are cut.
struct ThreadBlock {
  int64_t rows, columns, outputs;
  bool walks;  // whether loops over rows and taps are written out
};

int64_t rows_of_thread(int64_t all, int64_t most) { return divide_up(all, divide_up(all, most)); }

ThreadBlock block_of(const GroupedParameters& p, int64_t rows, int64_t most_rows, int64_t most_sums) {
  constexpr int64_t kMostTaps = 64, kMostReach = 64;
  constexpr int64_t kMostStride = 4;
  ThreadBlock b{1, 1, 1, p.taps() <= kMostTaps};
  for (int d = 0; d < 2; ++d) b.walks &= p.stride[d] <= kMostStride && p.dilation[d] * (p.kernel[d] - 1) <= kMostReach;
  if (!b.walks) return b;
  b.rows = rows_of_thread(rows, most_rows);
  while (b.outputs < 4 && b.outputs < p.outputs && 2 * b.outputs * p.taps() <= most_sums) b.outputs *= 2;
  return b;
}

std::string constant_pair(const char* name, int64_t rows, int64_t columns) {
  return "const ivec2 " + std::string(name) + " = ivec2(" + std::to_string(rows) + ", " + std::to_string(columns) +
         ");\n";
}
std::string constant(const char* name, int64_t n) {
  return "const int " + std::string(name) + " = " + std::to_string(n) + ";\n";
}

std::string grouped_text(const GroupedParameters& p, const ThreadBlock& b, DType t) {
  const bool wide = t == DType::float32, half = t == DType::float16;
  const std::string values = wide ? "(x)" : half ? "float16_value(x)" : "bfloat16_value(x)";
  const std::string bits = wide ? "(x)" : half ? "uint16_t(float16_bits(x))" : "uint16_t(bfloat16_bits(x))";
  const std::string memory = wide ? "Float32" : half ? "Float16" : "Bfloat16";
  return "#define MEMORY " + memory + "\n#define VALUE(x) " + values + "\n#define BITS(x) " + bits +
         "\n#define BYTES " + std::to_string(size_of(t)) + "\n" + (b.walks ? "#define WALKS\n" : "") +
         constant_pair("kKernel", p.kernel[0], p.kernel[1]) + constant_pair("kDilation", p.dilation[0], p.dilation[1]) +
         constant("kRows", b.rows) + constant("kOutputs", b.outputs);
}

CustomKernel& launch_grouped(const Node& node, bool gpu, Expansion& e) {
  if (!gpu) fail<Error>(node.op->name, "there is no kernel for the CPU", "report this");
  CustomKernel& custom = e.launch(node.op->name);
  for (int i = 0; i < 2; ++i) custom.tensors.push_back({i, node.in[i].dtype});
  custom.tensors.push_back({e.result(), node.dtype, true});
  return custom;
}

void expand_grouped(const Node& node, bool gpu, Expansion& e) {
  const auto p = node.parameters.as<GroupedParameters>();
  CustomKernel& custom = launch_grouped(node, gpu, e);
  const Dims& image = node.domain;
  const int64_t images = image[0], groups = image[1] / p.channels;
  const HeightWidth up = p.spreads ? HeightWidth{p.stride[0], p.stride[1]} : HeightWidth{1, 1},
                    step = p.spreads ? HeightWidth{1, 1} : HeightWidth{p.stride[0], p.stride[1]};
  ThreadBlock b =
      block_of(p, p.result[0], setting("GROUPED_ROWS", p.taps() > 9 ? 14 : 8), setting("GROUPED_WEIGHTS", 36));
  if (b.walks) b.rows = round_up(b.rows, up[0]), b.columns = round_up(setting("GROUPED_COLUMNS", 1), up[1]);
  // Results begin `shift` before the first one, so that the first of each thread meets the same taps.
  HeightWidth shift, origin;
  for (int d = 0; d < 2 && b.walks; ++d) {
    shift[d] = (p.before[d] % up[d] + up[d]) % up[d];
    shift[d] = (up[d] - shift[d]) % up[d];
    origin[d] = (-shift[d] * step[d] - p.before[d]) / up[d];
  }
  const int64_t columns = divide_up(p.result[1] + shift[1], b.columns),
                bands = divide_up(p.result[0] + shift[0], b.rows);
  const int64_t blocks = divide_up(int64_t{p.outputs}, b.outputs), threads = columns * bands * blocks * groups * images;
  const int64_t each = int64_t{p.outputs} * p.channels * p.taps();
  custom.words = {threads,
                  columns,
                  bands,
                  blocks,
                  groups,
                  p.outputs,
                  p.channels,
                  image[2],
                  image[3],
                  p.result[0],
                  p.result[1],
                  origin[0],
                  origin[1],
                  shift[0],
                  shift[1],
                  p.before[0],
                  p.before[1],
                  each,
                  p.spreads ? p.taps() : p.channels * p.taps(),
                  p.spreads ? p.outputs * p.taps() : p.taps(),
                  image.numel()};
  custom.cost = 2.0 * static_cast<double>(node.numel * p.channels * p.taps());
  custom.source = grouped_text(p, b, node.dtype) + constant_pair("kStep", step[0], step[1]) +
                  constant_pair("kUp", up[0], up[1]) + constant("kColumns", b.columns) +
                  "const bool kReversed = " + (p.spreads ? "true" : "false") +
                  ";\n#include \"grouped_correlate.glsl\"\n";
  custom.threads = setting("GROUPED_THREADS", 128);
  set_groups(custom, divide_up(threads, custom.threads));
}

// How the sum for a weight is cut: each of `pieces` workgroups adds `each` columns of results.
struct Pieces {
  int64_t pieces, each, columns;
  int64_t threads;
  ThreadBlock block;
};
Pieces pieces_of_weights(const GroupedParameters& p, int64_t images, int64_t groups) {
  constexpr int64_t kGroups = 1056;  // eight for each processor of an H200
  Pieces s{};
  s.block = block_of(p, p.result[0], setting("GROUPED_WEIGHT_ROWS", 8), setting("GROUPED_SUMS", 64));
  s.columns = images * divide_up(int64_t{p.result[0]}, s.block.rows) * p.result[1];
  s.threads = s.columns < 1024 ? 64 : setting("GROUPED_WEIGHT_THREADS", 128);
  const int64_t sums = groups * divide_up(int64_t{p.outputs}, s.block.outputs) * p.channels;
  const int64_t most = std::max<int64_t>(s.columns / (4 * s.threads), 1);
  s.each = divide_up(s.columns, std::clamp(setting("GROUPED_PIECES", kGroups) / sums, int64_t{1}, most));
  s.pieces = divide_up(s.columns, s.each);
  return s;
}

void expand_grouped_weights(const Node& node, bool gpu, Expansion& e) {
  const auto p = node.parameters.as<GroupedParameters>();
  CustomKernel& custom = launch_grouped(node, gpu, e);
  const Dims& image = node.domain;
  const int64_t groups = image[1] / p.channels;
  const Pieces s = pieces_of_weights(p, image[0], groups);
  const int64_t blocks = divide_up(int64_t{p.outputs}, s.block.outputs);
  custom.words = {groups,      blocks,    p.channels,   s.pieces,
                  s.each,      s.columns, p.result[1],  divide_up(int64_t{p.result[0]}, s.block.rows),
                  image[2],    image[3],  p.result[0],  p.before[0],
                  p.before[1], p.outputs, image.numel()};
  custom.cost =
      2.0 * static_cast<double>(image[0] * p.result[0] * p.result[1] * groups * p.outputs * p.channels * p.taps());
  custom.source = grouped_text(p, s.block, node.in[0].dtype) + constant_pair("kStride", p.stride[0], p.stride[1]) +
                  "#include \"grouped_weights.glsl\"\n";
  custom.threads = s.threads;
  set_groups(custom, s.pieces * groups * blocks * p.channels);
}

constexpr OpInfo op_of(const char* name, const char* doc, void (*expand)(const Node&, bool, Expansion&)) {
  return {.name = name, .doc = doc, .kind = Kind::kernel, .arity = 2, .expand = expand};
}

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

}  // namespace

namespace ops {
const OpInfo Grouped = op_of("grouped_convolution",
                             "A convolution with few channels a group, or its gradient by the image.", expand_grouped);
const OpInfo GroupedWeights =
    op_of("grouped_convolution_weight", "The gradient of such a convolution by its weights, as partial sums.",
          expand_grouped_weights);
}  // namespace ops

namespace grouped {

Tensor correlate(const Tensor& x, const Tensor& w, const Places& at) {
  const Dims& s = w.shape();
  return custom_kernel(ops::Grouped, {contiguous(x), contiguous(w)}, {x.shape()[0], s[0], at.result[0], at.result[1]},
                       x.dtype(), grouped_parameters({s[2], s[3]}, at, s[0] / at.groups, s[1]));
}

Tensor spread(const Tensor& y, const Tensor& w, const Places& at) {
  const Dims& s = w.shape();
  GroupedParameters p = grouped_parameters({s[2], s[3]}, at, s[1], s[0] / at.groups);
  p.spreads = 1;
  return custom_kernel(ops::Grouped, {contiguous(y), contiguous(w)},
                       {y.shape()[0], s[1] * at.groups, at.result[0], at.result[1]}, y.dtype(), p);
}

Tensor weights(const Tensor& x, const Tensor& y, const HeightWidth& kernel, const Places& at) {
  const int64_t outputs = y.shape()[1], channels = x.shape()[1] / at.groups;
  const GroupedParameters p = grouped_parameters(kernel, at, outputs / at.groups, channels);
  const int64_t sums = pieces_of_weights(p, x.shape()[0], at.groups).pieces;
  const Tensor out = custom_kernel(ops::GroupedWeights, {contiguous(x), contiguous(y)},
                                   {sums, outputs, channels, kernel[0], kernel[1]}, DType::float32, p);
  return sums > 1 ? sum(out, {0}) : reshape(out, {outputs, channels, kernel[0], kernel[1]});
}

}  // namespace grouped
}  // namespace sg
