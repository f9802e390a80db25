// Decides when part of a log runs; schedule/cuts.cpp says which, engine/parts.cpp does it.
#include "engine/stream.hpp"

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/exchange.hpp"
#include "engine/flush.hpp"
#include "engine/parts.hpp"
#include "engine/replay/capture.hpp"
#include "engine/run_status.hpp"
#include "graph/cost.hpp"
#include "schedule/cuts.hpp"
#include "schedule/loops.hpp"
#include "schedule/schedule.hpp"

namespace sg {
namespace {

// Of the first piece, in the nanoseconds of graph/cost.hpp: about a millisecond of a GPU, and 64 of a CPU, where nothing
// computes while the program records, so that a cut only bounds what is pending.
constexpr int64_t kDiscrete = 1 << 20, kIntegrated = 1 << 16, kHost = 1 << 19;
constexpr int kDoublings = 3;  // of a GPU's pieces
constexpr int64_t kStep = 3;   // times what a forward pass costs, with its backward pass

// SPIROGRAD_CUT=n also cuts at random places, at every nth call on average, so that tests can compare bits.
int64_t random_cuts() {
  static const int64_t apart = env_whole("SPIROGRAD_CUT", 0, 1 << 20);
  return apart;
}
// 0: none now.
size_t random_cut_of(const Log& log) {
  static std::minstd_rand random{1};
  if (random_cuts() == 0 || random() % static_cast<uint64_t>(random_cuts())) return 0;
  size_t cut = 1 + random() % log.nodes.size();
  while (cut > 0 && !may_cut(log, cut)) --cut;
  return cut;
}

// What runs as a whole, is watched, or waits for other processes, is not divided.
bool may_be_divided(const Log& log) {
  return log.whole_from == SIZE_MAX && !watcher && !is_under_way(log.device) && !log.nodes.empty();
}

int64_t bound_of(const Log& log) {
  return log.device.is_gpu() ? log.bound0 << std::min(log.pieces, kDoublings) : log.bound0;
}

// Of leaves, wherever the program stands when they run: it may have dropped them by then, or not.
std::vector<Held> gradients_of(const Log& log) {
  std::vector<Held> held;
  for (int32_t node : log.hints.gradients) held.emplace_back(log.nodes[static_cast<size_t>(node)]);
  return held;
}

// `between`: where two parts of it meet; 0: it is one.
void run_until(Log& log, size_t cut, size_t between, RunLog run) {
  const std::vector<Held> gradients = gradients_of(log);
  const bool is_loop = !loop_cuts(log).empty();
  const CutOff cut_off_at = cut_off(log, cut, !is_loop && !env_off("SPIROGRAD_FUSE"), between);
  const int32_t parts = between > 0 && between < cut ? 2 : 1;
  const auto has = [](const std::vector<bool>& nodes) { return std::ranges::find(nodes, true) != nodes.end(); };
  if (parts == 1 && cut == log.nodes.size() && !has(cut_off_at.again) && !has(cut_off_at.kept)) return run(log);
  Division division{parts, {}, cut_off_at.again, cut_off_at.kept};
  for (size_t i = 0; i < log.nodes.size(); ++i)
    division.part.push_back(i >= cut              ? parts
                            : cut_off_at.runs[i]  ? parts == 2 && i >= between
                            : cut_off_at.again[i] ? parts
                                                  : Division::kDropped);
  run_parts(log, division, run);
}

void run_begin(Log& log, size_t cut) {
  const int pieces = log.pieces;  // a run begins to count anew
  run_until(log, cut, 0, run_ahead);
  log.pieces = pieces + 1;
  log.bound = bound_of(log);
}

// Whether a training step is more than one piece: it has been cut, or is about to be. Loops have pieces of their own.
bool is_large(const Log& log) {
  return log.bound0 > 0 && (log.pieces > 0 || (kStep * log.cost >= log.bound0 && loop_cuts(log).empty()));
}

// Runs a GPU's log as it is cut where programs wait that measure times: the kernels are the same whether they do or not.
void run_to_the_wait(Log& log, RunLog run) {
  const size_t end = log.hints.model_end;
  run_until(log, log.nodes.size(), is_large(log) && end > 0 && may_cut(log, end) ? end : 0, run);
  restart_pieces(log);
}

void wait(Log& log) {
  Device& device = device_of(log.device);
  const uint32_t runs = last_run();
  {
    const Running running(log);
    const EnginePaused paused(log);
    device.wait();
  }
  learn(log.device);
  retire(log.device, runs);
}

// The same for a log that has gone beyond backward(). `waits`: it waits there, too.
void run_to_waits(Log& log, RunLog run, bool waits) {
  std::vector<size_t>& places = log.hints.waits;
  while (!places.empty()) {
    const size_t cut = places.front();
    places.erase(places.begin());
    if (cut == 0 || !may_cut(log, cut)) continue;
    run_until(log, cut, 0, run);
    if (waits) wait(log);
  }
  restart_pieces(log);
}

// Before somebody asks for it.
void run_early(Log& log, auto run) {
  note_disturbance();
  const Stage stage("flush", "stage", log.device);
  try {
    run();
  } catch (const Interruption&) {
    forget_unneeded(log);
    throw;
  }
}

void run_piece(Log& log) {
  const EngineLock lock(EngineLock::kPausable);
  if (!may_be_divided(log)) return;
  if (log.is_due() && !log.hints.waits.empty() && loop_cuts(log).empty())  // the step was thought to be smaller
    return run_early(log, [&] { run_to_waits(log, run_ahead, false); });
  const size_t cut = log.is_due() ? cut_of(log, log.bound) : random_cut_of(log);
  if (cut > 0) run_early(log, [&] { run_begin(log, cut); });
}

// A value, what it is made of, and what reads the memory that this writes over.
class Cone {
 public:
  explicit Cone(const Log& log) : log_(log), in_(log.nodes.size(), false) {}

  void add(const Node& node) {
    open_.push_back(static_cast<size_t>(node.log_index));
    while (!open_.empty()) {
      const size_t i = open_.back();
      open_.pop_back();
      if (in_[i]) continue;
      in_[i] = true;
      const Node& value = *log_.nodes[i];
      for (int k = 0; k < value.inputs; ++k)
        if (const Node* from = value.in[k].node.get(); from && from->pending())
          open_.push_back(static_cast<size_t>(from->log_index));
      if (value.op->kind == Kind::effect) add_readers(value.in[1].node.get());
    }
  }
  bool has(size_t i) const { return in_[i]; }
  int64_t cost_of_rest() const {
    int64_t cost = 0;
    for (size_t i = 0; i < in_.size(); ++i)
      if (!in_[i]) cost += cost_of(*log_.nodes[i]);
    return cost;
  }
  bool may_run() const {
    for (size_t i = 1; i < in_.size(); ++i)
      if (in_[i] != in_[i - 1] && !may_cut(log_, i)) return false;
    return true;
  }

 private:
  void add_readers(const Node* memory) {
    for (size_t i = 0; i < log_.nodes.size(); ++i) {
      const Node& node = *log_.nodes[i];
      for (int k = 0; k < node.inputs && !in_[i]; ++k)
        if (node.in[k].node.get() == memory) open_.push_back(i);
    }
  }

  const Log& log_;
  std::vector<bool> in_;
  std::vector<size_t> open_;
};

}  // namespace

void begin_streaming(DeviceId id) {
  if (log_of(id).bound0) return;
  const std::string type = id.is_gpu() ? device_of(id).info().type : "cpu";
  set_first_bound(id, type == "discrete" || type == "virtual" ? kDiscrete : type == "integrated" ? kIntegrated : kHost);
}

void stream() {
  work_is_due = false;
  if (watcher) return;
  for (DeviceId id : opened_devices()) {
    Log& log = log_of(id);
    if (!log.is_due() && random_cuts() == 0) continue;
    const HostPaused paused;
    wait_for_room(id);
    run_piece(log);
  }
  work_is_due = random_cuts() > 0;
}

void restart_pieces(Log& log) {
  log.pieces = 0;
  log.bound = bound_of(log);
}

void run_for_other(Log& log) {
  struct Unwatched {  // it is no part of what this thread records
    Watcher* const before = std::exchange(watcher, nullptr);
    ~Unwatched() { watcher = before; }
  } const unwatched;
  const HostPaused paused;
  wait_while_running(log);
  run_or_rescue(log);
}

void run_for(const NodeRef& node) {
  Log& log = *node->log;
  if (log.thread != thread_number()) return run_for_other(log);
  if (!may_be_divided(log) || log.cost < log.bound0 || log.bound0 == 0) return run_or_rescue(log);
  Cone cone(log);
  cone.add(*node);
  if (cone.cost_of_rest() < log.bound0 || !cone.may_run()) return run_or_rescue(log);
  note_disturbance();
  const Stage stage("flush", "stage", log.device);
  Division division{1, {}};
  for (size_t i = 0; i < log.nodes.size(); ++i) division.part.push_back(cone.has(i) ? 0 : 1);
  run_parts(log, division, run_or_rescue);
  restart_pieces(log);
}

// A small step is one plan. One whose gradients nobody wants is to have everything ready for the steps that follow, so its
// first run is divided as they may be.
void run_all(Log& log) {
  if (!may_be_divided(log)) return flush_log(log);
  const bool drops_gradients =
      std::ranges::any_of(log.hints.gradients, [&](int32_t i) { return log.nodes[static_cast<size_t>(i)]->held == 0; });
  std::vector<Held> dropped = gradients_of(log);
  std::vector<bool> read(log.nodes.size(), false);
  for (size_t i = log.nodes.size(); i-- > 0;) {
    const Node& node = *log.nodes[i];
    if (!read[i] && !node.late && !is_known_check(node)) dropped.emplace_back(log.nodes[i]);
    for (int k = 0; k < node.inputs; ++k)
      if (const Node* from = node.in[k].node.get(); from && from->pending())
        read[static_cast<size_t>(from->log_index)] = true;
  }
  if (!log.device.is_gpu()) return flush_log(log);
  note_disturbance();
  if (drops_gradients && prepare_log(log)) {
    log.hints.waits.push_back(log.nodes.size());
    return run_to_waits(log, flush_log, true);
  }
  run_to_the_wait(log, flush_log);
}

void begin_backward(DeviceId device) {
  if (watcher || !device.is_gpu()) return;
  const HostPaused paused;
  wait_for_room(device);
  const EngineLock lock(EngineLock::kPausable);
  Log& log = log_of(device);
  const auto is_new = [](const NodeRef& node) { return !node->late; };
  if (!may_be_divided(log) || std::ranges::none_of(log.nodes, is_new)) return;
  if (!is_large(log)) {
    log.hints.waits.insert(log.hints.waits.end(), {log.hints.model_end, log.nodes.size()});
    return;
  }
  run_early(log, [&] { run_to_the_wait(log, run_or_rescue); });
}

void forget_unneeded(Log& log) {
  std::vector<bool> held;
  for (const NodeRef& node : log.nodes) held.push_back(node->held.load(std::memory_order_relaxed) > 0);
  const std::vector<bool> wanted = needed(log, held);
  Division division;
  for (size_t i = 0; i < wanted.size(); ++i)
    division.part.push_back(wanted[i] || i >= log.whole_from ? 0 : Division::kDropped);
  run_parts(log, division, nullptr);
}

}  // namespace sg
