// Loops that a program has unrolled: where a log repeats itself, and how it is cut so that a loop of another length is
// made of the same pieces.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// First nodes of the pieces after the first one, in order; empty: the log is one piece. Sizes, offsets and numbers do not
// change them. No piece begins inside what is to be run as a whole.
std::vector<int32_t> loop_cuts(const Log& log);

// How many nodes a log will have when the round that it is in ends; as many as it has when it ends in no loop.
size_t end_of_round(const Log& log);

}  // namespace sg
