// Which stored nodes share a kernel. Every stored node starts as a kernel of its own and joins those that it reads
// from, then those that it shares reads with, when they run over the same domain and no third kernel lies between.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <utility>

#include "schedule/order.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kMaxRowColumns = 32768;  // a row that is read again after its reduce must fit near one workgroup
constexpr int kMaxRowTensors = 6;          // of kernels of rows that only share what they read
constexpr size_t kMaxMemories = 48;
constexpr size_t kMaxProductUses = 48;
constexpr size_t kMaxMergedUses = 512;  // each kernel that joins costs as much as those that joined before
constexpr int64_t kMaxRelated = 64;     // kernels that one is tried with

bool same_strides(const Dims& domain, const Dims& a, const Dims& b) {
  for (int d = 0; d < domain.rank; ++d)
    if (domain[d] > 1 && a[d] != b[d]) return false;
  return true;
}

bool is_root(const FusionGroup& group, int32_t node) {
  return std::find(group.roots.begin(), group.roots.end(), node) != group.roots.end();
}

// After a reduce, elements of a very long row must not be visited again in the same kernel.
bool rows_fit(Context& context, const FusionGroup& group) {
  if (!group.reduced || !context.guards.exceeds(group.row_size(), kMaxRowColumns)) return true;
  const Program program = emit(context, group).kernel.program;
  return std::none_of(program.code.begin(), program.code.end(),
                      [](const Instr& i) { return !i.per_row && i.phase > 0; });
}

// What two kernels in one read and write.
size_t memories(const FusionGroup& a, const FusionGroup& b) {
  size_t both = 0;
  for (auto x = a.sources.begin(), y = b.sources.begin(); x != a.sources.end() && y != b.sources.end();) {
    both += *x == *y;
    const bool next = *x <= *y;
    if (*y <= *x) ++y;
    if (next) ++x;
  }
  return a.sources.size() + b.sources.size() - both + a.roots.size() + b.roots.size();
}

class Fuser {
 public:
  explicit Fuser(Context& context)
      : context_(context),
        merged_(context),
        related_(&context.memory),
        leaf_readers_(&context.memory),
        node_readers_(&context.memory) {}

  std::vector<FusionGroup> run() {
    std::vector<int32_t> roots;
    for (int32_t i = 0; i < context_.count(); ++i)
      if (context_.needed[i] && context_.stored[i] && context_.node(i).op->kind != Kind::memory) roots.push_back(i);
    std::vector<FusionGroup> alone = each_alone(roots);
    order_ = Order(alone.size(), &context_.memory);
    made_by_.assign(context_.count(), -1);
    node_readers_.resize(context_.count());
    leaf_readers_.resize(context_.log.leaves.size());
    groups_.reserve(alone.size());
    for (FusionGroup& group : alone) {
      const int32_t id = static_cast<int32_t>(groups_.size());
      for (int32_t read : group.reads)
        if (made_by_[read] >= 0) order_.add(made_by_[read], id);
      made_by_[group.roots[0]] = id;
      groups_.push_back(std::move(group));
      note_piece(id);
      note_readers(id);
      if (context_.input.fuse) join(id, false);
    }
    if (context_.input.fuse)
      for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id)
        if (!groups_[id].dead) join(id, true);
    return living();
  }

  // Kernels that compute a node which is stored by now come apart and are put together anew, with those they may join.
  std::vector<FusionGroup> again(std::vector<FusionGroup> groups) {
    for (bool changed = true; changed;) {
      std::vector<int32_t> roots = come_apart(groups);
      changed = !roots.empty();
      for (FusionGroup& d : each_alone(roots)) groups.push_back(std::move(d));
    }
    std::sort(groups.begin(), groups.end(),
              [](const FusionGroup& a, const FusionGroup& b) { return a.roots[0] < b.roots[0]; });
    take_all(std::move(groups));
    for (bool shares : {false, true})
      for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id)
        if (!groups_[id].dead) join(id, shares);
    return living();
  }

 private:
  std::vector<FusionGroup> living() {
    std::vector<FusionGroup> out;
    for (FusionGroup& d : groups_)
      if (!d.dead) out.push_back(std::move(d));
    return out;
  }

  // Takes kernels away. Their roots, and the nodes that these kernels have computed and that are stored by now.
  std::vector<int32_t> come_apart(std::vector<FusionGroup>& groups) const {
    std::vector<int32_t> roots;
    for (FusionGroup& d : groups)
      for (const Use& u : d.uses) {
        if (!u.inlined || !context_.stored[u.source.node] || is_root(d, u.source.node)) continue;
        roots.push_back(u.source.node);
        if (!d.dead) roots.insert(roots.end(), d.roots.begin(), d.roots.end());
        d.dead = true;
      }
    std::erase_if(groups, [](const FusionGroup& d) { return d.dead; });
    std::vector<bool> there(context_.count(), false);
    for (const FusionGroup& d : groups)
      for (int32_t root : d.roots) there[root] = true;
    std::erase_if(roots, [&](int32_t root) { return there[root]; });
    return roots;
  }

  void take_all(std::vector<FusionGroup> groups) {
    order_ = Order(groups.size(), &context_.memory);
    made_by_.assign(context_.count(), -1);
    for (const auto& [readers, count] : {std::pair(&node_readers_, context_.log.nodes.size()),
                                         std::pair(&leaf_readers_, context_.log.leaves.size())}) {
      readers->clear();
      readers->resize(count);
    }
    groups_ = std::move(groups);
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id)
      for (int32_t root : groups_[id].roots) made_by_[root] = id;
    first_of_piece_.clear();
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id) note_piece(id);
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id) {
      for (int32_t read : groups_[id].reads)
        if (made_by_[read] >= 0) order_.add(made_by_[read], id);
      note_readers(id);
    }
  }

  // A kernel for each root, in the order of the log. What one of them finds must be stored gets a kernel too, and
  // those that computed it, which come later in the log, are made anew.
  std::vector<FusionGroup> each_alone(const std::vector<int32_t>& roots) {
    std::vector<FusionGroup> made;
    std::vector<int32_t> made_at(context_.count(), -1);
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> open(roots.begin(), roots.end());
    Computed computed(context_.count());
    for (int32_t last = -1; !open.empty();) {
      const int32_t root = open.top();
      open.pop();
      if (root == last) continue;  // asked for by several
      last = root;
      FusionGroup group = group_of(context_, root);
      if (const int32_t node = to_be_stored(group); node >= 0) {
        context_.stored[node] = true;
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

  // Lists what a kernel of one root reads. A node that must be stored before it can be made, or -1.
  int32_t to_be_stored(FusionGroup& group) const {
    if (const Listed listed = expand_uses(context_, group); listed.store >= 0) return listed.store;
    if (!context_.input.fuse) return -1;
    const int32_t repeated = find_repeated(context_, group);
    return repeated >= 0 ? repeated : value_of_own_memory(group);
  }

  // Of a write to a part, the value that is computed from elsewhere in the same memory. Stored first, it is read before
  // anything is written, and nothing else needs to be copied.
  int32_t value_of_own_memory(const FusionGroup& group) const {
    const Node& node = context_.node(group.roots[0]);
    if (node.op->kind != Kind::effect || node.inputs < 2 || node.overwrites_all()) return -1;
    const int32_t value = context_.pending(node.in[0]);
    return value < 0 || context_.stored[value] || writes_safely(context_, group) ? -1 : value;
  }

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

  int32_t piece_of(int32_t id) const { return context_.pieces[groups_[id].roots[0]]; }
  void note_piece(int32_t id) {
    const bool first = id == 0 || piece_of(id) != piece_of_last_;
    first_of_piece_.push_back(first ? id : first_of_piece_.back());
    piece_of_last_ = piece_of(id);
  }

  // The live kernels that read a leaf or node, each once, in order: loops have thousands that read one.
  std::pmr::vector<int32_t>* readers_of(const std::pair<int32_t, int32_t>& source) {
    const auto [node, leaf] = source;
    return node >= 0 ? &node_readers_[node] : leaf >= 0 ? &leaf_readers_[leaf] : nullptr;
  }
  void note_readers(int32_t id) {
    for (const auto& source : groups_[id].sources)
      if (auto* readers = readers_of(source)) {
        const auto at = std::lower_bound(readers->begin(), readers->end(), id);
        if (at == readers->end() || *at != id) readers->insert(at, id);
      }
  }
  void forget_readers(int32_t id) {
    for (const auto& source : groups_[id].sources)
      if (auto* readers = readers_of(source)) {
        const auto at = std::lower_bound(readers->begin(), readers->end(), id);
        if (at != readers->end() && *at == id) readers->erase(at);
      }
  }

  // Kernels before `id` in its piece of the log that make, or with `shares` that share, something that it reads: the
  // latest ones, latest first.
  const std::pmr::vector<int32_t>& related(int32_t id, bool shares) {
    std::pmr::vector<int32_t>& out = related_;
    out.clear();
    const int32_t first = first_of_piece_[id];
    for (int32_t read : groups_[id].reads)
      if (made_by_[read] >= first && made_by_[read] < id) out.push_back(made_by_[read]);
    for (const auto& source : groups_[id].sources)
      if (const auto* readers = shares ? readers_of(source) : nullptr) {
        const auto begin = std::lower_bound(readers->begin(), readers->end(), first);
        const auto end = std::lower_bound(begin, readers->end(), id);
        out.insert(out.end(), end - std::min<int64_t>(end - begin, kMaxRelated), end);
      }
    std::sort(out.begin(), out.end(), std::greater<>());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    out.resize(std::min<size_t>(out.size(), kMaxRelated));
    return out;
  }

  void join(int32_t id, bool shares) {
    for (bool changed = true; changed && groups_[id].kind == FusionGroup::Kind::program;) {
      changed = false;
      for (int32_t other : related(id, shares)) {
        if (groups_[other].dead || (groups_[other].tried && groups_[id].tried)) continue;
        if (!merge(other, id)) continue;
        replace(other, id);
        id = other;
        changed = true;
        break;
      }
    }
  }

  bool merge(int32_t a, int32_t b) {
    const bool merged = put_together(a, b);
    context_.guards.decide(merged);
    return merged;
  }

  // What the two would be, as `merged_`; false: they stay apart.
  bool put_together(int32_t a, int32_t b) {
    const FusionGroup &early = groups_[a], &late = groups_[b];
    ++context_.work;
    if (late.kind != FusionGroup::Kind::program || early.kind == FusionGroup::Kind::own) return false;
    if (early.kind == FusionGroup::Kind::product && !fits_epilogue(early, late)) return false;
    // Before anything is followed: one size, not too much memory, and no third kernel between.
    Guards& guards = context_.guards;
    if (!early.reduced && !late.reduced && !guards.conditions([&] { return same_size(early, late); })) return false;
    const size_t roots = early.roots.size() + late.roots.size();
    if (std::max(early.sources.size(), late.sources.size()) + roots > kMaxMemories) return false;
    if (memories(early, late) > kMaxMemories) return false;
    if (std::max(early.uses.size(), late.uses.size()) > kMaxMergedUses) return false;
    if (order_.between(a, b) || order_.between(b, a)) return false;
    FusionGroup& m = merged_;
    m.tried = false;
    m.across = 0;
    m.kind = early.kind;
    // The domain of whoever folds has a meaning; else the earlier one's.
    const FusionGroup& shaping = late.reduced && !early.reduced ? late : early;
    m.domain = shaping.domain;
    m.shape = shaping.shape;
    if (!fold_together(early, late, m)) return false;
    m.roots = early.roots;
    m.roots.insert(m.roots.end(), late.roots.begin(), late.roots.end());
    if (m.kind == FusionGroup::Kind::program) std::sort(m.roots.begin(), m.roots.end());
    if (m.reduced && std::any_of(m.roots.begin(), m.roots.end(), [&](int32_t r) { return scatters(r); })) return false;
    if (same_domain(early, late) && too_wide(m, early, late, std::max(early.whole, late.whole))) return false;
    if (const size_t most = early.uses.size() + late.uses.size(); most > m.uses.capacity()) m.uses.reserve(2 * most);
    if (!guards.conditions([&] { return bool(expand_uses(context_, m)); })) return false;
    for (const Use& u : m.uses)
      if (!u.inlined && u.source.node >= 0 && is_root(m, u.source.node) && !reads_in_place(context_, m, u))
        return false;
    if (too_wide(m, early, late, m.whole)) return false;
    if (!writes_safely(context_, m) || !rows_fit(context_, m)) return false;
    if (m.uses.size() > (m.kind == FusionGroup::Kind::product ? kMaxProductUses : kMaxMergedUses)) return false;
    if (find_repeated(context_, m) >= 0) return false;
    return true;
  }

  // The folds of two kernels in one: along the same rows, or one of them over the rows of the other where both read the
  // same elements.
  bool fold_together(const FusionGroup& early, const FusionGroup& late, FusionGroup& m) const {
    const uint16_t a = early.reduced, b = late.reduced;
    m.across = early.across | late.across;
    m.reduced = a | b;
    if (!a || !b || a == b) return !early.across || !late.across || early.across == late.across;
    const uint16_t row = std::max(a, b), over = std::min(a, b), all = static_cast<uint16_t>((1u << m.domain.rank) - 1);
    const bool leading = (row | over) == all && over < (row & -row);  // `over` is all dimensions before the row
    if (!leading || (m.across && m.across != over) || !same_domain(early, late)) return false;
    const FusionGroup& sums = a == over ? early : late;
    for (int32_t root : sums.roots)
      if (context_.node(root).op->kind != Kind::reduce || context_.node(root).op->fold != Fold::sum) return false;
    m.reduced = row;
    m.across = over;
    return can_sum_rows(context_, m) && share_elements(early, late);
  }

  bool same_size(const FusionGroup& a, const FusionGroup& b) const {
    return context_.guards.same_size(a.size(context_), b.size(context_));
  }
  bool same_domain(const FusionGroup& a, const FusionGroup& b) const {
    return a.kind == b.kind ? context_.guards.same_domain(a.shape, b.shape) : a.domain == b.domain;
  }

  // A row that several kernels read is not worth the registers of all of them. `all`: tensors that are read.
  bool too_wide(const FusionGroup& m, const FusionGroup& early, const FusionGroup& late, int all) const {
    if (!m.reduced || std::any_of(late.reads.begin(), late.reads.end(), [&](int32_t r) { return is_root(early, r); }))
      return false;
    const int few = std::min(early.whole, late.whole), shared = early.whole + late.whole - all;
    const auto writes =
        std::count_if(m.roots.begin(), m.roots.end(), [&](int32_t root) { return writes_whole(m, root); });
    return all + writes > kMaxRowTensors || (few > 1 && 2 * shared <= few);
  }

  // A value for each element.
  bool writes_whole(const FusionGroup& group, int32_t root) const {
    const Node& node = context_.node(root);
    if (node.op->kind == Kind::effect) return node.overwrites_all();
    return context_.guards.same_size({root, static_cast<uint16_t>(~node.reduced)}, group.size(context_));
  }

  static bool share_elements(const FusionGroup& a, const FusionGroup& b) {
    for (const Use& x : a.uses)
      for (const Use& y : b.uses)
        if (x.source == y.source && reads_whole(a, x) && reads_whole(b, y)) return true;
    return false;
  }

  bool scatters(int32_t root) const {
    return context_.node(root).op->kind == Kind::effect && context_.node(root).inputs == 3;
  }

  // What may ride on a product's result: pointwise values of it, not updates in place.
  bool fits_epilogue(const FusionGroup& product, const FusionGroup& late) const {
    if (late.reduced || late.roots.size() != 1) return false;
    if (context_.node(late.roots[0]).op->kind != Kind::pointwise) return false;
    return std::any_of(late.reads.begin(), late.reads.end(), [&](int32_t r) { return is_root(product, r); });
  }

  void replace(int32_t keep, int32_t drop) {
    for (int32_t root : merged_.roots) made_by_[root] = keep;
    forget_readers(keep);
    forget_readers(drop);
    std::swap(groups_[keep], merged_);
    groups_[drop] = FusionGroup(context_);
    groups_[drop].dead = true;
    order_.merge(keep, drop);
    note_readers(keep);
  }

  Context& context_;
  std::vector<FusionGroup> groups_;
  FusionGroup merged_;
  Order order_;                          // of groups
  std::vector<int32_t> made_by_;         // group of a stored node
  std::vector<int32_t> first_of_piece_;  // the first group of the piece that a group is in
  int32_t piece_of_last_ = 0;
  std::pmr::vector<int32_t> related_;
  std::pmr::vector<std::pmr::vector<int32_t>> leaf_readers_, node_readers_;
};

}  // namespace

namespace {

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
    const Source target = context.source(root, 1);
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

bool reads_in_place(const Context& context, const FusionGroup& group, const Use& use) {
  if (use.offset != 0 || use.source.start >= 0 || use.elsewhere) return false;
  const Node& root = context.node(use.source.node);
  const bool folds = root.op->kind == Kind::reduce && root.reduced;
  if (folds && group.across && root.reduced == group.across) return false;  // known when all rows are done
  if (root.op->kind == Kind::contraction) return same_strides(group.domain, use.strides, group.element_strides());
  const bool per_row = folds || !context.guards.same_size({use.source.node}, group.size(context));
  return same_strides(group.domain, use.strides, per_row ? group.row_strides() : group.element_strides());
}

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
    d.kind = FusionGroup::Kind::own;
  } else {
    d.reduced = node.reduced;
  }
  return d;
}

std::vector<FusionGroup> fuse(Context& context) { return Fuser(context).run(); }

std::vector<FusionGroup> fuse_again(Context& context, std::vector<FusionGroup> groups) {
  for (FusionGroup& d : groups) d.tried = true;
  return Fuser(context).again(std::move(groups));
}

}  // namespace sg::schedule_detail
