// Each stored node as a kernel of its own, and what that shows must be stored as well.
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "schedule/fuse.hpp"

namespace sg::schedule_detail {
namespace {

// Which kernels compute a node that has no memory.
class Computed {
 public:
  explicit Computed(int32_t nodes) : latest_(nodes, -1) {}
  void add(int32_t node, int32_t root) {
    entries_.push_back({root, latest_[node]});
    latest_[node] = static_cast<int32_t>(entries_.size()) - 1;
  }
  template <class F>
  void each(int32_t node, F f) {
    for (int32_t e = std::exchange(latest_[node], -1); e >= 0; e = entries_[e].before) f(entries_[e].root);
  }

 private:
  struct Entry {
    int32_t root, before;
  };
  std::vector<Entry> entries_;
  std::vector<int32_t> latest_;
};

// Of a write to a part, the value that is computed from elsewhere in the same memory. Stored first, it is read before
// anything is written, and nothing else needs to be copied.
int32_t value_of_own_memory(const Context& context, const FusionGroup& group) {
  const Node& node = context.node(group.roots[0]);
  if (node.op->kind != Kind::effect || node.inputs < 2 || node.overwrites_all()) return -1;
  const int32_t value = context.pending(node.in[0]);
  return value < 0 || context.stored[value] || writes_safely(context, group) ? -1 : value;
}

// Lists what a kernel of one root reads. A node that must be stored before it can be made, or -1.
int32_t to_be_stored(const Context& context, FusionGroup& group) {
  if (const Listed listed = expand_uses(context, group); listed.store >= 0) return listed.store;
  if (!context.input.fuse) return -1;
  const int32_t repeated = find_repeated(context, group);
  return repeated >= 0 ? repeated : value_of_own_memory(context, group);
}

}  // namespace

FusionGroup group_of(const Context& context, int32_t root) {
  const Node& node = context.node(root);
  FusionGroup d(context);
  d.roots = {root};
  d.shape = root;
  d.domain = node.domain;
  if (node.op->kind == Kind::contraction) {
    d.kind = FusionGroup::Kind::product;
    const int at = static_cast<int>(node.parameters.as<ContractionParameters>().folded);  // of batch
    int64_t n = 1;
    for (int i = at + 2; i < node.domain.rank && !(node.reduced >> i & 1); ++i) n *= node.domain[i];
    d.domain = {(at ? node.domain[0] : 1) * node.domain[at], node.domain[at + 1], n};
  } else if (node.op->kind == Kind::kernel) {
    d.kind = FusionGroup::Kind::custom;
  } else {
    d.reduced = node.reduced;
  }
  return d;
}

std::vector<FusionGroup> each_alone(Context& context, const std::vector<int32_t>& roots) {
  std::vector<FusionGroup> made;
  std::vector<int32_t> made_at(context.count(), -1);
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> open(roots.begin(), roots.end());
  Computed computed(context.count());
  for (int32_t last = -1; !open.empty();) {
    const int32_t root = open.top();
    open.pop();
    if (root == last) continue;  // asked for by several
    last = root;
    FusionGroup group = group_of(context, root);
    if (const int32_t node = to_be_stored(context, group); node >= 0) {
      context.stored[node] = true;
      computed.each(node, [&](int32_t by) { open.push(by); });
      open.push(node);
      open.push(root);
      last = -1;
      continue;
    }
    for (const Use& u : group.uses)
      if (u.inlined && u.source.node != root) computed.add(u.source.node, root);
    if (made_at[root] < 0) {
      made_at[root] = static_cast<int32_t>(made.size());
      made.push_back(std::move(group));
    } else {
      made[static_cast<size_t>(made_at[root])] = std::move(group);
    }
  }
  std::sort(made.begin(), made.end(),
            [](const FusionGroup& a, const FusionGroup& b) { return a.roots[0] < b.roots[0]; });
  return made;
}

}  // namespace sg::schedule_detail
