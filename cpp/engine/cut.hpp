// One run of a device's log: schedule or find the plan, prepare, run, hand out the results.
// For engine/ only. Threads: under the engine lock.
#pragma once
#include "engine/engine.hpp"
#include "engine/plan_cache.hpp"
#include "graph/log.hpp"

namespace sg {

void cut_log(Log& log);
// The plan that a cut would run now, without running it.
PlanView plan_of_log(Log& log, bool compile);

struct EngineCounters {
  int64_t nodes = 0, plan_hits = 0, plan_misses = 0, fallbacks = 0;
};
EngineCounters& counters();

}  // namespace sg
