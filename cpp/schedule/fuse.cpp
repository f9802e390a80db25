// Which stored nodes share a kernel. Every stored node starts as a kernel of its own and joins those that it reads
// from, then those that it shares reads with, when they run over the same domain and no third kernel lies between.
#include "schedule/fuse.hpp"

#include <algorithm>
#include <utility>

#include "schedule/order.hpp"

namespace sg::schedule_detail {
namespace {

// Bounds the work of a kernel that reads what thousands read, such as a parameter in a loop.
constexpr int64_t kMaxRelated = 64;  // kernels that one is tried with

// Invariants: order_ holds all edges between living groups; made_by_ names the living group of each stored node; the
// readers' lists hold living groups only, sorted. A merged group keeps the smaller number, so the numbers stay in the
// order of the log.
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
    std::vector<FusionGroup> alone = each_alone(context_, roots);
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
    if (context_.input.fuse) join_all(true);
    return living();
  }

  // Splits kernels that compute a node which is stored by now, and puts them together again with those they may join.
  std::vector<FusionGroup> again(std::vector<FusionGroup> groups) {
    for (bool changed = true; changed;) {
      std::vector<int32_t> roots = come_apart(groups);
      changed = !roots.empty();
      for (FusionGroup& d : each_alone(context_, roots)) groups.push_back(std::move(d));
    }
    std::sort(groups.begin(), groups.end(),
              [](const FusionGroup& a, const FusionGroup& b) { return a.roots[0] < b.roots[0]; });
    take_all(std::move(groups));
    for (bool shares : {false, true}) join_all(shares);
    return living();
  }

  // Lets values that are computed again join the kernels that read what they are made of.
  std::vector<FusionGroup> with_seconds(std::vector<FusionGroup> groups) {
    second_joins_ = true;
    take_all(std::move(groups));
    join_all(true);
    return living();
  }

 private:
  void join_all(bool shares) {
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id)
      if (!groups_[id].dead) join(id, shares);
  }

  std::vector<FusionGroup> living() {
    std::vector<FusionGroup> out;
    for (FusionGroup& d : groups_)
      if (!d.dead) out.push_back(std::move(d));
    return out;
  }

  // Removes these kernels. Returns their roots, and the nodes that they computed and that are stored by now.
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

  // Until nothing more joins. The nearest kernel before is tried first; what it becomes is tried with its own
  // neighbours.
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

  // What the two would be, as `merged_`; false: they stay apart.
  bool merge(int32_t a, int32_t b) {
    const FusionGroup &early = groups_[a], &late = groups_[b];
    ++context_.work;
    if (!comes_late(early, late) || !comes_late(late, early)) return false;
    const bool merged = may_merge(context_, early, late) && !order_.between(a, b) && !order_.between(b, a) &&
                        put_together(context_, early, late, merged_);
    context_.guards.decide(merged);
    return merged;
  }

  // A value that is computed again is not computed with what comes before it.
  bool comes_late(const FusionGroup& group, const FusionGroup& other) const {
    return !computes_again(context_, group) || (second_joins_ && other.roots.back() > group.roots[0]);
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
  bool second_joins_ = false;
  std::pmr::vector<int32_t> related_;
  std::pmr::vector<std::pmr::vector<int32_t>> leaf_readers_, node_readers_;
};

}  // namespace

std::vector<FusionGroup> fuse(Context& context) { return Fuser(context).run(); }

std::vector<FusionGroup> fuse_again(Context& context, std::vector<FusionGroup> groups) {
  for (FusionGroup& d : groups) d.tried = true;
  return Fuser(context).again(std::move(groups));
}

std::vector<FusionGroup> join_seconds(Context& context, std::vector<FusionGroup> groups) {
  for (FusionGroup& d : groups) d.tried = !computes_again(context, d);
  return Fuser(context).with_seconds(std::move(groups));
}

}  // namespace sg::schedule_detail
