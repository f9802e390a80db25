// Whether two kernels can be one, and what that is.
#include <algorithm>
#include <tuple>
#include <utility>

#include "schedule/fuse.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int kMaxRowTensors = 6;  // of kernels of rows that only share what they read
constexpr size_t kMaxMemories = 48;
constexpr size_t kMaxProductUses = 48;
constexpr int64_t kLeastTransposed = 1 << 16;  // elements whose order in memory is worth a kernel
constexpr size_t kMaxMergedUses = 512;         // each kernel that joins costs as much as those that joined before

// After a fold, elements of a long row must not be visited again in the same kernel.
bool rows_fit(Context& context, const FusionGroup& group) {
  if (!group.reduced || !is_long(context, group)) return true;
  const Program program = emit(context, group).kernel.program;
  return std::none_of(program.code.begin(), program.code.end(),
                      [](const Instr& i) { return i.code == Code::reduce ? i.phase > 1 : !i.per_row && i.phase > 0; });
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

bool same_size(const Context& context, const FusionGroup& a, const FusionGroup& b) {
  return context.guards.same_size(a.size(context), b.size(context));
}
bool same_domain(const Context& context, const FusionGroup& a, const FusionGroup& b) {
  return a.kind == b.kind ? context.guards.same_domain(a.shape, b.shape) : a.domain == b.domain;
}

bool share_elements(const FusionGroup& a, const FusionGroup& b) {
  for (const Use& x : a.uses)
    for (const Use& y : b.uses)
      if (x.source == y.source && reads_whole(a, x) && reads_whole(b, y)) return true;
  return false;
}

// The folds of two kernels in one: along the same rows, or one of them over the rows of the other where both read the
// same elements.
bool fold_together(const Context& context, const FusionGroup& early, const FusionGroup& late, FusionGroup& m) {
  const uint16_t a = early.reduced, b = late.reduced;
  m.across = early.across | late.across;
  m.reduced = a | b;
  if (early.across && late.across && early.across != late.across) return false;
  if (!a || !b) return true;
  if (a == b)
    return same_order(context, early, late) &&
           (!m.across || (folds_along(context, early) && folds_along(context, late)));
  const uint16_t row = std::max(a, b), over = std::min(a, b), all = static_cast<uint16_t>((1u << m.domain.rank) - 1);
  const bool leading = (row | over) == all && over < (row & -row);  // `over` is all dimensions before the row
  if (!leading || (m.across && m.across != over) || !same_domain(context, early, late)) return false;
  m.reduced = row;
  m.across = over;
  const auto& [sums, rows] = a == over ? std::tie(early, late) : std::tie(late, early);
  return adds_parts(context, sums) && folds_along(context, rows) && share_elements(early, late);
}

// A value for each element.
bool writes_whole(const Context& context, const FusionGroup& group, int32_t root) {
  const Node& node = context.node(root);
  if (node.op->kind == Kind::effect) return node.overwrites_all();
  return context.guards.same_size({root, static_cast<uint16_t>(~node.reduced)}, group.size(context));
}

// A row that several kernels read is not worth the registers of all of them. `all`: tensors that are read.
bool too_wide(const Context& context, const FusionGroup& m, const FusionGroup& early, const FusionGroup& late,
              int all) {
  if (!m.reduced || std::any_of(late.reads.begin(), late.reads.end(), [&](int32_t r) { return is_root(early, r); }))
    return false;
  const int few = std::min(early.whole, late.whole), shared = early.whole + late.whole - all;
  const auto writes =
      std::count_if(m.roots.begin(), m.roots.end(), [&](int32_t root) { return writes_whole(context, m, root); });
  return all + writes > kMaxRowTensors || (few > 1 && 2 * shared <= few);
}

bool scatters(const Context& context, int32_t root) {
  return context.node(root).op->kind == Kind::effect && context.node(root).inputs == 3;
}

// A kernel of elements that reads a tensor along one dimension of memory and writes along another: on a GPU it goes
// through squares in shared memory, which a kernel of rows does not.
bool transposes(Context& context, const FusionGroup& group) {
  if (!context.input.gpu || group.reduced || group.kind != FusionGroup::Kind::program) return false;
  const int last = group.domain.rank - 1;
  const auto across = [&](const Use& use) {
    if (use.inlined || use.elsewhere || !reads_whole(group, use) || use.strides[last] <= 1) return false;
    return std::find(use.strides.v, use.strides.v + last, 1) != use.strides.v + last;
  };
  return last > 0 && std::ranges::any_of(group.uses, across) &&
         context.guards.exceeds({group.shape}, kLeastTransposed - 1, true);
}

// What may ride on a product's result: pointwise values of it, not updates in place.
bool fits_epilogue(const Context& context, const FusionGroup& product, const FusionGroup& late) {
  if (late.reduced || late.roots.size() != 1) return false;
  if (context.node(late.roots[0]).op->kind != Kind::pointwise) return false;
  return std::any_of(late.reads.begin(), late.reads.end(), [&](int32_t r) { return is_root(product, r); });
}

}  // namespace

// Cheap tests only: this is asked for every pair, put_together() for the few that pass.
bool may_merge(Context& context, const FusionGroup& early, const FusionGroup& late) {
  if (late.kind != FusionGroup::Kind::program || early.kind == FusionGroup::Kind::custom) return false;
  if (early.kind == FusionGroup::Kind::product && !fits_epilogue(context, early, late)) return false;
  if ((early.reduced && transposes(context, late)) || (late.reduced && transposes(context, early))) return false;
  // Before anything is followed: one size, and not too much memory.
  if (!early.reduced && !late.reduced && !context.guards.conditions([&] { return same_size(context, early, late); }))
    return false;
  const size_t roots = early.roots.size() + late.roots.size();
  if (std::max(early.sources.size(), late.sources.size()) + roots > kMaxMemories) return false;
  if (memories(early, late) > kMaxMemories) return false;
  if (std::max(early.uses.size(), late.uses.size()) > kMaxMergedUses) return false;
  return true;
}

// Every comparison of sizes goes through context.guards, so that the answer holds for a sketch.
bool put_together(Context& context, const FusionGroup& early, const FusionGroup& late, FusionGroup& m) {
  m.tried = false;
  m.across = 0;
  m.kind = early.kind;
  // The domain of whoever folds has a meaning; else the earlier one's.
  const FusionGroup& shaping = late.reduced && !early.reduced ? late : early;
  m.domain = shaping.domain;
  m.shape = shaping.shape;
  if (!fold_together(context, early, late, m)) return false;
  m.roots = early.roots;
  m.roots.insert(m.roots.end(), late.roots.begin(), late.roots.end());
  if (m.kind == FusionGroup::Kind::program) std::sort(m.roots.begin(), m.roots.end());
  if (m.reduced && std::any_of(m.roots.begin(), m.roots.end(), [&](int32_t r) { return scatters(context, r); }))
    return false;
  if (same_domain(context, early, late) && too_wide(context, m, early, late, std::max(early.whole, late.whole)))
    return false;
  if (const size_t most = early.uses.size() + late.uses.size(); most > m.uses.capacity()) m.uses.reserve(2 * most);
  if (!context.guards.conditions([&] { return bool(expand_uses(context, m)); })) return false;
  for (const Use& u : m.uses)
    if (!u.inlined && u.source.node >= 0 && is_root(m, u.source.node) && !reads_in_place(context, m, u)) return false;
  if (too_wide(context, m, early, late, m.whole)) return false;
  if (!writes_safely(context, m) || !rows_fit(context, m)) return false;
  if (m.uses.size() > (m.kind == FusionGroup::Kind::product ? kMaxProductUses : kMaxMergedUses)) return false;
  return find_repeated(context, m) < 0 && !heavy_epilogue(context, m);
}

}  // namespace sg::schedule_detail
