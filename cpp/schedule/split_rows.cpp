// Cutting long reduces: sizes alone decide, so that results do not depend on the machine.
#include <algorithm>

#include "base/round.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kElementsPerGroup = 16384;  // worth a workgroup of its own
constexpr int64_t kRowsOfGroup = 32;          // side by side, where neighbours in memory are in other rows
constexpr int64_t kMaxPieces = 4096;
constexpr int64_t kMinPiece = 64;
constexpr int64_t kElementsOfParts = 1 << 21, kMinPartRows = 16, kMaxPartRows = 64;
constexpr int64_t kMinSumRows = 1024, kMinSumColumns = 65;  // a CPU folds shorter rows side by side
constexpr int64_t kMaxSumColumns = 8192;  // the smallest workgroup holds a row of sums in its registers

// How a fold is cut: the folded dimensions before `dim` count pieces, and so do parts of `size` of that dimension.
struct Cut {
  int dim = 0;
  int64_t size = 0, pieces = 1;  // pieces: of a row
};

Cut cut_of(const Program& p) {
  const int64_t rows = p.rows(), columns = p.columns();
  if (rows == 0 || columns == 0 || p.domain.rank == kMaxRank) return {};
  const bool along_row = order_of(p).neighbours == FoldOrder::Neighbours::along_row;
  const int64_t groups = along_row ? rows : divide_up(rows, kRowsOfGroup);
  const int64_t wanted = std::min(along_row ? kMaxPieces : kMaxPieces / 4, rows * columns / kElementsPerGroup) / groups;
  if (wanted < 2 || columns / wanted < kMinPiece) return {};
  Cut cut{.dim = p.outer()};
  for (; cut.dim + 1 < p.domain.rank && cut.pieces * p.domain[cut.dim] < wanted; ++cut.dim)
    cut.pieces *= p.domain[cut.dim];
  const int64_t length = p.domain[cut.dim];
  cut.size = divide_up(length, std::min(divide_up(wanted, cut.pieces), length));
  cut.pieces *= divide_up(length, cut.size);
  return cut;
}

void insert(Dims& dims, int at, int64_t value) {
  dims.push(0);
  for (int d = dims.rank - 1; d > at; --d) dims[d] = dims[d - 1];
  dims[at] = value;
}

void drop_unused_views(Program& p) {
  std::vector<int32_t> renumbered(p.views.size(), -1);
  std::vector<View> kept;
  for (Instr& i : p.code) {
    if (!is_load(i.code) && !is_store(i.code) && i.code != Code::index) continue;
    if (renumbered[i.slot] < 0) {
      renumbered[i.slot] = static_cast<int32_t>(kept.size());
      kept.push_back(p.views[i.slot]);
    }
    i.slot = renumbered[i.slot];
  }
  p.views = std::move(kept);
}

// Whether all folds belong to phase 1, and what follows depends on their results alone.
bool can_cut(const Program& p) {
  if (p.inner == 0 || p.phases() < 2 || p.part_rows) return false;
  return std::ranges::none_of(
      p.code, [](const Instr& i) { return (!i.per_row && i.phase > 0) || (i.code == Code::reduce && i.phase != 1); });
}

// Splits the dimension into two: the piece, and the index in it.
Program over_pieces(Program p, const Cut& cut) {
  const int at = cut.dim;
  p.inner = p.domain.rank - at;
  p.piece_limit = p.domain[at];
  insert(p.domain, at, divide_up(p.domain[at], cut.size));
  p.domain[at + 1] = cut.size;
  for (View& v : p.views) insert(v.strides, at, v.strides[at] * cut.size);
  return p;
}

// What is folded are rows, of which each part adds up some, and what is left are their columns.
Program over_parts(Program p) {
  const int outer = p.outer();
  const auto turn = [&](Dims& d) { std::rotate(d.v, d.v + outer, d.v + d.rank); };
  turn(p.domain);
  for (View& v : p.views) turn(v.strides);
  p.inner = outer;
  p.part_rows = rows_of_a_part(p.rows(), p.columns());
  return p;
}

// Replaces the folded dimensions by one that counts partial results.
Program over_partials(Program p, int64_t count) {
  const auto at = static_cast<uint8_t>(p.outer());
  p.inner = 1;
  p.domain.rank = at;
  p.domain.push(count);
  for (View& v : p.views) {
    v.strides.rank = at;
    v.strides.push(0);
  }
  return p;
}

// The partial results are contiguous, row by row, or part by part.
void add_partial_views(SplitRows& out, int32_t binding, DType dtype) {
  Program &a = out.first, &b = out.second;
  View to{.binding = binding, .dtype = dtype, .strides = Dims::filled(a.domain.rank, 0)}, from = to;
  from.strides = contiguous_strides(b.domain);
  int64_t stride = 1;
  const int end = a.part_rows ? a.domain.rank : a.outer(), begin = a.part_rows ? a.outer() : 0;
  for (int d = end - 1; d >= begin; --d) {
    to.strides[d] = stride;
    stride *= a.domain[d];
  }
  if (a.part_rows) {
    const int64_t parts = b.domain[b.outer()];
    for (int d = 0; d < b.outer(); ++d) from.strides[d] /= parts;
    from.strides[b.outer()] = stride;
  }
  a.views.push_back(to);
  b.views.push_back(from);
}

// The first kernel stores the results of its folds and nothing that depends on them; the second reads them. Where it adds
// up parts, values of a row of results belong to the second.
void store_partials(SplitRows& out, int32_t first_binding) {
  Program& a = out.first;
  std::vector<Instr> stores;
  for (size_t n = 0; n < a.code.size(); ++n) {
    Instr& i = a.code[n];
    const bool later = i.phase > 0 || (i.per_row && a.part_rows);
    if (i.code == Code::store && later) i = Instr{.code = Code::constant, .dtype = DType::int32};  // pruned
    if (i.code != Code::reduce) continue;
    const auto slot = static_cast<int32_t>(a.views.size());
    add_partial_views(out, first_binding + static_cast<int32_t>(out.partials.size()), i.dtype);
    out.partials.push_back(i.dtype);
    const int32_t value = a.part_rows ? i.a : static_cast<int32_t>(n);
    stores.push_back({.code = a.part_rows ? Code::sum_rows : Code::store, .dtype = i.dtype, .a = value, .slot = slot});
  }
  a.code.insert(a.code.end(), stores.begin(), stores.end());
}

// Each fold is one of a load of its partial results, whose views begin at `view`; what is not per row, and the stores of
// phase 0, were done by the first kernel.
void fold_partials(Program& p, int32_t view, bool parts) {
  std::vector<Instr> code;
  std::vector<int32_t> renumbered(p.code.size(), -1);
  for (size_t n = 0; n < p.code.size(); ++n) {
    Instr i = p.code[n];
    if (!i.per_row || (i.code == Code::store && i.phase == 0 && !parts)) continue;
    if (i.code == Code::reduce) {
      code.push_back({.code = Code::load, .dtype = i.dtype, .slot = view++});
      i.a = static_cast<int32_t>(code.size()) - 1;
    } else {
      for (int32_t* operand : {&i.a, &i.b, &i.c})
        if (*operand >= 0) *operand = renumbered[*operand];
    }
    renumbered[n] = static_cast<int32_t>(code.size());
    code.push_back(i);
  }
  p.code = std::move(code);
}

}  // namespace

std::optional<SplitRows> split_rows(const Program& p, int32_t first_binding) {
  if (!can_cut(p)) return std::nullopt;
  const bool parts = order_of(p).parts;
  const Cut cut = parts ? Cut() : cut_of(p);
  if (!parts && cut.pieces < 2) return std::nullopt;
  SplitRows out;
  out.first = parts ? over_parts(p) : over_pieces(p, cut);
  const int64_t count = parts ? out.first.parts() : cut.pieces;
  out.partial_numel = p.rows() * count;
  out.second = over_partials(p, count);
  store_partials(out, first_binding);
  fold_partials(out.second, static_cast<int32_t>(p.views.size()), parts);
  set_order(out.second, {.neighbours = parts ? FoldOrder::Neighbours::in_many_rows : FoldOrder::Neighbours::along_row});
  for (Program* program : {&out.first, &out.second}) {
    prune(*program);
    drop_unused_views(*program);
    collapse(*program);
    annotate(*program);
  }
  return out;
}

// Few enough parts that their sums take little memory beside the rows, and enough to fill a wide machine.
int64_t rows_of_a_part(int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(rows * columns / kElementsOfParts, kMinPartRows, kMaxPartRows);
}

bool can_sum_rows(const Context& context, Size rows, Size columns) {
  Guards& guards = context.guards;
  return guards.exceeds(columns, kMinSumColumns - 1) && !guards.exceeds(columns, kMaxSumColumns) &&
         guards.exceeds(rows, kMinSumRows - 1);
}

// The sizes for which cut_of() may find two pieces. Folds of kernels that visit their elements again are not cut, so
// kernels of long folds do not.
bool is_long(const Context& context, const FusionGroup& group) {
  Guards& guards = context.guards;
  if (fold_order(context, group).neighbours == FoldOrder::Neighbours::along_row)
    return guards.exceeds(group.row_size(), 2 * kElementsPerGroup - 1);
  return guards.exceeds({group.shape}, 2 * kElementsPerGroup - 1) &&
         guards.exceeds(group.row_size(), 2 * kElementsPerGroup / kRowsOfGroup - 1) &&
         !guards.exceeds(group.row_count(context), kRowsOfGroup * kMaxPieces / 8);
}

SplitRows finish_row_sums(const Program& program, int32_t first_binding) {
  SplitRows out;
  out.first = program;
  const int64_t parts = program.parts(), columns = program.columns();
  out.partial_numel = parts * columns;
  ProgramBuilder second;
  second.program.domain = {columns, parts};
  second.program.inner = 1;
  for (Instr& i : out.first.code) {
    if (i.code != Code::sum_rows) continue;
    View& view = out.first.views[i.slot];
    const DType type = out.first.code[i.a].dtype;
    const int32_t binding = first_binding + static_cast<int32_t>(out.partials.size());
    const View from{.binding = binding, .dtype = type, .strides = {1, columns}};
    const View to{.binding = view.binding, .dtype = view.dtype, .strides = {1, 0}};
    const Expr sum = second.reduce(Fold::sum, second.load(second.add_view(from)));
    second.store(second.add_view(to), second.cast(sum, view.dtype));
    out.partials.push_back(type);
    view.binding = binding;
    view.dtype = i.dtype = type;
  }
  out.second = std::move(second.program);
  set_order(out.second, {.neighbours = FoldOrder::Neighbours::in_many_rows});
  annotate(out.second);
  collapse(out.first);
  return out;
}

}  // namespace sg::schedule_detail
