// From a log to a run: completes the key, finds the plan or makes it, and hands the results to the nodes. Knows devices
// through device.hpp only.
#include "engine/flush.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "engine/exchange.hpp"
#include "engine/parts.hpp"
#include "engine/replay/capture.hpp"
#include "engine/rescue.hpp"
#include "engine/run_status.hpp"
#include "engine/stream.hpp"
#include "engine/written_out.hpp"
#include "plan/bounds.hpp"
#include "schedule/loops.hpp"
#include "schedule/schedule.hpp"

namespace sg {
namespace {

std::map<int, PlanCache>& caches() {
  static auto* all = new std::map<int, PlanCache>;
  return *all;
}
PlanCache& cache_of(DeviceId device) { return caches()[device.is_gpu() ? device.index + 1 : 0]; }

constexpr size_t kAhead = 8, kCacheLine = 64;  // nodes to prefetch; bytes
constexpr size_t kEnding = 256;                // bytes of a node that its destructor reads
static_assert(kEnding <= sizeof(Node));

bool fusing() { return !env_off("SPIROGRAD_FUSE"); }

// What is known only when the log runs: which results are needed, and which written leaves nothing else needs.
struct Needed {
  std::vector<bool> held, dying;
  bool checks = false;   // the log checks something
  bool guarded = false;  // a failure of that, or one of an earlier run that a leaf belongs to, may be that of a result
  bool unchecked = false;  // the latter alone may keep a write that is seen from being done
};
// The log keeps the storages that it writes, to put old values back. Those that nothing else refers to need no value.
void forget_dropped(const Log& log, std::vector<bool>& held) {
  for (const Assignment& write : log.assignments) ++write.storage->pending_writes;
  for (const Assignment& write : log.assignments) {
    Storage& storage = *write.storage;
    const Node& node = *storage.node.ref();
    if (storage.pending_writes == storage.ref_count() && node.pending() && node.held == 1)
      held[static_cast<size_t>(node.log_index)] = false;
    storage.pending_writes = 0;
  }
}

bool has(const std::vector<bool>& nodes) { return std::ranges::find(nodes, true) != nodes.end(); }

void look(const Log& log, Needed& wanted) {
  wanted.held.clear();
  wanted.dying.clear();
  wanted.guarded = false;
  const auto is_held = [](const std::vector<NodeRef>& nodes, size_t i) {
    if (i + kAhead < nodes.size()) __builtin_prefetch(&nodes[i + kAhead]->held);
    return nodes[i]->held.load(std::memory_order_relaxed) > 0 && !nodes[i]->again;
  };
  for (size_t i = 0; i < log.nodes.size(); ++i) wanted.held.push_back(is_held(log.nodes, i));
  forget_dropped(log, wanted.held);
  for (const NodeRef& leaf : log.leaves) {
    if (leaf->state == Node::State::failed) std::rethrow_exception(leaf->error);  // since it was recorded
    wanted.guarded = wanted.guarded || unchecked(*leaf);
  }
  wanted.checks = !log.reporters.empty();
  wanted.unchecked = wanted.guarded && !wanted.checks && has(seen_writes(log, wanted.held));
  wanted.guarded = wanted.guarded || wanted.checks;
  wanted.dying.resize(log.leaves.size());
  for (int32_t leaf : log.written_leaves())
    if (const auto at = static_cast<size_t>(leaf); leaf >= 0)
      wanted.dying[at] = !is_held(log.leaves, at) && log.leaves[at]->logs == 1;  // what another log reads is held
}

// Adds these facts to the log's key. The log is run or given up afterwards.
// The key says all that the scheduler looks at, so equal keys have equal plans: the log wrote its structure and sizes
// while it grew; added here are the facts that only the moment of the run knows. Numbers, addresses and offsets are
// never in it: they are arguments of the plan. Whether it looks at failures only because of earlier runs is the last word,
// which recordings compare by itself (engine/replay/compare.cpp).
uint64_t complete_key(Log& log, const Needed& wanted, bool fuse, bool is_piece) {
  std::vector<uint64_t>& key = log.key;
  const size_t known = key.size();
  uint64_t word = uint64_t(log.goes_on) << 2 | uint64_t(is_piece) << 1 | uint64_t(fuse);
  int bits = 3;
  auto push = [&](bool bit) {
    word = word << 1 | uint64_t(bit);
    if (++bits == 64) {
      key.push_back(word);
      word = 0;
      bits = 0;
    }
  };
  for (bool b : wanted.held) push(b);
  for (bool b : wanted.dying) push(b);
  key.push_back(word);
  key.push_back(wanted.unchecked);
  uint64_t hash = hash_mix(log.hash);
  for (size_t i = known; i < key.size(); ++i) hash = hash_mix(hash, key[i]);
  return hash;
}

// Checks that a bound plan is the one that would be made for these sizes.
void check_bound(const ScheduleInput& input, const Sketch& sketch, const Scheduled& bound) {
  static const bool checking = env_flag("SPIROGRAD_BOUNDS");
  if (!checking || !is_same(sketch, input)) return;
  const std::string want = schedule(input).plan.print(), got = bound.plan.print();
  if (want != got) fail<CheckError>("schedule", "a plan with other sizes bound is another one", "please report it");
}

bool folds(const Log& log) {
  return std::ranges::any_of(log.nodes, [](const NodeRef& n) { return n->op->kind == Kind::reduce; });
}

// The order of a sum may depend on what is fused with it, so a loop has the same kernels in pieces and in one plan.
ScheduleInput input_of(const WrittenOut& out, const Needed& wanted, bool fuse, const std::vector<int32_t>& cuts) {
  const Log& log = out.log();
  const Features* gpu = log.device.is_gpu() ? &device_of(log.device).features() : nullptr;
  return {log,
          out.held(),
          wanted.dying,
          fuse,
          wanted.unchecked || wanted.checks,
          gpu,
          folds(log) ? out.places(cuts) : std::vector<int32_t>(),
          out.second()};
}

// A loop has the same kernels in pieces and in one plan, so nothing of it is computed again.
std::vector<Again> again_of(const Log& log, const Needed& wanted, bool fuse, const std::vector<int32_t>& cuts) {
  return fuse && cuts.empty() && log.device.is_gpu() ? computed_again(log, wanted.held) : std::vector<Again>();
}

// `words`: how many words of the log's key stand for operations.
void explain_miss(const Log& log, const ScheduleInput& input, const PlanCache& cache, const Sketch* nearest,
                  size_t words) {
  if (debug_level() < 1) return;
  debug(1, nearest ? describe_new(log, "but " + why_not(*nearest, input))
                   : describe_new(log, words, cache.common_with_nearest(log.key)));
}

// A structure that was scheduled before is bound to the new sizes if one of its sketches holds for them
// (docs/decisions/022-sizes-are-bound.md). Only logs that fit no sketch are scheduled.
Scheduled bind_or_schedule(const Log& log, const ScheduleInput& input, PlanCache& cache, size_t words) {
  const Stage stage("schedule", "stage", input.log.device);
  const Structure structure = structure_of(input);
  const auto& sketches = cache.sketches(structure);
  for (const auto& sketch : sketches)
    if (std::optional<Scheduled> bound = schedule_as(input, *sketch)) {
      check_bound(input, *sketch, *bound);
      ++counters().plans_bound;
      if (debug_level() >= 1) debug(1, describe_new(log, "with other sizes"));
      return std::move(*bound);
    }
  ++counters().plan_misses;
  explain_miss(log, input, cache, sketches.empty() ? nullptr : sketches.front().get(), words);
  Scheduled made = schedule(input);
  cache.insert(structure, std::move(made.sketch));
  return made;
}

// A GPU's kernels may take seconds to compile, which keeps no other thread from the lock.
std::shared_ptr<Prepared> prepare(Log& log, const std::shared_ptr<const Plan>& plan, bool later) {
  if (is_exchange(log)) return prepare_exchange(plan);
  std::optional<EnginePaused> paused;
  if (log.device.is_gpu() && !is_under_way(log.device)) paused.emplace(log);
  return device_of(log.device).prepare(plan, later);
}

CachedPlan make_plan(Log& log, const Needed& wanted, bool fuse, const std::vector<int32_t>& cuts, PlanCache& cache,
                     size_t words, bool later) {
  const WrittenOut out(log, wanted.held, again_of(log, wanted, fuse, cuts));
  const ScheduleInput input = input_of(out, wanted, fuse, cuts);
  Scheduled made = bind_or_schedule(log, input, cache, words);
  out.translate(made);
  CachedPlan entry;
  entry.plan = std::make_shared<const Plan>(std::move(made.plan));
  entry.output_nodes = std::move(made.output_nodes);
  if (debug_level() >= 3) debug(3, entry.plan->print());
  entry.prepared = prepare(log, entry.plan, later);
  entry.key = log.key;
  return entry;
}

// Hands the outputs to their nodes. Everything that can throw comes before device.run(): after it the log's effects
// have happened, and a node without its buffer would lose them.
void run(Log& log, const Needed& wanted, const CachedPlan& cached) {
  thread_local std::vector<BufferRef> outputs;
  const Emptied<BufferRef> emptied{outputs};
  std::vector<Ref<Transaction>> transactions;
  std::optional<Marks> marks;
  Flow flow;
  if (wanted.guarded) {
    flow = flow_of(log, transactions);
    marks = begin_run(log.device, flow, log.reporters, log.leaves, !is_exchange(log));
  }
  run_plan(log.device, *cached.plan, *cached.prepared,
           {log.leaves, log.offsets, log.numbers, marks ? &*marks : nullptr, log.to_the_end, &log}, outputs);
  for (size_t o = 0; o < outputs.size(); ++o) {
    Node& node = *log.nodes[cached.output_nodes[o]];
    node.buffer = std::move(outputs[o]);
    node.state = Node::State::ready;
    if (marks) set_marks(node, *marks, cached.output_nodes[o]);
  }
  if (marks) set_marks(transactions, *marks);
  if (capture()) capture()->ran(log, cached, std::move(flow));
}

BufferRef memory_for(Device& device, const Prepared& prepared, const Memory& output,
                     const std::vector<BufferRef>& leaves) {
  if (output.donor < 0) return device.allocate(static_cast<size_t>(output.bytes));
  const BufferRef& leaf = leaves[static_cast<size_t>(output.donor)];
  return prepared.wants_copy(output.index) ? copied(leaf) : leaf;
}

void finish(Log& log) {
  counters().nodes += static_cast<int64_t>(log.nodes.size());
  for (size_t i = log.nodes.size(); i-- > 0;) {  // readers first, so that each node is freed at its turn
    if (i >= kAhead)
      for (size_t at = 0; at < kEnding; at += kCacheLine)
        __builtin_prefetch(reinterpret_cast<const char*>(log.nodes[i - kAhead].get()) + at);
    if (!log.nodes[i]->again) log.nodes[i]->drop_inputs();
    log.nodes[i] = {};  // most are freed here
  }
  log.clear();
}

// A loop of a new length runs in pieces, whose plans other lengths share. A plan for the whole loop pays off only when
// the same length comes again.
constexpr int kTimesInPieces = 8;

void run_in_one(Log& log);

// `cuts`: the first node of each piece but the first.
Division pieces(const Log& log, const std::vector<int32_t>& cuts, const std::vector<bool>& held) {
  Division division;
  const std::vector<bool> wanted = needed(log, held);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (division.parts < static_cast<int32_t>(cuts.size()) && static_cast<int32_t>(i) >= cuts[division.parts])
      ++division.parts;
    division.part.push_back(wanted[i] ? division.parts : Division::kDropped);
  }
  ++division.parts;
  return division;
}

// Invariant: on return the log is empty; thrown out of, it is unchanged, so that the caller can run it again or in
// halves.
void run_log(Log& log, bool is_piece, bool later = false) {
  thread_local Needed wanted;
  look(log, wanted);
  const bool fuse = fusing();
  const size_t words = log.key.size();
  const uint64_t hash = complete_key(log, wanted, fuse, is_piece);
  PlanCache& cache = cache_of(log.device);
  std::shared_ptr<const CachedPlan> plan = cache.find(hash, log.key);
  if (plan) {
    ++counters().plan_hits;
  } else {
    const std::vector<int32_t> cuts = fuse && !is_piece ? loop_cuts(log) : std::vector<int32_t>();
    if (!cuts.empty() && !capture() && cache.times_missed(hash) < kTimesInPieces)
      return run_parts(log, pieces(log, cuts, wanted.held), run_in_one);
    plan = cache.insert(hash, make_plan(log, wanted, fuse, cuts, cache, words, later));
  }
  try {
    run(log, wanted, *plan);
  } catch (const Interruption&) {  // nothing has changed
    log.key.resize(words);
    throw;
  }
  finish(log);
}
void run_in_one(Log& log) { run_log(log, true); }

}  // namespace

EngineCounters& counters() {
  static EngineCounters c;
  return c;
}

bool prepare_log(Log& log) {
  struct Completed {
    std::vector<uint64_t>& key;
    const size_t words = key.size();
    ~Completed() { key.resize(words); }
  } const completed{log.key};
  const Running running(log);
  try {
    Needed wanted;
    look(log, wanted);
    const bool fuse = fusing();
    if (fuse && !loop_cuts(log).empty()) return false;
    const uint64_t hash = complete_key(log, wanted, fuse, false);
    PlanCache& cache = cache_of(log.device);
    if (cache.find(hash, log.key)) return false;
    cache.insert(hash, make_plan(log, wanted, fuse, {}, cache, completed.words, false));
    return true;
  } catch (const Interruption&) {
    throw;
  } catch (...) {  // flush_log() meets it again
    return false;
  }
}

BufferRef copied(const BufferRef& buffer) {
  BufferRef copy = cpu_device().allocate(buffer->bytes);
  buffer->arrive();
  cpu_device().upload(copy, buffer->host, buffer->bytes);
  return copy;
}

std::vector<BufferRef> fresh_outputs(DeviceId id, const Plan& plan) {
  Device& device = device_of(id);
  std::vector<BufferRef> outputs(static_cast<size_t>(plan.outputs));
  for (const Memory& m : plan.memories)
    if (m.kind == Memory::Kind::output && m.donor < 0) outputs[m.index] = device.allocate(static_cast<size_t>(m.bytes));
  return outputs;
}

namespace {
void submit_plan(DeviceId id, const Plan& plan, Prepared& prepared, const PlanInput& input,
                 std::vector<BufferRef>& outputs, Status& status) {
  static const bool checking = env_flag("SPIROGRAD_BOUNDS");
  if (checking) check_bounds(plan, input.offsets.data());
  Device& device = device_of(id);
  thread_local std::vector<BufferRef> leaves;
  const Emptied<BufferRef> emptied{leaves};
  for (const NodeRef& n : input.leaves) leaves.push_back(n->buffer);
  outputs.resize(static_cast<size_t>(plan.outputs));
  for (const Memory& m : plan.memories)
    if (m.kind == Memory::Kind::output && !outputs[m.index]) outputs[m.index] = memory_for(device, prepared, m, leaves);
  RunArguments arguments{leaves.data(), outputs.data(), input.offsets.data(), input.numbers.data()};
  arguments.to_the_end = input.to_the_end;
  arguments.status = &status;
  if (const Marks* marks = input.marks) {
    arguments.run = marks->run;
    arguments.own = marks->own;
    arguments.nodes = marks->words.data();
    arguments.fresh = marks->fresh;
  }
  finish_before_run(id, [&] {
    if (is_exchange(prepared)) return;
    try {
      device.get_ready(prepared, arguments);
      arguments.ready = true;
    } catch (...) {  // run() raises it again, when the batch has ended
    }
  });
  if (!begin_exchange(id, prepared, arguments)) {
    std::optional<EnginePaused> paused;
    if (input.log && !id.is_gpu() && !is_under_way(id)) paused.emplace(*input.log);
    device.run(prepared, arguments);
  }
  if (profiling()) profile::count_memory(id, device.stats().bytes_live);
}
}  // namespace

void run_plan(DeviceId id, const Plan& plan, Prepared& prepared, const PlanInput& input,
              std::vector<BufferRef>& outputs) {
  Status status;
  try {
    submit_plan(id, plan, prepared, input, outputs, status);
  } catch (...) {
    if (input.marks) abandon_run(id, *input.marks);
    throw;
  }
  if (input.marks && !id.is_gpu()) learn(id, input.marks->run, status);
}

namespace {
thread_local std::exception_ptr lost_write, told;  // not raised yet; the last that was

// The thread of the log is told.
void note_lost_write(Log& log, const std::exception_ptr& error) {
  if (!error) return;
  if (log.thread != thread_number())
    log.lost_write = error;
  else if (!lost_write && error != told)
    lost_write = error;
}
}  // namespace
void forget_lost_write(const std::exception_ptr& error) {
  lost_write = nullptr;
  told = error;
}
void raise_lost_write() {
  if (std::exception_ptr error = take_lost_write(); error && !lost_write) lost_write = error;
  if (lost_write) std::rethrow_exception(std::exchange(lost_write, nullptr));
}

namespace {
void run_all_of(Log& log, bool later) {
  restart_pieces(log);
  if (log.nodes.empty()) {
    log.whole_from = SIZE_MAX;
    log.goes_on = false;
    return;
  }
  note_disturbance();
  const Stage stage("flush", "stage", log.device);
  const Running running(log);
  try {
    run_log(log, false, later);
  } catch (const Interruption&) {  // what is held can run again
    if (!capture() && !is_exchange(log)) forget_unneeded(log);
    throw;
  } catch (const CheckError&) {
    give_up(log, std::current_exception());
    throw;
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (is_exchange(log)) report_to_others(log, error);
    if (capture() || is_exchange(log) || log.nodes.empty() || device_of(log.device).lost())
      give_up(log, error);
    else if (const Rescued rescued = rescue(log, error, run_in_one);
             note_lost_write(log, rescued.lost), !rescued.failed)
      return;
    throw;
  }
}

void run_or_rescue(Log& log, bool later) {
  const bool ends_batch = is_under_way(log.device);
  try {
    run_all_of(log, later);
  } catch (const Interruption&) {
    throw;
  } catch (const CheckError&) {
    throw;
  } catch (...) {
    if (!capture() && !ends_batch && log.nodes.empty()) return;
    forget_lost_write(std::current_exception());  // it is told here
    throw;
  }
}
}  // namespace
void flush_log(Log& log) { run_all_of(log, false); }
void run_or_rescue(Log& log) { run_or_rescue(log, false); }
void run_ahead(Log& log) { run_or_rescue(log, true); }

void give_up(Log& log, std::exception_ptr error) {
  fail_pending(log.nodes, log.assignments, error);
  finish(log);
}

void forget_plans(DeviceId device) { cache_of(device).clear(); }

void count_plans(int64_t& plans, int64_t& bytes) {
  plans = bytes = 0;
  for (const auto& [device, cache] : caches()) {
    plans += static_cast<int64_t>(cache.size());
    bytes += cache.bytes();
  }
}

PlanView plan_of_log(Log& log, bool compile) {
  Needed wanted;
  look(log, wanted);
  const bool fuse = fusing();
  const std::vector<int32_t> cuts = fuse ? loop_cuts(log) : std::vector<int32_t>();
  const WrittenOut out(log, wanted.held, again_of(log, wanted, fuse, cuts));
  Scheduled made = schedule(input_of(out, wanted, fuse, cuts));
  out.translate(made);
  PlanView view{std::make_shared<const Plan>(std::move(made.plan)), nullptr, {}};
  for (const NodeRef& node : log.nodes) view.lines.push_back(node->location);
  if (compile) view.prepared = device_of(log.device).prepare(view.plan);
  return view;
}

}  // namespace sg
