// Decides by sizes and strides alone. Knows no values and no loops.
#include "device/cpu/axes.hpp"

#include <algorithm>
#include <utility>

#include "kernel/fold_order.hpp"

namespace sg::cpu {
namespace {

constexpr int64_t kEnoughLanes = 256;        // below, a pointwise block takes in the next dimension too
constexpr int64_t kEnoughInRow = 16;         // the same of a row that is read from one computed place
constexpr int64_t kFewColumns = 64;          // up to here many rows in one block beat one block a row
constexpr int64_t kFewestSummed = 16;        // from here on, short rows that one loop folds one after the other
constexpr int64_t kFewestFolded = 32;        // beat both: sums, and other folds, whose order changes nothing
constexpr int64_t kFoldedInBlock = 1 << 16;  // elements of such rows in a block

bool varies_along_row(const Program& p, const View& v) {
  for (int d = p.outer(); d < p.domain.rank; ++d)
    if (v.strides[d] != 0 && p.domain[d] != 1) return true;
  return false;
}

// How many elements a view reaches: a measure of what reading it out of order costs.
int64_t elements_of(const Program& p, const View& v) {
  int64_t n = 1;
  for (int d = 0; d < p.domain.rank; ++d)
    if (v.strides[d] != 0) n *= p.domain[d];
  return n;
}

// Whether rows are so short, and so many, that a block runs across them. Decides about the order of their folds, hence by
// what no kernel changes: sizes.
bool are_short(const Program& p) {
  return p.columns() <= kFewColumns && p.rows() >= 16 && p.rows() >= p.columns() && p.piece_limit == 0 && !p.part_rows;
}

bool adds_across(const Program& p) {
  return order_of(p).neighbours == FoldOrder::Neighbours::in_many_rows || are_short(p);
}

// Whether there are many short rows, and all that happens to their elements is that they are folded where they lie, one
// behind the other.
bool only_folds(const Program& p) {
  if (p.inner != 1 || p.piece_limit > 0 || p.part_rows > 0 || p.in_place) return false;
  if (p.columns() > kSumBlock || order_of(p).neighbours == FoldOrder::Neighbours::in_many_rows) return false;
  if (std::none_of(p.domain.v, p.domain.v + p.outer(), [](int64_t size) { return size >= 16; })) return false;
  const auto varies = [&](const Instr& i) {
    const bool view = i.code == Code::load || i.code == Code::index || i.code == Code::store;
    return view && varies_along_row(p, p.views[i.slot]);
  };
  const auto fits = [&](const Instr& i) {
    if (i.code == Code::reduce) {
      const Instr& x = p.code[i.a];
      if (i.fold == Fold::product && are_short(p)) return false;  // there is no loop of that order
      return p.columns() >= (i.fold == Fold::sum ? kFewestSummed : kFewestFolded) && x.code == Code::load &&
             varies(x) && p.views[x.slot].strides[p.outer()] == 1;
    }
    const auto is_element = [&](int32_t o) { return o >= 0 && varies(p.code[o]); };
    return !(i.code == Code::store && varies(i)) && !is_element(i.a) && !is_element(i.b) && !is_element(i.c);
  };
  return std::all_of(p.code.begin(), p.code.end(), fits);
}

// The outer dimension that blocks should run along, or -1 for the row itself.
int lane_across(const Program& p, bool folds_rows) {
  const int end = p.outer() - (p.piece_limit > 0 ? 1 : 0);  // pieces differ in length
  int best = -1, longest = -1;
  int64_t best_count = 0;  // elements that lie in order
  std::vector<int64_t> count(static_cast<size_t>(std::max(end, 0)));
  for (const View& v : p.views)
    if (varies_along_row(p, v))
      for (int d = 0; d < end; ++d) count[d] += v.strides[d] == 1 && p.domain[d] > 1 ? elements_of(p, v) : 0;
  for (int d = 0; d < end; ++d) {
    if (p.domain[d] >= FoldOrder::kManyRows && count[d] > best_count) best = d, best_count = count[d];
    if (longest < 0 || p.domain[d] >= p.domain[longest]) longest = d;
  }
  if (!folds_rows && !adds_across(p)) return -1;
  return best >= 0 && !folds_rows ? best : longest;
}

// Whether the elements along the last dimension lie in order in memory, from a place that is computed once for all of
// them.
bool reads_rows(const Program& p) {
  const int last = p.domain.rank - 1;
  std::vector<bool> varies(p.code.size());
  const auto is = [&](int32_t i) { return i >= 0 && varies[i]; };
  for (size_t i = 0; i < p.code.size(); ++i) {
    const Instr& in = p.code[i];
    const bool view = in.code == Code::load || in.code == Code::index;
    varies[i] = view ? p.views[in.slot].strides[last] != 0 : is(in.a) || is(in.b) || is(in.c);
    if (in.code != Code::load_at || p.code[in.a].code != Code::add) continue;
    const Instr& sum = p.code[in.a];
    for (const auto& [position, start] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}})
      if (p.code[position].code == Code::index && is(position) && !is(start)) return true;
  }
  return false;
}

void pick(const Dims& from, const std::vector<int>& which, int64_t scale, Dims& to) {
  for (int d : which) to.push(from[d] * scale);
}

// One stride that walks all lane dimensions, if there is one.
void find_lane_step(const Dims& dims, ViewUse& view) {
  int64_t covered = 1;
  bool first = true;
  for (int d = dims.rank - 1; d >= 0; --d) {
    if (dims[d] == 1) continue;
    if (first)
      view.lane_step = view.lane[d];
    else if (view.lane[d] != view.lane_step * covered)
      view.walk = true;
    first = false;
    covered *= dims[d];
  }
}

}  // namespace

bool choose_axes(const Program& p, bool tile, Executable& e) {
  std::vector<int> unit, lane, column;
  const int rank = p.domain.rank;
  int across = -1, lane_begin = p.outer();
  if (tile || p.inner == 0) {
    lane_begin = rank;
    const int64_t enough = rank > 0 && reads_rows(p) ? kEnoughInRow : kEnoughLanes;
    for (int64_t n = 1; lane_begin > 0 && (n < enough || tile);) {
      n *= p.domain[--lane_begin];
      if (tile) break;
    }
  } else {
    e.folds_rows = only_folds(p);
    across = p.part_rows ? -1 : lane_across(p, e.folds_rows);
    e.adds_runs = across >= 0 && adds_across(p);
    if (e.folds_rows) e.block = std::clamp<int64_t>(kFoldedInBlock / std::max<int64_t>(1, p.columns()), 64, e.block);
  }
  for (int d = 0; d < rank; ++d) {
    if (d == across)
      lane.push_back(d);
    else if (across >= 0 && d >= p.outer())
      column.push_back(d);
    else if (across < 0 && d >= lane_begin)
      lane.push_back(d);
    else
      unit.push_back(d);
  }
  pick(p.domain, unit, 1, e.unit_dims);
  pick(p.domain, lane, 1, e.lane_dims);
  pick(p.domain, column, 1, e.column_dims);
  e.pointwise = p.inner == 0;
  e.units = e.unit_dims.numel();
  e.lanes = e.lane_dims.numel();
  e.columns = e.column_dims.numel();
  e.part_rows = p.part_rows;
  // Partial sums of about the square root of the length: the error grows with that root, not with the length.
  while (e.sum_run * e.sum_run < e.columns) e.sum_run += 8;
  if (p.piece_limit > 0) {
    e.piece_dim = e.unit_dims.rank - 1;  // the last outer dimension, which is never the lanes
    e.piece_limit = p.piece_limit;
    e.piece_size = p.domain[p.outer()];
    e.piece_rest = e.piece_size ? p.columns() / e.piece_size : 0;
  }
  for (size_t v = 0; v < p.views.size(); ++v) {
    const View& from = p.views[v];
    ViewUse use;
    use.binding = from.binding;
    const bool index = std::any_of(p.code.begin(), p.code.end(), [&](const Instr& i) {
      return i.code == Code::index && i.slot == static_cast<int32_t>(v);
    });
    use.size = index ? 1 : static_cast<int32_t>(size_of(from.dtype));
    use.offset = from.offset;
    pick(from.strides, unit, use.size, use.unit);
    pick(from.strides, lane, use.size, use.lane);
    pick(from.strides, column, use.size, use.column);
    find_lane_step(e.lane_dims, use);
    const bool sums = std::any_of(p.code.begin(), p.code.end(), [&](const Instr& i) {
      return i.code == Code::sum_rows && i.slot == static_cast<int32_t>(v);
    });
    if (sums) use.part = p.columns() * use.size;
    const int last = e.unit_dims.rank - 1;
    use.transposed = e.pointwise && !index && !use.walk && last >= 0 && use.unit[last] == use.size &&
                     use.lane_step > use.size && e.unit_dims[last] >= kTile && e.lanes >= kTile;
    e.views.push_back(use);
  }
  return across >= 0;
}

}  // namespace sg::cpu
