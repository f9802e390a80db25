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
  std::vector<bool> held;   // a node's value must be there afterwards
  std::vector<bool> dying;  // a leaf that is written, and wanted by nobody afterwards: its memory may be written over
  bool fuse = true;         // false: one kernel an op
  bool unchecked = false;   // updates in place look at the status word, as when the log itself checks indices
  const Features* gpu = nullptr;   // what the log's device can do; nullptr: the CPU
  std::vector<int32_t> cuts = {};  // nodes that no kernel shares with those before them: see loops.hpp
};

// What was decided about a structure, without its sizes: see sketch.hpp.
struct Sketch;

struct Scheduled {
  Plan plan;
  std::vector<int32_t> output_nodes;  // node of each output, in order
  int64_t work = 0;  // elementary steps that it took: readings followed, kernels tried, memories compared
  std::shared_ptr<const Sketch> sketch;
};
Scheduled schedule(const ScheduleInput& input);

// From the sketch of a log with the same structure and other sizes: the plan that schedule() would make, but that a value
// may be stored where it would be computed twice, or the other way round, when its size is near the limit. nullopt: these
// sizes ask for other kernels.
std::optional<Scheduled> schedule_as(const ScheduleInput& input, const Sketch& sketch);
bool is_same(const Sketch& sketch, const ScheduleInput& input);  // not near any limit either
std::string why_not(const Sketch& sketch, const ScheduleInput& input);
// Equal for logs that differ in sizes, strides and offsets alone.
struct Structure {
  uint64_t a, b;
  bool operator==(const Structure&) const = default;
};
Structure structure_of(const ScheduleInput& input);

// Nodes that are held, or that one of these is made of.
std::vector<bool> needed(const Log& log, const std::vector<bool>& held);

}  // namespace sg
