// Following formulas through views: what a kernel reads when pointwise inputs are computed in place.
#include <algorithm>
#include <utility>

#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr size_t kUsualUses = 6;
constexpr int kMaxChecks = 32;
constexpr size_t kMaxUses = 2000;  // a driver may take seconds for a kernel of that length
// How deep a formula with several readers may be, and how long any formula, before it becomes a kernel of its own.
constexpr int32_t kMaxSharedDepth = 48;
constexpr double kMaxNodes = 1000, kMaxReadings = 128;  // readings of memory at different places

// Reading a node of `shape` (contiguous) with `strides` over a kernel's domain: coordinate j of the node is
// start[j] + sum over d of step[j][d] * coordinate d.
struct Mapping {
  int64_t start[kMaxRank];
  int64_t step[kMaxRank][kMaxRank];
};

// True if the reading is affine in the node's coordinates and never carries from one dimension into the next: `last`,
// the largest value of each coordinate, stays below the size.
bool map_dims(const Dims& shape, const Dims& domain, const Dims& strides, int64_t offset, Mapping& m) {
  for (int j = 0; j < shape.rank; ++j) {
    m.start[j] = 0;
    std::fill_n(m.step[j], domain.rank, 0);
  }
  if (shape.numel() == 0) return true;  // nothing is ever read
  const Dims own = contiguous_strides(shape);
  int64_t last[kMaxRank];
  for (int j = 0; j < shape.rank; ++j) last[j] = m.start[j] = offset ? offset / own[j] % shape[j] : 0;
  for (int d = 0; d < domain.rank; ++d) {
    if (strides[d] == 0 || domain[d] == 1) continue;
    int j = 0;  // the outermost dimension whose stride fits
    while (j < shape.rank && own[j] != strides[d] && (own[j] > strides[d] || strides[d] % own[j] != 0)) ++j;
    if (j == shape.rank) return false;
    m.step[j][d] = own[j] == strides[d] ? 1 : strides[d] / own[j];
    last[j] += m.step[j][d] * (domain[d] - 1);
  }
  for (int j = 0; j < shape.rank; ++j)
    if (last[j] >= shape[j]) return false;
  return true;
}

// A node's domain with dimensions merged wherever all its operands allow it.
struct Flat {
  Dims shape;
  Dims strides[kFewInputs];
};
Flat flatten(const Node& node) {
  Flat f;
  f.shape = node.domain;
  for (int k = 0; k < node.inputs; ++k) f.strides[k] = node.in[k].strides;
  auto drop = [](Dims& dims, int d) {
    for (int i = d; i + 1 < dims.rank; ++i) dims[i] = dims[i + 1];
    --dims.rank;
  };
  for (int d = f.shape.rank - 2; d >= 0; --d) {
    bool merge = true;
    for (int k = 0; k < node.inputs; ++k)
      if (node.in[k].kind != Operand::Kind::number)
        merge = merge && f.strides[k][d] == f.strides[k][d + 1] * f.shape[d + 1];
    if (!merge) continue;
    f.shape[d + 1] *= f.shape[d];
    drop(f.shape, d);
    for (int k = 0; k < node.inputs; ++k)
      if (node.in[k].kind != Operand::Kind::number) drop(f.strides[k], d);
  }
  return f;
}

// Readings are found by source, each once: those of one source are chained by `before`, latest first. The heap gives
// the node that comes latest in the log, so that all readers of a node are known when it is expanded.
class Expander {
 public:
  Expander(const Context& context, FusionGroup& group) : context_(context), group_(group), scratch_(context.scratch) {
    scratch_.before.clear();
    scratch_.open.clear();
  }
  ~Expander() {
    for (const Use& u : group_.uses) latest_of(u.source) = -1;
  }

  Listed run() {
    group_.uses.clear();
    group_.uses.reserve(kUsualUses);
    group_.root_uses.clear();
    if (!std::all_of(group_.roots.begin(), group_.roots.end(), [&](int32_t root) { return fits(root); }))
      return {.fits = false};
    for (int32_t root : group_.roots) {
      if (!add_root(root)) return {.fits = false};
      if (store_ >= 0) return {.store = store_};
    }
    while (!scratch_.open.empty() &&
           store_ < 0) {  // latest node first, so each reading is listed before it is expanded
      const int32_t use = -scratch_.open.front().second;
      std::pop_heap(scratch_.open.begin(), scratch_.open.end());
      scratch_.open.pop_back();
      inputs_of(use);
    }
    if (store_ < 0 && context_.input.guarded) store_ = check_elsewhere();
    if (store_ < 0) collect_reads();
    return {.store = store_};
  }

 private:
  // A root with one value a row: made from what the row folds, not for each element.
  bool is_row(int32_t root) const {
    if (!group_.reduced || context_.node(root).op->kind == Kind::reduce) return false;
    Guards& guards = context_.guards;
    return guards.same_size({root}, group_.row_count(context_)) && !guards.same_size({root}, group_.size(context_));
  }

  bool fits(int32_t root) const {
    const Node& node = context_.node(root);
    if (node.op->kind == Kind::contraction || node.op->kind == Kind::kernel) return true;
    // Reduces and effects need exactly their own domain.
    const bool exact = node.op->kind == Kind::reduce || node.op->kind == Kind::effect;
    if (root == group_.shape) return true;
    if (exact) return context_.guards.same_domain(root, group_.shape);
    return is_row(root) || context_.guards.same_size({root}, group_.size(context_));
  }

  // A root is read from the kernel's domain by identity: an element or a row each.
  bool add_root(int32_t root) {
    const Node& node = context_.node(root);
    Use use;
    use.source.node = root;
    use.dtype = node.dtype;
    const int32_t id = static_cast<int32_t>(group_.uses.size());
    group_.root_uses.push_back(id);
    use.inlined = node.op->kind != Kind::contraction && node.op->kind != Kind::kernel;
    use.strides = use.inlined && is_row(root) ? group_.row_strides() : group_.element_strides();
    group_.uses.push_back(use);
    if (use.inlined) inputs_of(id);
    return store_ != root;
  }

  void inputs_of(int32_t id) {
    const int32_t index = group_.uses[id].source.node;
    const Node& node = context_.node(index);
    const Use& reading = group_.uses[id];
    if (node.domain == group_.domain && reading.offset == 0 && is_contiguous(node.domain, reading.strides)) {
      add_inputs(id, [&](int k, Use& use) { use.strides = node.in[k].strides; });
      return;
    }
    Mapping m;
    if (map_dims(node.domain, group_.domain, reading.strides, reading.offset, m)) {
      add_inputs(id, [&](int k, Use& use) { go_on(m, node.domain.rank, node.in[k].strides, use); });
      return;
    }
    const Flat flat = flatten(node);
    if (!map_dims(flat.shape, group_.domain, reading.strides, reading.offset, m)) {
      store_ = index;
      return;
    }
    add_inputs(id, [&](int k, Use& use) { go_on(m, flat.shape.rank, flat.strides[k], use); });
  }

  // The reading of an operand of a node that is itself read with `strides` over `rank` dimensions.
  void go_on(const Mapping& m, int rank, const Dims& strides, Use& use) const {
    use.strides.rank = group_.domain.rank;  // all strides are 0
    for (int j = 0; j < rank; ++j) {
      if (strides[j] == 0) continue;
      use.offset += strides[j] * m.start[j];
      for (int d = 0; d < group_.domain.rank; ++d) use.strides[d] += strides[j] * m.step[j][d];
    }
  }

  // The readings of a node's operands; `place` maps the kernel's domain to the node.
  template <class F>
  void add_inputs(int32_t id, F place) {
    const int32_t index = group_.uses[id].source.node;
    const Node& node = context_.node(index);
    for (int k = 0; k < node.inputs && store_ < 0; ++k) {
      const Operand& o = node.in[k];
      if (o.kind == Operand::Kind::number || (node.op->kind == Kind::effect && k == 1)) continue;
      Use use;
      use.dtype = o.dtype;
      use.elsewhere = !node.reads_value(k);
      use.moved = group_.uses[id].moved || group_.uses[id].offset != 0;
      if (o.kind == Operand::Kind::node) {
        use.source = context_.source(index, k);
        use.offset = use.source.start < 0 ? o.offset : 0;
      } else {
        use.offset = o.offset;
      }
      place(k, use);
      const int32_t input = find_or_add(use);
      group_.uses[id].inputs[k] = input;
    }
  }

  int32_t find_or_add(Use& use) {
    ++context_.work;
    const int32_t from = use.source.node;
    int32_t& latest = latest_of(use.source);
    for (int32_t id = latest; id >= 0; id = scratch_.before[static_cast<size_t>(id)])
      if (group_.uses[id].source == use.source && group_.uses[id].strides == use.strides &&
          group_.uses[id].offset == use.offset && group_.uses[id].dtype == use.dtype &&
          group_.uses[id].elsewhere == use.elsewhere) {
        group_.uses[id].moved |= use.moved;
        return id;
      }
    use.inlined = from >= 0 && !context_.stored[from];
    const int32_t id = static_cast<int32_t>(group_.uses.size());
    if (group_.uses.size() > kMaxUses) {
      store_ = middle();
      return -1;
    }
    group_.uses.push_back(use);
    scratch_.before.resize(group_.uses.size(), -1);
    scratch_.before.back() = std::exchange(latest, id);
    if (use.inlined) {
      scratch_.open.emplace_back(from, -id);
      std::push_heap(scratch_.open.begin(), scratch_.open.end());
    }
    return id;
  }

  int32_t& latest_of(const ValueRef& source) {
    const int32_t at = source.node >= 0 ? source.node : context_.count() + 1 + source.start;
    return scratch_.latest[static_cast<size_t>(at)];
  }

  // A check that the kernel must leave to another: a failed one must keep writes from being done, so no kernel both
  // checks and writes in place. -1: there is none.
  int32_t check_elsewhere() const {
    const auto writes = [&](int32_t root) { return context_.node(root).op->kind == Kind::effect; };
    int room = std::ranges::any_of(group_.roots, writes) ? 0 : kMaxChecks;
    for (const Use& u : group_.uses)
      if (u.inlined && context_.node(u.source.node).op->reports && room-- == 0) return u.source.node;
    return -1;
  }

  // Cuts a formula that is too long in the middle.
  int32_t middle() const {
    std::vector<int32_t> nodes;
    for (const Use& u : group_.uses)
      if (u.inlined && !context_.stored[u.source.node]) nodes.push_back(u.source.node);
    std::nth_element(nodes.begin(), nodes.begin() + static_cast<int64_t>(nodes.size() / 2), nodes.end());
    return nodes[nodes.size() / 2];
  }

  void collect_reads() {
    const auto whole = [&](const Use& u) { return reads_whole(group_, u); };
    group_.whole = static_cast<int>(std::count_if(group_.uses.begin(), group_.uses.end(), whole));
    group_.reads.clear();
    group_.sources.clear();
    group_.sources.reserve(group_.uses.size());
    for (const Use& u : group_.uses)
      if (!u.inlined) group_.sources.emplace_back(u.source.node, u.source.leaf);
    std::sort(group_.sources.begin(), group_.sources.end());
    group_.sources.erase(std::unique(group_.sources.begin(), group_.sources.end()), group_.sources.end());
    for (const Use& u : group_.uses)
      if (u.source.node >= 0 && !u.inlined && !is_root(u.source.node)) group_.reads.push_back(u.source.node);
    for (int32_t root : group_.roots) {  // operands of products and targets of writes count as read
      const Node& node = context_.node(root);
      for (int k = 0; k < node.inputs; ++k) {
        if (node.reads_value(k)) continue;
        const int32_t from = context_.pending(node.in[k]);
        if (from >= 0 && context_.stored[from] && !is_root(from)) group_.reads.push_back(from);
      }
    }
    std::sort(group_.reads.begin(), group_.reads.end());
    group_.reads.erase(std::unique(group_.reads.begin(), group_.reads.end()), group_.reads.end());
  }
  bool is_root(int32_t node) const {
    return std::find(group_.roots.begin(), group_.roots.end(), node) != group_.roots.end();
  }

  const Context& context_;
  FusionGroup& group_;
  Scratch& scratch_;
  int32_t store_ = -1;  // a node that must be stored first
};

}  // namespace

void store_long(Context& context) {
  std::vector<int32_t> depth(static_cast<size_t>(context.count()), 0);
  std::vector<double> nodes(depth.size(), 0), readings(depth.size(), 0);  // shared out among the readers of a node
  std::vector<bool> read(context.log.offsets.size(), false);  // whether an earlier node reads from that offset
  for (int32_t i = 0; i < context.count(); ++i) {
    if (!context.needed[i] || context.stored[i]) continue;
    const Node& node = context.node(i);
    depth[i] = 1;
    nodes[i] = 1;
    for (int k = 0; k < node.inputs; ++k) {
      if (node.in[k].kind != Operand::Kind::node) continue;
      const ValueRef from = context.source(i, k);
      if (from.start >= 0 && !read[from.start]) {
        read[from.start] = true;
        ++readings[i];
      }
      if (from.node < 0 || context.stored[from.node]) continue;
      depth[i] = std::max(depth[i], depth[from.node] + 1);
      nodes[i] += nodes[from.node] / context.readers[from.node];
      readings[i] += readings[from.node] / context.readers[from.node];
    }
    context.stored[i] =
        nodes[i] > kMaxNodes || readings[i] > kMaxReadings || (context.readers[i] > 1 && depth[i] > kMaxSharedDepth);
  }
}

Listed expand_uses(const Context& context, FusionGroup& group) { return Expander(context, group).run(); }

}  // namespace sg::schedule_detail
