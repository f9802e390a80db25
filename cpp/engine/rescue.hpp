// What a log that could not be run as a whole still gives: it is run in halves, and these in halves, until what fails is
// single nodes and what needs them. Weights that were loaded stay loaded although the forward pass behind them finds no
// memory. For engine/ only. Threads: under the engine lock.
#pragma once
#include "graph/log.hpp"

namespace sg {

// Runs a log, and leaves it as it is when that throws.
using RunLog = void (*)(Log&);

// Of a log that failed with `error`; it is empty afterwards. Nodes that could not be had hold the error that they met,
// and storages that they were written to go back to what they held before. Whether there is such a node among those that
// were to be run as a whole, when there are any: whoever asked for these did not ask for the others.
bool rescue(Log& log, const std::exception_ptr& error, RunLog run);

// What each assignment gave its storage: what the next one took away, or what is there now.
std::vector<NodeRef> written_by(const std::vector<Assignment>& assignments);

}  // namespace sg
