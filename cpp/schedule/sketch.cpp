// Hashes the structure of a log, makes sketches from fusion groups, and fusion groups from sketches. No size above 1
// may enter the hash: logs that differ in such sizes share their sketches (docs/decisions/022-sizes-are-bound.md).
#include "schedule/sketch.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "graph/grain.hpp"

namespace sg::schedule_detail {
namespace {

// Hashes the facts of a log that do not change with its sizes.
class Words {
 public:
  explicit Words(const ScheduleInput& input)
      : input_(input),
        log_(input.log),
        strides_(log_.nodes.size() + log_.leaves.size(), -1),
        offsets_(log_.nodes.size(), -1) {}

  Structure hash() {
    add(log_.nodes.size() << 2 | uint64_t(input_.fuse) << 1 | uint64_t(input_.guarded));
    for (size_t i = 0; i < log_.nodes.size(); ++i) add_node(*log_.nodes[i], input_.held[i]);
    for (bool dying : input_.dying) add(dying);
    for (const std::vector<int32_t>* nodes : {&input_.cuts, &input_.second}) {
      add(nodes->size());
      for (int32_t node : *nodes) add(static_cast<uint64_t>(node));
    }
    return {hash_mix(hash_.a), hash_mix(hash_.b)};
  }

 private:
  void add(uint64_t word) {
    hash_.a = hash_add(hash_.a, word);
    hash_.b = hash_add(hash_.b ^ kOther, word);
  }

  void add_node(const Node& node, bool held) {
    add(reinterpret_cast<uint64_t>(node.op));
    const bool whole = node.op->kind == Kind::effect && node.overwrites_all();
    add(uint64_t(node.dtype) | uint64_t(node.compute) << 4 | uint64_t(node.inputs) << 8 | uint64_t(held) << 13 |
        uint64_t(whole) << 14 | uint64_t(bool(node.together)) << 15 | uint64_t(node.reduced) << 16 |
        uint64_t(node.domain.rank) << 32 | static_cast<uint64_t>(grain_of(node).across) << 40);
    uint64_t sizes = 0;
    if (node.op->kind == Kind::contraction) {
      const auto parameters = node.parameters.as<ContractionParameters>();
      sizes = static_cast<uint64_t>(parameters.folded) << 2 | static_cast<uint64_t>(parameters.precision);
    }
    for (int64_t size : node.domain) sizes = sizes << 2 | static_cast<uint64_t>(std::min<int64_t>(size, 2));
    add(sizes);
    for (int k = 0; k < node.inputs; ++k) add_operand(node, node.in[k]);
  }

  void add_operand(const Node& node, const Operand& o) {
    const uint64_t word = static_cast<uint64_t>(o.kind) | uint64_t(o.dtype) << 4;
    if (o.kind != Operand::Kind::node) {
      add(word | uint64_t(o.offset != 0) << 8);
      if (o.kind == Operand::Kind::index) add_steps(node.domain, o.strides);
      return;
    }
    const bool pending = o.node->pending();
    const int32_t at = pending ? node.log_index - o.node->log_index : o.leaf;
    const int32_t start = log_.starts[next_start_++];
    add(word | uint64_t(pending) << 9 | static_cast<uint64_t>(at) << 32);
    add(static_cast<uint64_t>(start));
    add_steps(node.domain, o.strides);
    add_names(
        o.strides,
        strides_[pending ? static_cast<size_t>(o.node->log_index) : static_cast<size_t>(o.leaf) + log_.nodes.size()]);
    if (start < 0) add_places(node.domain, o);
  }

  // For each dimension: stride 0, stride 1, another one forward or back, and whether it continues the next dimension.
  void add_steps(const Dims& domain, const Dims& strides) {
    uint64_t word = 0;
    for (int d = 0; d < strides.rank; ++d) {
      const int64_t s = strides[d];
      const bool next = d + 1 < strides.rank && s == strides[d + 1] * domain[d + 1];
      word = word << 4 | uint64_t(next) << 3 | (s == 0 ? 0u : s == 1 ? 1u : s > 0 ? 2u : 3u);
    }
    add(word);
  }

  // Which dimension of the value each dimension of the reader walks, whether it walks beyond that dimension's end, and
  // along which ones the view begins behind the first element. For a single element the position changes nothing.
  void add_places(const Dims& domain, const Operand& o) {
    if (o.strides.rank == 0) return;
    const Dims shape = shape_of(*o.node);
    const Dims own = contiguous_strides(shape);
    uint64_t word = 0, beyond = 0;
    for (int d = 0; d < o.strides.rank; ++d) {
      const int64_t s = o.strides[d];
      int j = 0;  // mostly found without a division
      while (j < shape.rank && (own[j] == 0 || own[j] > s || (own[j] != s && s % own[j] != 0))) ++j;
      word = word << 4 | uint64_t(j);
      beyond = beyond << 1 | uint64_t(j < shape.rank && s * (domain[d] - 1) >= own[j] * shape[j]);
    }
    add(beyond);
    for (int j = 0; j < shape.rank; ++j)
      word = word << 1 | uint64_t(o.offset && own[j] && shape[j] && o.offset / own[j] % shape[j] != 0);
    add(word << 1 | uint64_t(o.offset != 0));
    if (o.offset == 0 || !o.node->pending()) return;
    const int32_t name = name_of(o.offset, offsets_[static_cast<size_t>(o.node->log_index)]);
    add(static_cast<uint64_t>(name) + (name < kMaxNames ? 0 : static_cast<uint64_t>(o.offset)));
  }

  // The shape of a value; empty for memory that is written in parts, whose shape is not known.
  static Dims shape_of(const Node& node) {
    Dims shape;
    if (node.op->kind != Kind::effect && node.op->kind != Kind::memory && node.op->kind != Kind::kernel)
      for (int d = 0; d < node.domain.rank; ++d)
        if (!(node.reduced >> d & 1)) shape.push(node.domain[d]);
    return shape;
  }

  void add_names(const Dims& strides, int32_t& latest) {
    for (int64_t s : strides)
      if (s != 0 && s != 1) add(static_cast<uint64_t>(name_of(s, latest)));
  }

  // Equal strides (or offsets) in two readings of one value get the same name: the index among those of the value.
  int32_t name_of(int64_t number, int32_t& latest) {
    for (int32_t at = latest; at >= 0; at = names_[static_cast<size_t>(at)].before)
      if (names_[static_cast<size_t>(at)].number == number) return names_[static_cast<size_t>(at)].name;
    const int32_t name = latest < 0 ? 0 : names_[static_cast<size_t>(latest)].name + 1;
    if (name >= kMaxNames) return kMaxNames;
    names_.push_back({number, std::exchange(latest, static_cast<int32_t>(names_.size())), name});
    return name;
  }

  static constexpr uint64_t kOther = 0x5851f42d4c957f2d;
  static constexpr int32_t kMaxNames = 32;
  struct Name {
    int64_t number;  // a stride, or an offset
    int32_t before;  // the previous one of the same value
    int32_t name;
  };
  const ScheduleInput& input_;
  const Log& log_;
  std::vector<Name> names_;
  // The latest name of each value; -1: none.
  std::vector<int32_t> strides_;  // for strides; nodes first, then leaves
  std::vector<int32_t> offsets_;  // for offsets; nodes only
  size_t next_start_ = 0;
  Structure hash_{0, 0};
};

}  // namespace

std::shared_ptr<const Sketch> sketch_of(Context& context, const std::vector<FusionGroup>& groups) {
  auto sketch = std::make_shared<Sketch>();
  sketch->kernels.reserve(groups.size());
  for (const FusionGroup& d : groups) {
    sketch->kernels.push_back({d.kind, d.reduced, d.across, d.shape, d.roots.size(), d.uses.size()});
    sketch->roots.insert(sketch->roots.end(), d.roots.begin(), d.roots.end());
  }
  sketch->stored = context.stored;
  sketch->guards = context.guards.take();
  return sketch;
}

bool fits(const Sketch& sketch, const ScheduleInput& input) {
  return sketch.stored.size() == input.log.nodes.size() && !first_broken(sketch.guards, input.log, true);
}

std::optional<std::vector<FusionGroup>> groups_from(Context& context, const Sketch& sketch) {
  context.stored = sketch.stored;
  std::vector<FusionGroup> groups;
  groups.reserve(sketch.kernels.size());
  auto root = sketch.roots.begin();
  for (const Sketch::Kernel& kernel : sketch.kernels) {
    FusionGroup& group = groups.emplace_back(group_of(context, kernel.shape));
    group.kind = kernel.kind;
    group.roots.assign(root, root + static_cast<int64_t>(kernel.roots));
    root += static_cast<int64_t>(kernel.roots);
    group.reduced = kernel.reduced;
    group.across = kernel.across;
    group.uses.reserve(kernel.uses);
    if (!expand_uses(context, group)) return std::nullopt;
  }
  return groups;
}

}  // namespace sg::schedule_detail

namespace sg {

bool is_same(const Sketch& sketch, const ScheduleInput& input) {
  return !schedule_detail::first_broken(sketch.guards, input.log, false);
}

std::string why_not(const Sketch& sketch, const ScheduleInput& input) {
  using namespace schedule_detail;
  const Guard* broken = first_broken(sketch.guards, input.log, true);
  return broken ? describe(*broken, input.log) : "a view is read across other dimensions";
}

Structure structure_of(const ScheduleInput& input) { return schedule_detail::Words(input).hash(); }

}  // namespace sg
