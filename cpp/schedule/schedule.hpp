// Graph -> Plan: which nodes become memory, which share a kernel, in which order, on which bytes.
// Pure: reads the log, touches no device. Ops are known by their row (kind, emit, fold), never by name.
#pragma once
#include <vector>

#include "graph/log.hpp"
#include "kernel/features.hpp"
#include "plan/plan.hpp"

namespace sg {

struct ScheduleInput {
  const Log& log;
  std::vector<bool> held;         // a node's value must be there afterwards
  std::vector<bool> dying;        // a leaf is wanted by nobody afterwards: its memory may be written over
  bool fuse = true;               // false: one kernel an op
  bool doubtful = false;          // updates in place look at the status word, as when the log itself checks indices
  const Features* gpu = nullptr;  // what the log's device can do; nullptr: the CPU
};

struct Scheduled {
  Plan plan;
  std::vector<int32_t> output_nodes;  // node of each output, in order
  int64_t work = 0;  // elementary steps that it took: readings followed, kernels tried, memories compared
};
Scheduled schedule(const ScheduleInput& input);

}  // namespace sg
