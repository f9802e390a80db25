// One run of a device's log: schedule or find the plan, prepare, run, hand out the results.
// For engine/ only. Threads: under the engine lock.
#pragma once
#include "engine/engine.hpp"
#include "engine/plan_cache.hpp"
#include "engine/run_status.hpp"
#include "graph/log.hpp"

namespace sg {

// While one lives, the thread runs its own log: others that need it wait (graph/lock.hpp).
class Running {
 public:
  explicit Running(Log& log) : log_(log), before_(log.running) { log.running |= log.thread == thread_number(); }
  ~Running() { log_.running = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Log& log_;
  const bool before_;
};

// Runs the log. Interrupted (Ctrl-C), the log is as it was. Failed, what can be computed is computed (rescue.hpp), the
// rest holds the error, and the error is thrown.
void flush_log(Log& log);
// The same, but errors are left to the values: whoever looks at one raises its own.
void run_or_rescue(Log& log);
void run_ahead(Log& log);  // and new kernels are compiled while the caller goes on
// Makes the plan that flush_log would run, and compiles it. False: there is one already, or it cannot be made.
bool prepare_log(Log& log);
// If a write that this thread recorded did not happen, and nobody looked at it.
void raise_lost_write();
void forget_lost_write(const std::exception_ptr& error);  // the thread has been told of this one
// Runs none of it: results hold the error, tensors written in place keep their old values.
void give_up(Log& log, std::exception_ptr error);
std::vector<DeviceId> opened_devices();  // the CPU, and GPUs that have been used
void wait_for_room(DeviceId id);         // without the engine lock; DeviceTimeoutError, DeviceLostError
void forget_plans(DeviceId device);
void count_plans(int64_t& plans, int64_t& bytes);  // of all devices
// Runs everything that is pending, on all devices in use.
void flush_all();

// Empties a list at the end of a scope. The list is kept between runs, so that a plan hit allocates nothing.
template <class T>
struct Emptied {
  std::vector<T>& list;
  ~Emptied() { list.clear(); }
};

// What one run of a plan reads.
struct PlanInput {
  const std::vector<NodeRef>& leaves;
  const std::vector<int64_t>& offsets;
  const std::vector<Number>& numbers;
  const Marks* marks = nullptr;  // what may fail; nullptr: nothing
  bool to_the_end = false;       // not to be interrupted
  Log* log = nullptr;            // of this thread: that runs, or, for a replay, where others find its results pending
};
// The same bytes in memory of their own, of the CPU.
BufferRef copied(const BufferRef& buffer);
// Memory for the outputs of a plan that do not take over a leaf's.
// Asking for all memory of a run of several plans before the first of them lets the whole run fail without a trace.
std::vector<BufferRef> fresh_outputs(DeviceId id, const Plan& plan);
// Gives outputs without memory new memory, or that of the leaf they replace, and submits the plan.
void run_plan(DeviceId id, const Plan& plan, Prepared& prepared, const PlanInput& input,
              std::vector<BufferRef>& outputs);

// The plan that a flush would run now, without running it.
PlanView plan_of_log(Log& log, bool compile);

// One line about a log with a new structure: the first operation in which it differs from the nearest known plan.
// `structure`: how many words of its key stand for operations. `common`: how many words both keys begin with.
std::string describe_new(const Log& log, size_t structure, size_t common);
// The same for a log whose structure has a plan.
std::string describe_new(const Log& log, const std::string& how);

struct EngineCounters {
  int64_t nodes = 0, plan_hits = 0, plan_misses = 0, plans_bound = 0, fallbacks = 0;
};
EngineCounters& counters();

}  // namespace sg
