// What a thread and a workgroup of convolutions with few channels a group compute.
#include "kernel/grouped.hpp"

#include <algorithm>

#include "base/round.hpp"

namespace sg {
namespace {

// What a thread holds: rows of some columns, of so many outputs.
struct ThreadBlock {
  int64_t rows = 1, columns = 1, outputs = 1;
  bool walks = false;  // whether loops over rows and taps are written out
};

ThreadBlock block_of(const GroupedConvolution& c, int64_t most_rows, int64_t most_weights) {
  constexpr int64_t kMostTaps = 64, kMostReach = 64, kMostStride = 4;
  ThreadBlock b{.walks = c.taps() <= kMostTaps};
  for (int d = 0; d < 2; ++d) b.walks &= c.stride[d] <= kMostStride && c.dilation[d] * (c.kernel[d] - 1) <= kMostReach;
  if (!b.walks) return b;
  b.rows = divide_up(c.result[0], divide_up(c.result[0], most_rows));
  while (b.outputs < 4 && b.outputs < c.outputs && 2 * b.outputs * c.taps() <= most_weights) b.outputs *= 2;
  return b;
}

std::string constant_pair(const char* name, int64_t rows, int64_t columns) {
  return "const ivec2 " + std::string(name) + " = ivec2(" + std::to_string(rows) + ", " + std::to_string(columns) +
         ");\n";
}
std::string constant(const char* name, int64_t n) {
  return "const int " + std::string(name) + " = " + std::to_string(n) + ";\n";
}

std::string text_of(const GroupedConvolution& c, const ThreadBlock& b, DType t) {
  const bool wide = t == DType::float32, half = t == DType::float16;
  const std::string values = wide ? "(x)" : half ? "float16_value(x)" : "bfloat16_value(x)";
  const std::string bits = wide ? "(x)" : half ? "uint16_t(float16_bits(x))" : "uint16_t(bfloat16_bits(x))";
  const std::string memory = wide ? "Float32" : half ? "Float16" : "Bfloat16";
  return "#define MEMORY " + memory + "\n#define VALUE(x) " + values + "\n#define BITS(x) " + bits +
         "\n#define BYTES " + std::to_string(size_of(t)) + "\n" + (b.walks ? "#define WALKS\n" : "") +
         constant_pair("kKernel", c.kernel[0], c.kernel[1]) + constant_pair("kDilation", c.dilation[0], c.dilation[1]) +
         constant("kRows", b.rows) + constant("kOutputs", b.outputs);
}

int64_t elements_of(const GroupedConvolution& c) { return c.images * c.groups * c.channels * c.image[0] * c.image[1]; }

// How the sum for a weight is cut: each of `pieces` workgroups adds `each` columns of results.
struct Pieces {
  int64_t pieces = 0, each = 0, columns = 0, threads = 0;
  ThreadBlock block;
};
Pieces pieces_of(const GroupedConvolution& c) {
  constexpr int64_t kGroups = 1056;                         // eight for each processor of an H200
  constexpr int64_t kFewColumns = 1024, kLeastColumns = 4;  // of a channel, of a thread
  constexpr int64_t kMostRows = 8, kMostSums = 64;
  Pieces s{.block = block_of(c, kMostRows, kMostSums)};
  s.columns = c.images * divide_up(c.result[0], s.block.rows) * c.result[1];
  s.threads = s.columns < kFewColumns ? 64 : 128;
  const int64_t sums = c.groups * divide_up(c.outputs, s.block.outputs) * c.channels;
  const int64_t most = std::max<int64_t>(s.columns / (kLeastColumns * s.threads), 1);
  s.each = divide_up(s.columns, std::clamp(kGroups / sums, int64_t{1}, most));
  s.pieces = divide_up(s.columns, s.each);
  return s;
}

}  // namespace

GroupedLaunch launch_correlation(const GroupedConvolution& c, DType dtype) {
  int64_t up[2] = {1, 1}, step[2] = {1, 1}, shift[2] = {}, origin[2] = {};
  for (int d = 0; d < 2; ++d) (c.spreads ? up : step)[d] = c.stride[d];
  constexpr int64_t kMostRows = 4, kColumns = 2, kMostWeights = 36, kThreads = 128;  // the quickest on an H200
  ThreadBlock b = block_of(c, kMostRows, kMostWeights);
  if (b.walks) b.rows = round_up(b.rows, up[0]), b.columns = round_up(std::min(kColumns, c.result[1]), up[1]);
  // Results begin `shift` before the first one, so that the first of each thread meets the same taps.
  for (int d = 0; d < 2 && b.walks; ++d) {
    shift[d] = ((-c.before[d]) % up[d] + up[d]) % up[d];
    origin[d] = (-shift[d] * step[d] - c.before[d]) / up[d];
  }
  const int64_t columns = divide_up(c.result[1] + shift[1], b.columns),
                bands = divide_up(c.result[0] + shift[0], b.rows), blocks = divide_up(c.outputs, b.outputs);
  const int64_t all = columns * bands * blocks * c.groups * c.images;
  GroupedLaunch out;
  for (int64_t word :
       {all,        columns,     bands,       blocks,          c.groups,         c.outputs,         c.channels,
        c.image[0], c.image[1],  c.result[0], c.result[1],     origin[0],        origin[1],         shift[0],
        shift[1],   c.before[0], c.before[1], c.group_weights, c.output_weights, c.channel_weights, elements_of(c)})
    out.words.push_back(word);
  out.source = text_of(c, b, dtype) + constant_pair("kStep", step[0], step[1]) + constant_pair("kUp", up[0], up[1]) +
               constant("kColumns", b.columns) + "const bool kReversed = " + (c.reversed ? "true" : "false") +
               ";\n#include \"grouped_correlate.glsl\"\n";
  out.threads = kThreads;
  out.groups = divide_up(all, out.threads);
  return out;
}

GroupedLaunch launch_weights(const GroupedConvolution& c, DType dtype) {
  const Pieces s = pieces_of(c);
  const int64_t blocks = divide_up(c.outputs, s.block.outputs);
  GroupedLaunch out;
  for (int64_t word :
       {c.groups, blocks, c.channels, s.pieces, s.each, s.columns, c.result[1], divide_up(c.result[0], s.block.rows),
        c.image[0], c.image[1], c.result[0], c.before[0], c.before[1], c.outputs, elements_of(c)})
    out.words.push_back(word);
  out.source = text_of(c, s.block, dtype) + constant_pair("kStride", c.stride[0], c.stride[1]) +
               "#include \"grouped_weights.glsl\"\n";
  out.threads = s.threads;
  out.groups = s.pieces * c.groups * blocks * c.channels;
  return out;
}

int64_t sums_of_weights(const GroupedConvolution& c) { return pieces_of(c).pieces; }

}  // namespace sg
