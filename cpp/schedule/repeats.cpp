// Values that a kernel would compute again and again: a formula over few elements, read by many. Computing it once and
// storing it costs a launch, or, where a kernel over its rows is there already, one store a row.
#include <algorithm>
#include <utility>

#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kRepeats = 8;  // readers of an element, at least
// Work that is worth a launch, in simple operations: a GPU does about 10^13 of them a second, a processor 10^11.
constexpr double kWorthGpu = 2e8, kWorthCpu = 2e6;

class Repeats {
 public:
  Repeats(const Context& context, const FusionGroup& group) : context_(context), group_(group) {}

  // The largest formula that is worth storing, or -1.
  int32_t find() {
    const Size size = group_.size(context_);
    const double worth = context_.log.device.is_gpu() ? kWorthGpu : kWorthCpu;
    std::vector<bool> inside;  // of a formula that was visited
    for (size_t u = 0; u < group_.uses.size(); ++u) {
      const Use& use = group_.uses[u];
      if (!repeated(use)) continue;
      inside.resize(group_.uses.size());
      for (int32_t input : use.inputs)
        if (input >= 0) inside[input] = true;
      if (inside[u]) continue;
      seen_.assign(group_.uses.size(), false);
      const int weight = weight_at(static_cast<int32_t>(u));
      if (weight && context_.guards.exceeds(size, static_cast<int64_t>(worth / weight), !group_.reduced))
        return use.source.node;
    }
    return -1;
  }

 private:
  bool repeated(const Use& use) const {
    if (!use.inlined || use.elsewhere || use.source.node < 0 || context_.stored[use.source.node]) return false;
    if (use.offset == 0 && is_contiguous(group_.domain, use.strides)) return false;
    if (group_.reduced && is_row(use)) return false;
    Size along{group_.shape, 0};  // the dimensions of the kernel along which it reads one element again and again
    for (int d = 0; d < group_.domain.rank; ++d) along.mask |= static_cast<uint16_t>((use.strides[d] == 0) << d);
    if (along.mask) return context_.guards.exceeds(along, kRepeats - 1, !group_.reduced);
    return context_.guards.repeats({use.source.node}, kRepeats, group_.size(context_), !group_.reduced);
  }

  // One value a row is computed once a row.
  bool is_row(const Use& use) const {
    for (int d = 0; d < group_.domain.rank; ++d)
      if ((group_.reduced >> d & 1) && use.strides[d] != 0 && group_.domain[d] > 1) return false;
    return true;
  }

  int weight_at(int32_t u) {
    if (seen_[u] || !group_.uses[u].inlined || context_.stored[group_.uses[u].source.node]) return 0;
    seen_[u] = true;
    int sum = weight_of(context_.node(group_.uses[u].source.node));
    for (int32_t input : group_.uses[u].inputs)
      if (input >= 0) sum += weight_at(input);
    return sum;
  }

  const Context& context_;
  const FusionGroup& group_;
  std::vector<bool> seen_;
};

constexpr size_t kMaxTensors = 48;  // that are distinguished

using Tensors = std::pmr::vector<std::pair<int32_t, int32_t>>;  // (node, leaf)

// The tensors of which a node's formula reads a different element for each element of its own, given those of the nodes
// before it.
Tensors tensors_of(const Context& context, int32_t index, const std::pmr::vector<Tensors>& before) {
  Tensors found(&context.memory);
  const Node& node = context.node(index);
  for (int k = 0; k < node.inputs; ++k) {
    const Operand& o = node.in[k];
    if (o.kind != Operand::Kind::node || std::ranges::find(o.strides, 0) != o.strides.end()) continue;
    const ValueRef from = context.source(index, k);
    if (from.node >= 0 && !context.stored[from.node])
      found.insert(found.end(), before[from.node].begin(), before[from.node].end());
    else
      found.emplace_back(from.node, from.leaf);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  found.resize(std::min(found.size(), kMaxTensors));
  return found;
}

}  // namespace

bool store_shared(Context& context, const std::vector<FusionGroup>& groups) {
  std::vector<int> kernels(context.count(), 0);  // how many compute each node
  std::vector<size_t> last(context.count(), groups.size());
  for (size_t d = 0; d < groups.size(); ++d)
    for (const Use& use : groups[d].uses) {
      const int32_t node = use.source.node;
      if (!use.inlined || use.elsewhere || node < 0 || context.stored[node] || last[node] == d) continue;
      if (context.node(node).op->kind != Kind::pointwise) continue;
      last[node] = d;
      ++kernels[node];
    }
  if (std::none_of(kernels.begin(), kernels.end(), [](int n) { return n > 1; })) return false;
  // In the order of the log: what reads a value that is stored by now reads one tensor.
  std::pmr::vector<Tensors> tensors(context.count(), &context.memory);
  bool any = false;
  for (int32_t i = 0; i < context.count(); ++i) {
    if (!context.needed[i] || context.stored[i]) continue;
    tensors[i] = tensors_of(context, i, tensors);
    const int made_of = static_cast<int>(tensors[i].size());
    if ((kernels[i] - 1) * (made_of - 1) > 1 && kernels[i] > 1) any = context.stored[i] = true;  // reads saved, a write
  }
  return any;
}

int32_t find_repeated(const Context& context, const FusionGroup& group) {
  return group.kind == FusionGroup::Kind::program ? Repeats(context, group).find() : -1;
}

}  // namespace sg::schedule_detail
