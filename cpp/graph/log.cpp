#include "graph/log.hpp"

#include <map>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/profile.hpp"
#include "graph/tensor.hpp"

namespace sg {

ContentionHooks contention_hooks;
void (*cut_hook)(Log&, bool) = nullptr;
void (*report_hook)(DeviceId) = nullptr;

namespace {

using EngineMutex = std::recursive_timed_mutex;
EngineMutex& engine_mutex() {
  static auto* mutex = new EngineMutex;
  return *mutex;
}

}  // namespace

// While the GIL is away, lines are those that ran when it was given up.
struct EngineLock::Away {
  Where line = where();
  WhereScope scope{line};
  void* token = contention_hooks.begin();
};

EngineLock::EngineLock() {
  if (engine_mutex().try_lock()) return;
  if (contention_hooks.begin) away_ = new Away;
  engine_mutex().lock();
}

EngineLock::~EngineLock() {
  engine_mutex().unlock();
  if (away_) come_back();
}

void EngineLock::come_back() {
  if (away_->token) contention_hooks.end(away_->token);
  delete away_;
}

void lock_at_exit(std::chrono::milliseconds patience) noexcept {
  static_cast<void>(engine_mutex().try_lock_for(patience));
}

void lock_for_fork() { engine_mutex().lock(); }
void unlock_after_fork(bool in_child) {
  if (in_child) profile::on = false;
  // The child's thread has another number, so it cannot unlock a recursive mutex of its parent's.
  if (in_child)
    new (&engine_mutex()) EngineMutex;
  else
    engine_mutex().unlock();
}

namespace {
struct Runs {
  uint32_t last = 0;
  std::map<int, uint32_t> settled;                  // by device: the CPU is -1
  std::map<uint32_t, std::vector<uint32_t>> after;  // of runs that read doubtful results: the runs that made those
  std::map<uint32_t, std::exception_ptr> spoiled;
};
Runs& runs() {
  static auto* all = new Runs;
  return *all;
}
int number_of(DeviceId device) { return device.is_gpu() ? device.index : -1; }
}  // namespace

void spoil(uint32_t run, std::exception_ptr error) {
  Runs& r = runs();
  r.spoiled[run] = error;
  for (auto it = r.after.upper_bound(run); it != r.after.end(); ++it)
    for (uint32_t before : it->second)
      if (r.spoiled.count(before)) r.spoiled[it->first] = error;
}
void raise_if_spoiled(const Node& node) {
  if (!node.run) return;
  const auto& spoiled = runs().spoiled;
  if (const auto it = spoiled.find(node.run); it != spoiled.end()) std::rethrow_exception(it->second);
}
void raise_if_failed(const Node& node) {
  if (node.state == Node::State::failed) std::rethrow_exception(node.error);
  if (node.buffer && node.buffer->gone)
    fail<DeviceLostError>("tensor", "its values were on " + node.device.str() + " when it was lost, and are gone",
                          "load or compute them again");
  raise_if_spoiled(node);
}
uint32_t begin_run(std::vector<uint32_t> after) {
  Runs& r = runs();
  ++r.last;
  for (uint32_t before : after)
    if (const auto it = r.spoiled.find(before); it != r.spoiled.end()) r.spoiled[r.last] = it->second;
  if (!after.empty()) r.after[r.last] = std::move(after);
  return r.last;
}
uint32_t last_run() { return runs().last; }
bool doubtful(const Node& node) {
  if (!node.run) return false;
  const Runs& r = runs();
  const auto it = r.settled.find(number_of(node.device));
  return it == r.settled.end() || node.run > it->second || r.spoiled.count(node.run);
}
void settle(DeviceId device, uint32_t last_run) {
  Runs& r = runs();
  uint32_t& settled = r.settled[number_of(device)];
  settled = std::max(settled, last_run);
  uint32_t least = settled;
  for (const auto& [id, run] : r.settled) least = std::min(least, run);
  r.after.erase(r.after.begin(), r.after.upper_bound(least));
}

Log& log_of(DeviceId device) {
  static Log* cpu = new Log;
  if (!device.is_gpu()) return *cpu;
  static auto* gpus = new std::map<int, Log>;
  Log& log = (*gpus)[device.index];
  log.device = device;
  return log;
}

void Log::add_word(uint64_t word) {
  key.push_back(word);
  hash = hash_add(hash, word);
}

void Log::add_operand(const Operand& operand, const NodeRef& reader) {
  uint64_t word = static_cast<uint64_t>(operand.kind) | uint64_t(operand.dtype) << 4;
  if (operand.kind == Operand::Kind::number) {
    add_word(word);
    if (operand.source) sources.emplace_back(static_cast<int32_t>(numbers.size()), operand.source);
    numbers.push_back(operand.number);
    return;
  }
  if (operand.kind == Operand::Kind::node && operand.node->pending()) {
    add_word(word | 1u << 8 | uint64_t(reader->log_index - operand.node->log_index) << 32);
    add_word(static_cast<uint64_t>(operand.offset));
  } else if (operand.kind == Operand::Kind::node) {
    Node& leaf = *operand.node;
    const bool first = leaf.epoch != epoch;
    if (first) {
      leaf.epoch = epoch;
      leaf.log_index = static_cast<int32_t>(leaves.size());
      leaves.push_back(operand.node);
      last_view_.push_back(-1);
      leaf_bytes += static_cast<int64_t>(leaf.bytes());
    }
    const bool aligned = operand.offset * size_of(leaf.dtype) % 16 == 0;
    add_word(word | uint64_t(aligned) << 9 | uint64_t(leaf.log_index) << 32);
    if (first) add_word(static_cast<uint64_t>(leaf.numel));
    readings.push_back(view_of(leaf.log_index, operand.offset));
    add_word(static_cast<uint64_t>(readings.back()));
  } else {
    add_word(word);
    add_word(static_cast<uint64_t>(operand.offset));
  }
  for (int64_t stride : operand.strides) add_word(static_cast<uint64_t>(stride));
}

// That two readings start at the same place is part of the structure; where that is, is not.
int32_t Log::view_of(int32_t leaf, int64_t offset) {
  constexpr int kLookBack = 8;
  int32_t view = last_view_[leaf];
  for (int i = 0; i < kLookBack && view >= 0; ++i, view = before_view_[view])
    if (offsets[view] == offset) return view;
  view = static_cast<int32_t>(offsets.size());
  offsets.push_back(offset);
  leaf_of.push_back(leaf);
  before_view_.push_back(last_view_[leaf]);
  last_view_[leaf] = view;
  return view;
}

void Log::append(const NodeRef& node) {
  node->epoch = epoch;
  node->log_index = static_cast<int32_t>(nodes.size());
  nodes.push_back(node);
  begins.push_back(key.size());
  add_word(reinterpret_cast<uint64_t>(node->op));
  add_word(uint64_t(node->dtype) | uint64_t(node->compute) << 4 | uint64_t(node->inputs) << 8 |
           uint64_t(node->reduced) << 16 | uint64_t(node->domain.rank) << 32);
  for (int64_t size : node->domain) add_word(static_cast<uint64_t>(size));
  if (node->op->kind == Kind::kernel || node->op->kind == Kind::contraction)
    for (int64_t word : node->extra) add_word(static_cast<uint64_t>(word));
  for (int i = 0; i < node->inputs; ++i) add_operand(node->in[i], node);
}

void Log::clear() {
  ++epoch;
  nodes.clear();
  leaves.clear();
  offsets.clear();
  leaf_of.clear();
  readings.clear();
  last_view_.clear();
  before_view_.clear();
  numbers.clear();
  sources.clear();
  assignments.clear();
  reporters.clear();
  key.clear();
  begins.clear();
  hash = 0;
  leaf_bytes = 0;
  whole_from = SIZE_MAX;
  most = kMaxLogNodes;
}

}  // namespace sg
