// Loops that a program has unrolled: where a log repeats itself, and how it is cut so that a loop of another length is
// made of the same pieces.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// The first node of each piece but the first, in order; empty: the log is one piece. They do not depend on sizes,
// offsets or numbers. No piece begins inside nodes that must run as a whole.
std::vector<int32_t> loop_cuts(const Log& log);

// How many nodes the log will have when its last, unfinished round ends; its present size if it does not end in a loop.
size_t end_of_round(const Log& log);

}  // namespace sg
