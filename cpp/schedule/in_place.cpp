// Whether a kernel may write memory that it also reads, and may read what it has just computed.
#include <algorithm>
#include <utility>

#include "schedule/fuse.hpp"

namespace sg::schedule_detail {
namespace {

bool same_strides(const Dims& domain, const Dims& a, const Dims& b) {
  for (int d = 0; d < domain.rank; ++d)
    if (domain[d] > 1 && a[d] != b[d]) return false;
  return true;
}

// Writes of one kernel to one memory, this one and those before it: to places apart, with nobody between who reads what
// the earlier ones left.
bool writes_apart(const Context& context, const FusionGroup& group, int32_t root) {
  const Node& node = context.node(root);
  for (int32_t before = context.source(root, 1).node; before >= 0 && is_root(group, before);
       before = context.source(before, 1).node) {
    const Node& other = context.node(before);
    if (other.op->kind != Kind::effect || node.inputs != 2 || other.inputs != 2) return false;
    if (context.source(root, 1).start >= 0 || context.source(before, 1).start >= 0) return false;  // known at run time
    if (context.input.held[before] || context.readers[before] != 1) return false;
    if (!same_strides(group.domain, node.in[1].strides, other.in[1].strides)) return false;
    if (!context.guards.apart(root, before)) return false;
  }
  return true;
}

}  // namespace

// An effect writes memory that the same kernel reads elsewhere: allowed only element by element.
bool writes_safely(const Context& context, const FusionGroup& group) {
  for (int32_t root : group.roots) {
    const Node& node = context.node(root);
    if (node.op->kind != Kind::effect) continue;
    const ValueRef target = context.source(root, 1);
    if (!writes_apart(context, group, root)) return false;
    const auto reads = [&](int32_t from, int32_t leaf) {
      return std::binary_search(group.sources.begin(), group.sources.end(), std::pair(from, leaf));
    };
    if (!reads(root, -1) && !reads(target.node, target.leaf)) continue;
    for (const Use& use : group.uses) {
      if (use.inlined) continue;
      if (use.source.node == root) return false;  // reads what it writes
      const bool same_memory = target.leaf >= 0 ? use.source.leaf == target.leaf : use.source.node == target.node;
      if (!same_memory || (use.source.leaf < 0 && use.source.node < 0)) continue;
      const int64_t offset = target.start < 0 ? node.in[1].offset : 0;
      const bool is_update = node.inputs == 2 && !use.elsewhere && use.dtype == node.dtype &&
                             use.source.start == target.start && use.offset == offset && !use.moved &&
                             same_strides(group.domain, use.strides, node.in[1].strides);
      const bool one_thread = node.inputs == 2 && node.domain.rank == 0;  // which reads before it writes
      if (!is_update && !one_thread) return false;
    }
  }
  return true;
}

// What a kernel computes for an element or a row is in registers when the next root reads it there; at any other place
// it would have to be in memory first.
bool reads_in_place(const Context& context, const FusionGroup& group, const Use& use) {
  if (use.offset != 0 || use.source.start >= 0 || use.elsewhere) return false;
  const Node& root = context.node(use.source.node);
  const bool folds = root.op->kind == Kind::reduce && root.reduced;
  if (folds && group.across && root.reduced == group.across) return false;  // known when all rows are done
  if (root.op->kind == Kind::contraction) return same_strides(group.domain, use.strides, group.element_strides());
  const bool per_row = folds || !context.guards.same_size({use.source.node}, group.size(context));
  return same_strides(group.domain, use.strides, per_row ? group.row_strides() : group.element_strides());
}

}  // namespace sg::schedule_detail
