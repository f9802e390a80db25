// What a log that could not be run as a whole still gives: it is run in halves, and these in halves, until what fails is
// single nodes and what needs them. Weights that were loaded stay loaded although the forward pass behind them finds no
// memory. For engine/ only. Threads: under the engine lock.
#pragma once
#include "graph/log.hpp"

namespace sg {

// Runs a log, and leaves it as it is when that throws.
using RunLog = void (*)(Log&);

// Of a log that failed with `error`; it is empty afterwards. Nodes that could not be computed hold the error that they met,
// and storages that they were written to go back to what they held before. Whether there is such a node among those that
// were to be run as a whole, when there are any: whoever asked for these did not ask for the others.
bool rescue(Log& log, const std::exception_ptr& error, RunLog run);

// Nodes that are pending fail. Storages that hold one go back to what they held before; what was written over such a node,
// and did not need it, stays.
void fail_pending(const std::vector<NodeRef>& nodes, const std::vector<Assignment>& assignments,
                  const std::exception_ptr& error) noexcept;

}  // namespace sg
