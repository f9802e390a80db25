// Cutting long reduces: sizes alone decide, so that results do not depend on the machine.
#include <algorithm>

#include "base/round.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kElementsPerGroup = 16384;  // worth a workgroup of its own
constexpr int64_t kMaxPieces = 4096;
constexpr int64_t kMinPiece = 64;
constexpr int64_t kElementsOfParts = 1 << 21, kMinPartRows = 16, kMaxPartRows = 64;
constexpr int64_t kMinSumRows = 256, kMinSumColumns = 64;
constexpr int64_t kMaxSumColumns = 8192;  // the smallest workgroup holds a row of sums in its registers

// A row has its neighbours in memory along it, in the tensors that differ from row to row.
bool lies_along_row(const Program& p) {
  return std::ranges::any_of(p.views, [&](const View& v) {
    const bool differs = p.outer() == 0 || std::any_of(v.strides.begin(), v.strides.begin() + p.outer(),
                                                       [](int64_t stride) { return stride != 0; });
    return differs && v.strides[p.domain.rank - 1] == 1;
  });
}

int64_t pieces_for(const Program& p) {
  const int64_t rows = p.rows(), columns = p.columns();
  if (rows == 0 || columns == 0 || p.outer() + 1 > kMaxRank - p.inner) return 1;
  const bool along_row = lies_along_row(p);
  const int64_t groups = along_row ? rows : (rows + 31) / 32;
  const int64_t wanted = std::min(along_row ? kMaxPieces : kMaxPieces / 4, rows * columns / kElementsPerGroup);
  const int64_t pieces = std::min(wanted / groups, p.domain[p.outer()]);
  return columns / std::max<int64_t>(pieces, 1) < kMinPiece ? 1 : pieces;
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

View partial_view(const Program& p, int32_t binding, DType dtype, int64_t pieces, int64_t inner_stride) {
  View v;
  v.binding = binding;
  v.dtype = dtype;
  v.strides = Dims::filled(p.domain.rank, 0);
  int64_t stride = pieces;
  const int outer = p.outer() - (inner_stride ? 0 : 1);  // the first kernel counts pieces as an outer dimension
  for (int d = outer - 1; d >= 0; --d) {
    v.strides[d] = stride;
    stride *= p.domain[d];
  }
  v.strides[outer] = 1;
  return v;
}

// Whether all folds belong to phase 1, and what follows depends on their results alone.
bool can_cut(const Program& p) {
  if (p.inner == 0 || p.phases() < 2 || p.part_rows) return false;
  return std::ranges::none_of(
      p.code, [](const Instr& i) { return (!i.per_row && i.phase > 0) || (i.code == Code::reduce && i.phase != 1); });
}

// Splits the first folded dimension into two: the piece, and the index in it.
Program over_pieces(Program p, int64_t count, int64_t size) {
  const int at = p.outer();
  p.piece_limit = p.domain[at];
  insert(p.domain, at, count);
  p.domain[at + 1] = size;
  for (View& v : p.views) insert(v.strides, at, v.strides[at] * size);
  return p;
}

// Replaces the folded dimensions by one that counts pieces.
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

// The first kernel stores the results of its reduces and nothing that depends on them; the second reads them.
void store_partials(SplitRows& out, int32_t first_binding, int64_t count) {
  Program& a = out.first;
  std::vector<Instr> stores;
  for (size_t n = 0; n < a.code.size(); ++n) {
    Instr& i = a.code[n];
    if (i.code == Code::store && i.phase > 0) i = Instr{.code = Code::constant, .dtype = DType::int32};  // pruned
    if (i.code != Code::reduce) continue;
    const int32_t binding = first_binding + static_cast<int32_t>(out.partials.size());
    out.partials.push_back(i.dtype);
    stores.push_back({.code = Code::store,
                      .dtype = i.dtype,
                      .a = static_cast<int32_t>(n),
                      .slot = static_cast<int32_t>(a.views.size())});
    a.views.push_back(partial_view(a, binding, i.dtype, count, 0));
    out.second.views.push_back(partial_view(out.second, binding, i.dtype, count, 1));
  }
  a.code.insert(a.code.end(), stores.begin(), stores.end());
}

// Each reduce folds a load of its partials, whose views begin at `view`; what is not per row, and the stores of phase
// 0, were done by the first kernel.
void fold_partials(Program& p, int32_t view) {
  std::vector<Instr> code;
  std::vector<int32_t> renumbered(p.code.size(), -1);
  for (size_t n = 0; n < p.code.size(); ++n) {
    Instr i = p.code[n];
    if (!i.per_row || (i.code == Code::store && i.phase == 0)) continue;
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

std::optional<SplitRows> split_rows(const Program& original, int32_t first_binding) {
  if (!can_cut(original)) return std::nullopt;
  Program p = original;
  collapse(p);
  const int64_t pieces = pieces_for(p);
  if (pieces < 2) return std::nullopt;
  const int64_t limit = p.domain[p.outer()], size = divide_up(limit, pieces);
  const int64_t count = divide_up(limit, size);

  SplitRows out;
  out.partial_numel = p.rows() * count;
  out.first = over_pieces(p, count, size);
  out.second = over_partials(p, count);
  store_partials(out, first_binding, count);
  fold_partials(out.second, static_cast<int32_t>(p.views.size()));
  for (Program* program : {&out.first, &out.second}) {
    prune(*program);
    drop_unused_views(*program);
    annotate(*program);
  }
  return out;
}

// Few enough parts that their sums take little memory beside the rows, and enough to fill a wide machine.
int64_t rows_of_a_part(int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(rows * columns / kElementsOfParts, kMinPartRows, kMaxPartRows);
}

bool can_sum_rows(const Context& context, const FusionGroup& group) {
  Guards& guards = context.guards;
  const Size rows = group.row_count(context), columns = group.row_size();
  return guards.exceeds(columns, kMinSumColumns - 1) && !guards.exceeds(columns, kMaxSumColumns) &&
         guards.exceeds(rows, kMinSumRows - 1);
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
  annotate(out.second);
  return out;
}

}  // namespace sg::schedule_detail
