// One run of a device's log: schedule or find the plan, prepare, run, hand out the results.
// For engine/ only. Threads: under the engine lock.
#pragma once
#include "engine/engine.hpp"
#include "engine/plan_cache.hpp"
#include "graph/log.hpp"

namespace sg {

void flush_log(Log& log);
// Nothing of it runs: results hold the error, tensors written in place keep their old value.
void give_up(Log& log, std::exception_ptr error);
void forget_plans(DeviceId device);
void count_plans(int64_t& plans, int64_t& bytes);  // of all devices
// Everything pending, on all devices in use.
void flush_all();

// Empties a list that is kept between runs so that a plan hit allocates nothing: at the end of each, also when it fails.
template <class T>
struct Emptied {
  std::vector<T>& list;
  ~Emptied() { list.clear(); }
};

// One run of a plan: what it reads, and what it may have to report.
struct PlanInput {
  const std::vector<NodeRef>& leaves;
  const std::vector<int64_t>& offsets;
  const std::vector<Number>& numbers;
  std::vector<Reporter> reporters;
  std::vector<uint32_t> after;  // runs that may have something to report
  bool unchecked;               // the plan looks at what they reported
  bool to_the_end = false;      // not to be interrupted
};
// Memory for the outputs of a plan that take over none.
std::vector<BufferRef> fresh_outputs(DeviceId id, const Plan& plan);
// Outputs without memory get fresh memory, or that of the leaf that they replace; then it submits. Returns the lines that
// the run may report; nullptr: none.
std::shared_ptr<const Lines> run_plan(DeviceId id, const Plan& plan, Prepared& prepared, PlanInput input,
                                      std::vector<BufferRef>& outputs);

// The plan that a flush would run now, without running it.
PlanView plan_of_log(Log& log, bool compile);

// One line about a log with a new structure: from which operation on the nearest known plan is another.
// `structure`: words of its key that stand for operations. `common`: words that the keys of the two begin with.
std::string describe_new(const Log& log, size_t structure, size_t common);
// And about one whose structure has a plan.
std::string describe_new(const Log& log, const std::string& how);

struct EngineCounters {
  int64_t nodes = 0, plan_hits = 0, plan_misses = 0, plans_bound = 0, fallbacks = 0;
};
EngineCounters& counters();

}  // namespace sg
