// Two questions: where to cut, and which of the values that are read behind the cut are stored. Both look at readers that
// are recorded, and at tensors that the program still holds, which it may read next.
#include "schedule/cuts.hpp"

#include <algorithm>

#include "graph/cost.hpp"
#include "graph/grad.hpp"
#include "schedule/again.hpp"
#include "schedule/passes.hpp"

namespace sg {
namespace {

constexpr int64_t kLeast = 4;  // a piece has at least so small a part of the bound
constexpr size_t kFresh = 4;   // nodes at the end, whose readers may come next

bool is_held(const Node& node) { return node.held.load(std::memory_order_relaxed) > 0; }
bool is_formula(const Node& node) { return node.op->kind == Kind::pointwise && !node.op->stores && !node.op->reports; }

struct Readers {
  int32_t last = -1;         // -1: none
  bool from_memory = false;  // one of them is a product or a kernel, so that the value is stored in any case
};
std::vector<Readers> readers_of(const Log& log) {
  std::vector<Readers> readers(log.nodes.size());
  for (size_t i = 0; i < log.nodes.size(); ++i) {
    const Node& node = *log.nodes[i];
    for (int k = 0; k < node.inputs; ++k)
      if (const Node* from = node.in[k].node.get(); from && from->pending()) {
        Readers& r = readers[static_cast<size_t>(from->log_index)];
        r.last = static_cast<int32_t>(i);
        r.from_memory |= !node.reads_value(k);
      }
  }
  return readers;
}

class CheapValues {
 public:
  CheapValues(const Log& log, std::vector<bool>& stored, std::vector<bool>& again)
      : log_(log), stored_(stored), again_(again) {}

  // Marks the node, and the formulas between it and what is stored, as computed again.
  bool add(size_t node) {
    std::vector<size_t> open = {node}, formulas;
    int weight = 0, large = 0;
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      const Node& value = *log_.nodes[i];
      if (!is_formula(value)) return false;
      weight += schedule_detail::weight_of(value);
      formulas.push_back(i);
      for (int k = 0; k < value.inputs; ++k) {
        const Node* from = value.in[k].node.get();
        if (!from) continue;
        const auto at = static_cast<size_t>(from->log_index);
        const bool small = from->bytes() * kSmall <= log_.nodes[node]->bytes();
        if (!from->pending() || stored_[at])
          large += !small;
        else if (is_formula(*from))
          open.push_back(at);
        else if (!small)
          return false;
      }
      if (weight > kMostWeight || large > 1) return false;
    }
    for (size_t i : formulas) again_[i] = true;
    return true;
  }

 private:
  const Log& log_;
  const std::vector<bool>& stored_;
  std::vector<bool>& again_;
};

// The first of the last nodes that wait for their readers: the very last, and those before it that cost less than a piece.
size_t first_fresh(const Log& log, const std::vector<Readers>& readers, int64_t bound) {
  const size_t n = log.nodes.size();
  size_t first = n;
  int64_t cost = 0;
  for (size_t i = n; i-- > 0 && i + kFresh >= n;) {
    const Node& node = *log.nodes[i];
    cost += cost_of(node);
    if (i + 1 < n && cost >= bound) break;
    if (readers[i].last < 0 && is_held(node) && !is_only_saved(node)) first = i;
  }
  return first;
}

}  // namespace

bool may_cut(const Log& log, size_t node) {
  return (node == log.nodes.size() || !log.nodes[node]->op->follows) && !log.nodes[node - 1]->op->reports;
}

// A cut costs the bytes of what is read across it and would not be stored otherwise, or is written into memory that the log
// makes, as a copy with a border: one that outlives its run may have another kernel (seen_writes()). The last nodes wait for
// their readers, which may share a kernel with them. A place that costs nothing is taken at once, the last of several; another
// one when twice as much is pending.
size_t cut_of(const Log& log, int64_t bound) {
  const size_t n = log.nodes.size();
  const std::vector<Readers> readers = readers_of(log);
  std::vector<int64_t> across(n + 1, 0);
  const size_t latest = first_fresh(log, readers, bound);
  for (size_t i = 0; i < n; ++i) {
    const Node& node = *log.nodes[i];
    const bool own = node.op->kind == Kind::effect && log.written_leaves()[i] < 0;
    if (readers[i].last < 0 || (!own && (is_held(node) || readers[i].from_memory))) continue;
    across[i + 1] += static_cast<int64_t>(node.bytes());
    across[static_cast<size_t>(readers[i].last) + 1] -= static_cast<int64_t>(node.bytes());
  }
  int64_t cost = 0, bytes = 0, least = 0;
  size_t best = 0;
  for (size_t cut = 1; cut <= latest; ++cut) {
    cost += cost_of(*log.nodes[cut - 1]);
    bytes += across[cut];
    if (kLeast * cost < bound || !may_cut(log, cut)) continue;
    if (best == 0 || bytes <= least) best = cut, least = bytes;
  }
  return least == 0 || log.cost >= 2 * bound ? best : 0;
}

CutOff cut_off(const Log& log, size_t cut, bool again, size_t between) {
  const size_t n = log.nodes.size();
  const std::vector<Readers> readers = readers_of(log);
  CutOff out{std::vector<bool>(n, false), std::vector<bool>(n, false), std::vector<bool>(n, false)};
  std::vector<bool> stored(n, false);
  CheapValues cheap(log, stored, out.again);
  for (size_t i = 0; i < cut; ++i) {
    const Node& node = *log.nodes[i];
    const bool held = is_held(node), only_saved = is_only_saved(node);
    const bool across = readers[i].last >= static_cast<int32_t>(cut);
    out.kept[i] = !held && readers[i].last < 0 && !node.late && !is_known_check(node);
    if (i < between && readers[i].last >= static_cast<int32_t>(between))
      stored[i] = true;
    else if (held || across)
      stored[i] = !(again && (only_saved || !held) && cheap.add(i));
    out.runs[i] = stored[i] || out.kept[i];
  }
  for (size_t i = cut; i-- > 0;) {  // and what these, and those that stay, are made of
    const Node& node = *log.nodes[i];
    if (!out.runs[i] && !out.again[i]) continue;
    for (int k = 0; k < node.inputs; ++k)
      if (const Node* from = node.in[k].node.get(); from && from->pending()) {
        const auto at = static_cast<size_t>(from->log_index);
        if (out.runs[i] || !out.again[at]) out.runs[at] = true;
      }
  }
  return out;
}

}  // namespace sg
