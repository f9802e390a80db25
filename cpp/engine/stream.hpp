// Work that begins before somebody looks: pieces of a log that grows, and the part of a log that a read needs
// (docs/decisions/054-work-starts-early.md). Threads: any.
#pragma once
#include "graph/log.hpp"

namespace sg {

// Runs the beginning of logs in which enough work has gathered; call it between two calls of the program if work_is_due.
// May wait, and be interrupted, before anything has changed. Call with the GIL: waits give it up.
void stream();
// For how much work the device's logs are cut. Once for each device.
void begin_streaming(DeviceId id);

// The next piece is the first since a value was read. Under the engine lock.
void restart_pieces(Log& log);
// Runs what a pending node needs; all of the log if the rest is little. Under the engine lock.
void run_for(const NodeRef& node);
// Forgets pending nodes that nobody holds. Under the engine lock.
void forget_unneeded(Log& log);
// Runs all of a log, also what nobody holds any more. Under the engine lock.
void run_all(Log& log);

}  // namespace sg
