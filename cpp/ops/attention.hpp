// What the files of attention share: the sizes and options of one call, as its kernels get them. For ops/attention*.cpp.
#pragma once
#include <algorithm>
#include <bit>
#include <initializer_list>

#include "graph/node.hpp"
#include "kernel/custom.hpp"

namespace sg::attention_op {

// Tensors are [batch, heads, rows, elements] with elements side by side.
struct Problem {
  int64_t batch, heads, queries, keys, d, e;  // d elements of a query and a key, e of a value
  int64_t serves = 1;                         // heads of queries for one of keys and values
  int64_t sources() const { return heads / serves; }
  int64_t pairs(bool causal) const {  // of a query and a key that it sees, in all heads
    const int64_t n = std::min(queries, keys);
    return batch * heads * (causal ? n * (n + 1) / 2 + (queries - n) * keys : queries * keys);
  }
  int64_t logs() const { return batch * heads * queries; }
};

// What a call asks for. kStarts: a tensor says how many keys come before the first query.
enum Flags : int64_t {
  kCausal = 1,
  kWantsQuery = 2,
  kWantsKey = 4,
  kWantsValue = 8,
  kStarts = 16,
  kMasked = 32,
  kDropout = 64,
  kAlike = 128,         // in words: rows are heads, all of which see the same keys
  kThreshold = 1 << 8,  // times the 65,536ths of weights that dropout takes away
  kFurther = 1 << 24,   // times the heads of queries, after the first, that share one of keys
};

struct AttentionParameters {
  int64_t keys, e;
  int64_t flags;
  uint64_t scale_bits;
  AttentionParameters() = default;
  AttentionParameters(const Problem& p, int64_t flags, double scale)
      : keys(p.keys), e(p.e), flags(flags + (p.serves - 1) * kFurther), scale_bits(std::bit_cast<uint64_t>(scale)) {}
  bool has(int64_t flag) const { return flags & flag; }
  double scale() const { return std::bit_cast<double>(scale_bits); }
  int64_t threshold() const { return flags / kThreshold % 65536; }
  double keep_scale() const { return 65536.0 / static_cast<double>(65536 - threshold()); }
};
inline AttentionParameters parameters_of(const Node& node) { return node.parameters.as<AttentionParameters>(); }

inline Problem problem_of(const Node& node) {
  const Dims& q = node.domain;
  const AttentionParameters a = parameters_of(node);
  return {q[0], q[1], q[2], a.keys, q[3], a.e, 1 + a.flags / kFurther};
}

// The words of a launch: sizes, flags, numbers, strides of the mask, then three strides a matrix.
enum Word {
  kBatch,
  kHeads,
  kQueries,
  kKeys,
  kD,
  kE,
  kFlags,
  kScale,
  kServes,
  kBelow,
  kKeepScale,
  kMask,
  kStrides = 16
};

// The tensors of a launch, in front of its options: what starts, mask and seed there are.
constexpr int kForwardTensors = 5, kBackwardTensors = 9;

// On the CPU.
void forward_on_cpu(const Node& node, CustomKernel& custom);
void backward_on_cpu(const Node& node, CustomKernel& custom);
void kept_on_cpu(const CpuArgs& args);  // words: batch, heads, queries, keys, threshold
// On a GPU. `phase` is FORWARD, QUERIES or KEYS; with `part`, a workgroup walks so many keys. float32 on matrix units is
// two launches: one for heads whose numbers halves hold, one for the others. Their last tensor is what
// powers_on_gpu() wrote about them.
enum class Heads { all, split, others };
void launch_on_gpu(const Node& node, const Problem& p, CustomKernel& custom, const char* phase,
                   const Features& features, int64_t part = 0, Heads which = Heads::all);
// Whether float32 attention splits its numbers into halves; and what brings them into their range, a float32 for each of
// the matrices of the launch's tensors: query, key, value and, with `gradient`, that of the result.
bool splits_on_gpu(const Node& node, const Problem& p, const Features& features);
bool keys_apart(const Problem& p);  // gradients of keys and of values take a launch each: registers are few
int64_t powers_of(const Problem& p, bool gradient);
void powers_on_gpu(const Problem& p, bool gradient, const Features& features, CustomKernel& custom);
// How many keys a workgroup walks where a few queries would leave a GPU idle; 0: all.
int64_t part_of_keys(const Problem& p);
// The parts of all rows, from sums and from maxima with sums of weights.
void join_on_gpu(DType dtype, const Problem& p, int64_t part, const Dims& out_strides, const Features& features,
                 CustomKernel& custom);

}  // namespace sg::attention_op
