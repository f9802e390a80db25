// Saves what can be computed of a log that failed as a whole: its halves run separately, then their halves, until only
// single nodes and their readers fail. So weights stay loaded even if the forward pass after them runs out of memory.
// For engine/ only. Threads: under the engine lock.
#pragma once
#include "engine/parts.hpp"
#include "graph/log.hpp"

namespace sg {

struct Rescued {
  // Whether a node that cannot be computed is among those that must run as a whole or, if there are none, among all
  // nodes: whoever asked for the first did not ask for the others.
  bool failed = false;
  std::exception_ptr lost;  // why a write did not happen, if one did not
};
// Rescues a log that failed with `error`, and leaves it empty. Nodes that cannot be computed hold their error, and
// storages written with them get their old values back.
Rescued rescue(Log& log, const std::exception_ptr& error, RunLog run);

// Lets pending nodes fail. Storages that hold one get their old values back; a later write that does not depend on such
// a node stays.
void fail_pending(const std::vector<NodeRef>& nodes, const std::vector<Assignment>& assignments,
                  const std::exception_ptr& error) noexcept;

}  // namespace sg
