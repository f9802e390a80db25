// What a node costs, estimated when it is recorded: it decides where a log is cut (schedule/cuts.hpp), so it depends on the
// operation, types and sizes alone.
#pragma once
#include <cstdint>

#include "graph/node.hpp"

namespace sg {

// Nanoseconds on a GPU that moves 1 TB/s and computes 16 TFLOP/s, rounded up to a power of two, so that other sizes of
// a batch mostly lead to the same cuts.
int64_t cost_of(const Node& node);

}  // namespace sg
