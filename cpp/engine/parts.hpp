// Runs parts of a log, one after the other; the rest of it stays pending. For engine/ only. Threads: under the engine
// lock.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// Runs a log. If it throws, the log is unchanged.
using RunLog = void (*)(Log&);

// Which part of a log each node belongs to.
struct Division {
  static constexpr int32_t kDropped = -1;  // nothing needs it
  int32_t parts = 0;                       // that run, in order; the number of those that stay
  std::vector<int32_t> part;               // of each node; never lower than that of a node that it reads
  std::vector<bool> again = {};            // nodes that are not stored, because what stays computes them again
  std::vector<bool> kept = {};             // nodes that are computed although nothing holds or reads them
};

// If a part throws, the log keeps that one and what comes after it.
void run_parts(Log& log, const Division& division, RunLog run);

}  // namespace sg
