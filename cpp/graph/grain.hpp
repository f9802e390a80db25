// In which order a value's elements lie in memory, or would if it was not computed inside its readers: that of the tensors
// it is made of. The order of folds follows from it (kernel/fold_order.hpp), because neighbours in memory should be read
// together. It is found when a node is recorded, so that nothing done later, such as storing the value or not, changes
// the bits of a fold.
#pragma once
#include "graph/node.hpp"

namespace sg {

struct Grain {
  int64_t step = 0;  // of pointwise values: elements between two that are made of neighbours in memory; 0: one
  // Of folds: 1 + the dimension that is not folded along which neighbours lie; 0: they lie along the folded ones.
  int64_t across = 0;
};

inline Grain grain_of(const Node& node) {
  if (!node.op) return {};
  const bool has = node.op->kind == Kind::pointwise || node.op->kind == Kind::indexed || node.op->kind == Kind::reduce;
  return has ? node.parameters.as<Grain>() : Grain();
}

// Of a pointwise node, an indexed one or a fold whose operands are known.
void find_grain(Node& node);

}  // namespace sg
