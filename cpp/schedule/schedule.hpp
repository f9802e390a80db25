// Graph -> Plan: which nodes become memory, which share a kernel, in which order, on which bytes.
// Pure: reads the log, touches no device. Ops are known by their row (kind, emit, fold), never by name.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "graph/log.hpp"
#include "kernel/features.hpp"
#include "plan/plan.hpp"

namespace sg {

struct ScheduleInput {
  const Log& log;
  std::vector<bool> held;   // whether a node's value is needed after the run
  std::vector<bool> dying;  // whether a leaf is written and not needed afterwards, so that its memory may be reused
  bool fuse = true;         // false: one kernel an op
  bool guarded = false;     // a failure may keep writes that are seen from being done: their kernels look at the status
  const Features* gpu = nullptr;     // what the log's device can do; nullptr: the CPU
  std::vector<int32_t> cuts = {};    // nodes that no kernel shares with those before them: see loops.hpp
  std::vector<int32_t> second = {};  // nodes that compute a value again: see again.hpp
};

// What was decided about a structure, without sizes (sketch.hpp).
struct Sketch;

struct Scheduled {
  Plan plan;
  std::vector<int32_t> output_nodes;  // node of each output, in order
  int64_t work = 0;                   // elementary steps: readings followed, kernels tried, memories compared
  std::shared_ptr<const Sketch> sketch;
};
Scheduled schedule(const ScheduleInput& input);

// The plan that schedule() would make, from the sketch of a log with the same structure and other sizes. The only
// difference: near a limit, a value may be stored where schedule() would compute it twice, or the other way round.
// nullopt: these sizes need other kernels.
std::optional<Scheduled> schedule_as(const ScheduleInput& input, const Sketch& sketch);
bool is_same(const Sketch& sketch, const ScheduleInput& input);  // and no size is near a limit
std::string why_not(const Sketch& sketch, const ScheduleInput& input);
// Equal for logs that differ only in sizes, strides and offsets.
// 128 bits of hash. Under SPIROGRAD_BOUNDS=1 a plan that a sketch gave is compared with the one made anew.
struct Structure {
  uint64_t a, b;
  bool operator==(const Structure&) const = default;
};
Structure structure_of(const ScheduleInput& input);

// Of each write in place: whether anybody may see what it leaves of the memory. Nobody sees memory that the log makes and
// whose last value is not needed after the run.
std::vector<bool> seen_writes(const Log& log, const std::vector<bool>& held);

// Which nodes are held, or needed for one that is held.
std::vector<bool> needed(const Log& log, const std::vector<bool>& held);

}  // namespace sg
