// Compares strides. Knows no kernels.
#include "graph/grain.hpp"

#include <algorithm>

namespace sg {
namespace {

// The dimension of the domain along which an operand's neighbours lie, the last of several; -1: none.
int dimension_of_neighbours(const Node& reader, const Operand& o) {
  const int64_t step = std::max<int64_t>(grain_of(*o.node).step, 1);
  for (int d = reader.domain.rank - 1; d >= 0; --d)
    if (o.strides[d] == step) return d;
  return -1;
}

int64_t elements_read(const Node& reader, const Operand& o) {
  int64_t n = 1;
  for (int d = 0; d < reader.domain.rank; ++d)
    if (o.strides[d] != 0) n *= reader.domain[d];
  return n;
}

// Most of the operands that have an element of their own for each decide; the last dimension, if there is none, or they
// are as many. So a mean, which is one value a row, says nothing about the formula that subtracts it.
Grain grain_of_formula(const Node& node) {
  const int last = node.domain.rank - 1;
  int operands[kMaxRank] = {};
  for (int k = 0; k < node.inputs; ++k) {
    if (node.in[k].kind != Operand::Kind::node || !node.reads_value(k)) continue;
    if (elements_read(node, node.in[k]) < node.domain.numel()) continue;
    if (const int d = dimension_of_neighbours(node, node.in[k]); d >= 0) ++operands[d];
  }
  int best = last;
  for (int d = last - 1; d >= 0; --d)
    if (operands[d] > operands[best]) best = d;
  return {.step = best < last ? contiguous_strides(node.domain)[best] : 0};
}

Grain grain_of_fold(const Node& node) {
  const int d = dimension_of_neighbours(node, node.in[0]);
  return {.across = d < 0 || node.reduced >> d & 1 ? 0 : 1 + d};
}

}  // namespace

// What is stored whoever reads it has its elements where they are stored.
void find_grain(Node& node) {
  if (node.domain.rank > 0 && !node.op->stores)
    node.parameters = node.op->kind == Kind::reduce ? grain_of_fold(node) : grain_of_formula(node);
}

}  // namespace sg
