// Which memory is whose, and which writes go in place. arena.cpp says where temporaries lie.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "schedule/fuse.hpp"
#include "schedule/place.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kLeastBytes = 1 << 20;  // of a temporary over which another is written

// An effect is a new value of an old memory (docs/decisions/005-in-place-is-a-new-value.md). It may take the old bytes
// if nobody needs the old value afterwards and all who read it can come before; the latter become edges of the order at
// once, so that a later question sees them.
class ValuePlacer {
 public:
  ValuePlacer(const Context& context, const Kernels& kernels, Order& order, Scheduled& out)
      : context_(context),
        kernels_(kernels),
        order_(order),
        out_(out),
        memories_(context, out.plan),
        overwritten_(context.count(), false),
        leaf_readers_(&context.memory),
        node_readers_(&context.memory) {
    for (int32_t i = 0; i < context.count(); ++i)
      if (context.needed[i] && context.node(i).op->kind == Kind::effect)
        if (const int32_t base = context.source(i, 1).node; base >= 0) overwritten_[base] = true;
  }

  Memories run() {
    for (int32_t i = 0; i < context_.count(); ++i) {
      const bool made = kernels_.made_by[i] >= 0 || (context_.needed[i] && context_.node(i).op->kind == Kind::memory);
      if (!made || !context_.exported[i]) continue;
      const Node& node = context_.node(i);
      Memory m{.bytes = static_cast<int64_t>(node.bytes())};
      if (context_.input.held[i]) {
        m.kind = Memory::Kind::output;
        m.index = out_.plan.outputs++;
        out_.output_nodes.push_back(i);
      }
      if (node.op->kind == Kind::effect)
        place_effect(i, m);
      else if (const int32_t over = m.kind == Memory::Kind::temp ? dying_operand(i) : -1; over >= 0)
        memories_.of_node[i] = memories_.of_node[over];
      else
        memories_.of_node[i] = memories_.add(m);
    }
    return std::move(memories_);
  }

 private:
  // Over its old value when nobody wants that any more; else on fresh memory that starts as a copy of it.
  void place_effect(int32_t i, Memory m) {
    const ValueRef base = context_.source(i, 1);
    const int32_t old = memories_.of(base);
    const bool output = m.kind == Memory::Kind::output;
    if (!in_place(i)) {
      memories_.of_node[i] = memories_.add(m);
      if (starts_as_copy(i)) memories_.copies[kernels_.made_by[i]].push_back({old, memories_.of_node[i]});
      return;
    }
    Memory& before = memories_[old];
    if (before.kind == Memory::Kind::leaf && output) {
      m.donor = before.index;
      memories_.of_node[i] = memories_.add(m);
      return;
    }
    if (before.kind == Memory::Kind::temp && output) before = m;
    memories_.of_node[i] = old;
  }

  // Of an effect on fresh memory: whether elements of the old value may stay. Then its kernel reads that value.
  bool starts_as_copy(int32_t i) const { return !context_.node(i).overwrites_all() || context_.guarded[i]; }

  // A large temporary that the kernel of a pointwise value reads element by element and that nobody needs afterwards: the
  // value goes over it. -1: there is none.
  int32_t dying_operand(int32_t i) {
    const int64_t bytes = static_cast<int64_t>(context_.node(i).bytes());
    const int32_t d = kernels_.made_by[i];
    if (d < 0 || bytes < kLeastBytes) return -1;
    const FusionGroup& group = kernels_.groups[d];
    if (group.kind != FusionGroup::Kind::program || group.reduced) return -1;
    for (const Use& use : group.uses) {
      const int32_t from = use.source.node;
      if (use.inlined || from < 0 || is_root(group, from) || !is_plain_temporary(from)) continue;
      const Node& old = context_.node(from);
      if (old.dtype != context_.node(i).dtype || static_cast<int64_t>(old.bytes()) != bytes) continue;
      const auto in_place = [&](const Use& u) {
        return u.source.node != from || (u.dtype == old.dtype && !u.elsewhere && u.offset == 0 && u.source.start < 0 &&
                                         is_contiguous(group.domain, u.strides));
      };
      if (std::ranges::all_of(group.uses, in_place) && goes_last(d, from)) return from;
    }
    return -1;
  }
  bool is_plain_temporary(int32_t node) const {
    const Kind kind = context_.node(node).op->kind;
    return kind != Kind::effect && kind != Kind::memory && !context_.input.held[node] && !overwritten_[node] &&
           memories_.of_node[node] >= 0;
  }
  // Whether all others that read a node can come before kernel d, which then overwrites it. They do from now on.
  bool goes_last(int32_t d, int32_t node) {
    if (!readers_are_known_) find_readers();
    for (int32_t reader : node_readers_[node])
      if (reader != d && order_.before(d, reader)) return false;
    for (int32_t reader : node_readers_[node])
      if (reader != d) order_.add(reader, d);
    overwritten_[node] = true;
    return true;
  }

  bool writes_safely(int32_t d) {
    if (safe_.empty()) safe_.resize(kernels_.count());
    if (!safe_[d]) safe_[d] = schedule_detail::writes_safely(context_, kernels_.groups[d]);
    return *safe_[d];
  }

  // The write may go over its old value: nobody wants that afterwards, and everybody who reads it can go first.
  bool in_place(int32_t effect) {
    const ValueRef base = context_.source(effect, 1);
    const bool wanted = base.leaf >= 0 ? !context_.input.dying[base.leaf] : context_.input.held[base.node];
    const int32_t writer = kernels_.made_by[effect];
    if (wanted || !writes_safely(writer)) return false;
    if (!readers_are_known_) find_readers();
    const auto& readers = base.leaf >= 0 ? leaf_readers_[base.leaf] : node_readers_[base.node];
    for (int32_t reader : readers)
      if (reader != writer && order_.before(writer, reader)) return false;
    if (!taken_.insert({base.node, base.leaf}).second) return false;
    for (int32_t reader : readers)
      if (reader != writer) order_.add(reader, writer);
    return true;
  }

  void find_readers() {
    readers_are_known_ = true;
    leaf_readers_.resize(context_.log.leaves.size());
    node_readers_.resize(context_.log.nodes.size());
    for (size_t d = 0; d < kernels_.count(); ++d) {
      auto note = [&](const ValueRef& s) {
        if (s.leaf >= 0) leaf_readers_[s.leaf].push_back(static_cast<int32_t>(d));
        if (s.node >= 0) node_readers_[s.node].push_back(static_cast<int32_t>(d));
      };
      for (const Use& u : kernels_.groups[d].uses)
        if (!u.inlined) note(u.source);
      for (int32_t root : kernels_.groups[d].roots) {
        const Node& node = context_.node(root);
        if (node.op->kind == Kind::effect && starts_as_copy(root)) note(context_.source(root, 1));
        if (node.op->kind != Kind::contraction && node.op->kind != Kind::kernel) continue;
        for (int k = 0; k < node.inputs; ++k) note(context_.source(root, k));
      }
    }
  }

  const Context& context_;
  const Kernels& kernels_;
  Order& order_;
  Scheduled& out_;
  Memories memories_;
  std::vector<bool> overwritten_;          // nodes whose memory another value takes over
  std::vector<std::optional<bool>> safe_;  // to write in place, of each group that was asked about
  bool readers_are_known_ = false;         // they matter where something is written in place
  std::pmr::vector<std::pmr::vector<int32_t>> leaf_readers_, node_readers_;
  std::set<std::pair<int32_t, int32_t>> taken_;  // (node, leaf) that an effect writes over: others get fresh memory
};

}  // namespace

int32_t Memories::of_leaf(int32_t leaf) {
  if (of_leaf_[leaf] < 0) {
    Memory m{.kind = Memory::Kind::leaf, .index = leaf};
    m.bytes = static_cast<int64_t>(context_.log.leaves[leaf]->bytes());
    of_leaf_[leaf] = add(m);
  }
  return of_leaf_[leaf];
}

Memories place_values(const Context& context, const Kernels& kernels, Order& order, Scheduled& out) {
  return ValuePlacer(context, kernels, order, out).run();
}

}  // namespace sg::schedule_detail
