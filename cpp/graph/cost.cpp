// Counts the bytes and operations of a node as if nothing was fused but formulas.
#include "graph/cost.hpp"

#include <algorithm>
#include <bit>

namespace sg {
namespace {

constexpr int64_t kBytes = 1000, kOperations = 16000;  // in a nanosecond
constexpr int64_t kHalves = 4;                         // times as many operations
constexpr int64_t kKernel = 4;                         // times that kernels of their own go over their operands
constexpr int64_t kLaunch = 4000;                      // nanoseconds of the smallest product on a GPU

// Of what is read: formulas that are pending are part of their reader.
int64_t bytes_read(const Node& node, int64_t elements) {
  int64_t bytes = 0;
  const bool all = node.op->kind != Kind::pointwise;
  for (int k = 0; k < node.inputs; ++k) {
    const Operand& operand = node.in[k];
    if (operand.kind != Operand::Kind::node || !(all || !operand.node->pending())) continue;
    if (node.op->kind == Kind::effect && k == 1) continue;  // is written
    bytes +=
        std::min(static_cast<int64_t>(operand.node->bytes()), elements * static_cast<int64_t>(size_of(operand.dtype)));
  }
  return bytes;
}

int64_t bytes_written(const Node& node, int64_t elements) {
  return (node.op->kind == Kind::effect ? elements : node.numel) * static_cast<int64_t>(size_of(node.dtype));
}

int64_t operations(const Node& node, int64_t elements) {
  if (node.op->kind != Kind::contraction) return elements;
  return 2 * elements / (is_narrow(node.in[0].dtype) ? kHalves : 1);
}

}  // namespace

int64_t cost_of(const Node& node) {
  if (node.op->kind == Kind::memory) return 0;
  const int64_t elements = node.domain.numel();
  const int64_t times = node.op->kind == Kind::kernel ? kKernel : 1;
  const int64_t bytes = times * (bytes_read(node, elements) + bytes_written(node, elements));
  const int64_t least = node.op->kind == Kind::contraction && node.device.is_gpu() ? kLaunch : 1;
  const int64_t cost = std::max({bytes / kBytes, operations(node, elements) / kOperations, least});
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(cost)));
}

}  // namespace sg
