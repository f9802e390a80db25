// In which order a fold adds up (docs/decisions/057-folds-have-one-order.md). Both back ends follow it, whatever strides a
// kernel reads with: those change when a formula is stored, and the bits must not.
#pragma once
#include <algorithm>

#include "kernel/program.hpp"

namespace sg {

// All folds of a kernel have the same order, as a number in their instructions (Instr::imm).
struct FoldOrder {
  enum class Neighbours : uint8_t { along_row, in_few_rows, in_many_rows };  // what lies together in memory
  static constexpr int64_t kManyRows = 8;
  Neighbours neighbours = Neighbours::along_row;
  bool odd = false;    // elements that follow one another in the row are no multiple of four
  bool parts = false;  // sums over all leading dimensions, part by part (split_rows.cpp)
  bool operator==(const FoldOrder&) const = default;
};

inline FoldOrder order_of(const Program& p) {
  const auto fold = std::ranges::find(p.code, Code::reduce, &Instr::code);
  if (fold == p.code.end()) return {};
  return {static_cast<FoldOrder::Neighbours>(fold->imm.i & 3), (fold->imm.i & 4) != 0, (fold->imm.i & 8) != 0};
}

inline void set_order(Program& p, FoldOrder order) {
  for (Instr& i : p.code)
    if (i.code == Code::reduce)
      i.imm.i = int64_t(order.neighbours) | int64_t{order.odd} << 2 | int64_t{order.parts} << 3;
}

// Whether a lane of a GPU takes four columns at a time. Sizes alone decide.
inline bool in_fours(const Program& p) {
  const FoldOrder order = order_of(p);
  if (order.neighbours != FoldOrder::Neighbours::along_row || order.odd || p.columns() % 4) return false;
  return p.piece_limit == 0 || p.columns() == 0 || p.columns() / p.domain[p.outer()] * p.piece_limit % 4 == 0;
}

}  // namespace sg
