// The log as the passes see it: which nodes are needed and stored, which value each operand reads, and how large a
// fusion group is. Decides nothing about kernels.
#include <algorithm>

#include "base/hash.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {

// One pass from the last node to the first: a node is needed if it is held or a needed node reads it. Stored are held
// nodes, those that cannot be computed inside their readers, those read at computed places, and those read across a
// cut.
Context::Context(const ScheduleInput& in) : log(in.log), input(in), guards(in.log) {
  const int32_t n = count();
  needed = in.held;
  stored.assign(n, false);
  exported.assign(n, true);
  guarded = in.guarded ? seen_writes(log, in.held) : std::vector<bool>(static_cast<size_t>(n), false);
  readers.assign(n, 0);
  scratch.latest.assign(static_cast<size_t>(n) + 1 + log.offsets.size(), -1);
  find_values();
  pieces.reserve(n);
  for (int32_t i = 0; i < n; ++i)
    pieces.push_back(static_cast<int32_t>(std::upper_bound(in.cuts.begin(), in.cuts.end(), i) - in.cuts.begin()));
  for (int32_t i = n - 1; i >= 0; --i) {
    if (!needed[i]) continue;
    const Node& v = node(i);
    stored[i] = stored[i] || input.held[i] || !inlines(*v.op) || v.op->stores || !input.fuse;
    for (int k = 0; k < v.inputs; ++k) {
      const int32_t from = source(i, k).node;
      if (from < 0) continue;
      needed[from] = true;
      ++readers[from];
      if (!v.reads_value(k) || pieces[from] != pieces[i]) stored[from] = true;
    }
  }
}

void Context::find_values() {
  first_operand_.reserve(log.nodes.size());
  int32_t next_tensor = 0, next_number = 0;
  for (const NodeRef& node : log.nodes) {
    first_operand_.push_back(static_cast<int32_t>(values_of_operands_.size()));
    for (int k = 0; k < node->inputs; ++k) {
      const Operand& o = node->in[k];
      numbers_.push_back(o.kind != Operand::Kind::number ? -1
                         : log.number_of.empty()         ? next_number
                                                         : log.number_of[static_cast<size_t>(next_number)]);
      next_number += o.kind == Operand::Kind::number;
      ValueRef& s = values_of_operands_.emplace_back();
      if (o.kind != Operand::Kind::node) continue;
      s.node = pending(o);
      s.start = log.starts[next_tensor++];
      s.aligned = s.node >= 0 ? s.start < 0 : is_aligned(o);
      if (s.node < 0) s.leaf = o.leaf;
    }
  }
}

int32_t Context::pending(const Operand& o) const {
  if (o.kind != Operand::Kind::node || !o.node->pending()) return -1;
  return o.node->log_index;
}

bool reads_whole(const FusionGroup& group, const Use& use) {
  if (use.inlined || (use.source.node < 0 && use.source.leaf < 0)) return false;
  for (int d = 0; d < group.domain.rank; ++d)
    if (group.domain[d] > 1 && use.strides[d] == 0) return false;
  return true;
}

Size FusionGroup::size(const Context& context) const {
  return {shape, kind == Kind::product ? static_cast<uint16_t>(~context.node(shape).reduced) : uint16_t{0xffff}};
}

Size FusionGroup::row_count(const Context& context) const {
  return reduced ? Size{shape, static_cast<uint16_t>(~reduced)} : size(context);
}

int64_t FusionGroup::columns() const {
  int64_t n = 1;
  for (int d = 0; d < domain.rank; ++d)
    if (reduced >> d & 1) n *= domain[d];
  return n;
}

int64_t FusionGroup::rows() const {
  int64_t n = 1;
  for (int d = 0; d < domain.rank; ++d)
    if (!(reduced >> d & 1)) n *= domain[d];
  return n;
}

bool computes_again(const Context& context, const FusionGroup& group) {
  return group.roots.size() == 1 && std::ranges::binary_search(context.input.second, group.roots[0]);
}

// Row-major over the dimensions that are not folded.
Dims FusionGroup::row_strides() const {
  Dims s = Dims::filled(domain.rank, 0);
  int64_t stride = 1;
  for (int d = domain.rank - 1; d >= 0; --d)
    if (!(reduced >> d & 1)) {
      s[d] = stride;
      stride *= domain[d];
    }
  return s;
}

}  // namespace sg::schedule_detail

namespace sg {

std::vector<bool> seen_writes(const Log& log, const std::vector<bool>& held) {
  std::vector<bool> seen(log.nodes.size(), false);
  const auto is_write = [&](size_t i) { return log.nodes[i]->op->kind == Kind::effect && log.nodes[i]->inputs > 1; };
  const auto before = [&](size_t i) { return log.nodes[i]->in[1].node.get(); };
  for (size_t i = 0; i < seen.size(); ++i)
    if (is_write(i)) seen[i] = held[i] || !before(i)->pending() || seen[static_cast<size_t>(before(i)->log_index)];
  for (size_t i = seen.size(); i-- > 0;)
    if (is_write(i) && seen[i] && before(i)->pending()) seen[static_cast<size_t>(before(i)->log_index)] = true;
  return seen;
}

std::vector<bool> needed(const Log& log, const std::vector<bool>& held) {
  std::vector<bool> needed = held;
  for (size_t i = log.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = *log.nodes[i];
    for (int k = 0; k < node.inputs; ++k)
      if (const Node* from = node.in[k].node.get(); node.in[k].kind == Operand::Kind::node && from->pending())
        needed[static_cast<size_t>(from->log_index)] = true;
  }
  return needed;
}

}  // namespace sg
