// The order of folds: a property of the fold alone, not of what its kernel computes besides, so that a log may be cut
// anywhere (docs/decisions/057-folds-have-one-order.md).
#include <algorithm>
#include <bit>

#include "graph/grain.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

using Neighbours = FoldOrder::Neighbours;

// A fold along the group's rows, or -1.
int32_t fold_of(const Context& context, const FusionGroup& group) {
  const auto is_fold = [&](int32_t root) {
    const Node& node = context.node(root);
    return node.op->kind == Kind::reduce && node.reduced && node.reduced == group.reduced;
  };
  const auto found = std::ranges::find_if(group.roots, is_fold);
  return found == group.roots.end() ? -1 : *found;
}

// The elements of the last folded dimensions that are next to one another.
int64_t run_of(const Node& fold) {
  int64_t run = 1;
  int d = fold.domain.rank - 1;
  while (d >= 0 && !(fold.reduced >> d & 1)) --d;
  for (; d >= 0 && fold.reduced >> d & 1; --d) run *= fold.domain[d];
  return run;
}

// Sums over all dimensions before those that are left, which lie in order.
bool sums_columns(const Node& fold) {
  const int kept = fold.domain.rank - std::popcount(fold.reduced);
  return fold.op->fold == Fold::sum && fold.reduced < 1 << (fold.domain.rank - kept) &&
         grain_of(fold).across == fold.domain.rank;
}

bool adds_parts(const Context& context, int32_t fold) {
  const Node& node = context.node(fold);
  return sums_columns(node) &&
         can_sum_rows(context, {fold, node.reduced}, {fold, static_cast<uint16_t>(~node.reduced)});
}

}  // namespace

FoldOrder fold_order(const Context& context, const FusionGroup& group) {
  const int32_t fold = fold_of(context, group);
  if (fold < 0) return {};
  const Node& node = context.node(fold);
  const int64_t across = grain_of(node).across;
  const Neighbours neighbours = !across ? Neighbours::along_row
                                : node.domain[static_cast<int>(across) - 1] >= FoldOrder::kManyRows
                                    ? Neighbours::in_many_rows
                                    : Neighbours::in_few_rows;
  return {neighbours, run_of(node) % 4 != 0, adds_parts(context, fold)};
}

bool same_order(const Context& context, const FusionGroup& a, const FusionGroup& b) {
  const int32_t fold_a = fold_of(context, a), fold_b = fold_of(context, b);
  if (fold_a < 0 || fold_b < 0) return true;
  return grain_of(context.node(fold_a)).across == grain_of(context.node(fold_b)).across &&
         adds_parts(context, fold_a) == adds_parts(context, fold_b);
}

bool folds_along(const Context& context, const FusionGroup& group) {
  const int32_t fold = fold_of(context, group);
  return fold < 0 || !grain_of(context.node(fold)).across;
}

bool adds_parts(const Context& context, const FusionGroup& group) {
  return std::ranges::all_of(group.roots, [&](int32_t root) {
    return context.node(root).op->kind == Kind::reduce && adds_parts(context, root);
  });
}

}  // namespace sg::schedule_detail
