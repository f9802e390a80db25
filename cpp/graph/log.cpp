// Owns the key of a log while it grows. Two logs with equal keys must run with the same plan: whatever changes a kernel
// goes into the key, whatever is an argument must stay out.
#include "graph/log.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "graph/cost.hpp"
#include "graph/grain.hpp"
#include "graph/watcher.hpp"

namespace sg {

namespace {

constexpr int32_t kNone = -1, kMade = -2;

bool is_target(const Node& node, int k) {
  return node.op->kind == Kind::effect && k == 1 && (node.inputs == 2 || node.op->update);
}

}  // namespace

constinit thread_local bool work_is_due = false;

uint64_t Log::next_epoch() {
  static uint64_t last = 0;  // engine lock
  return ++last;
}

constinit thread_local uint64_t operations_recorded = 0;

uint32_t thread_number() {
  static constinit std::atomic<uint32_t> last{0};
  static constinit thread_local uint32_t number = 0;
  return number ? number : number = ++last;
}

namespace {

struct Logs {
  std::vector<std::unique_ptr<Log>> all;
  std::map<int, int64_t> first_bounds;  // by device
};
Logs& logs() {  // under the engine lock
  static auto* all = new Logs;
  return *all;
}
int number_of(DeviceId device) { return device.is_gpu() ? device.index + 1 : 0; }

bool has_ended(Log& log) { return std::atomic_ref(log.ended).load(std::memory_order_acquire); }

// Logs outlive their thread: others may need what is pending in them.
constinit thread_local Log* recent = nullptr;  // that of the last operation, which is mostly that of the next
struct LogsOfThread {
  std::vector<Log*> by_device;
  ~LogsOfThread() {
    recent = nullptr;
    for (Log* log : by_device)
      if (log) std::atomic_ref(log->ended).store(true, std::memory_order_release);
  }
};
thread_local LogsOfThread own;

Log& free_log(DeviceId device) {
  for (const auto& log : logs().all) {
    if (!(log->device == device) || !has_ended(*log)) continue;
    if (!log->nodes.empty()) run_for_other(*log);
    if (log->nodes.empty()) return *log;
  }
  auto log = std::make_unique<Log>();
  log->device = device;
  logs().all.push_back(std::move(log));
  return *logs().all.back();
}

Log& new_log(DeviceId device) {
  const EngineLock lock;
  const auto at = static_cast<size_t>(number_of(device));
  own.by_device.resize(std::max(own.by_device.size(), at + 1));
  Log& log = free_log(device);
  log.thread = thread_number();
  log.lost_write = nullptr;
  log.bound0 = log.bound = logs().first_bounds[number_of(device)];
  log.pieces = 0;
  std::atomic_ref(log.ended).store(false, std::memory_order_release);
  work_is_due = true;  // so that stream() looks at the new log, as SPIROGRAD_CUT needs
  return *(own.by_device[at] = &log);
}

}  // namespace

Log& log_of(DeviceId device) {
  if (recent && recent->device == device) return *recent;
  const auto at = static_cast<size_t>(number_of(device));
  recent = at < own.by_device.size() && own.by_device[at] ? own.by_device[at] : &new_log(device);
  return *recent;
}

std::vector<Log*> logs_of(DeviceId device) {
  std::vector<Log*> found;
  for (const auto& log : logs().all)
    if (log->device == device) found.push_back(log.get());
  return found;
}

std::vector<Log*> readers_of(const NodeRef& value) {
  std::vector<Log*> found;
  if (value->logs == 0) return found;
  for (Log* log : logs_of(value->device))
    if (log->running || std::ranges::find(log->leaves, value) != log->leaves.end()) found.push_back(log);
  return found;
}

Log* log_left(DeviceId device) {
  for (const auto& log : logs().all)
    if (log->device == device && has_ended(*log) && !log->nodes.empty()) return log.get();
  return nullptr;
}

std::exception_ptr take_lost_write() {
  for (Log* log : own.by_device)
    if (log && log->lost_write) return std::exchange(log->lost_write, nullptr);
  return nullptr;
}

void set_first_bound(DeviceId device, int64_t bound) {
  logs().first_bounds[number_of(device)] = bound;
  for (Log* log : logs_of(device)) log->bound0 = log->bound = bound;
}

void end_other_threads() {
  for (const auto& log : logs().all)
    if (std::ranges::find(own.by_device, log.get()) == own.by_device.end())
      std::atomic_ref(log->ended).store(true, std::memory_order_release);
}

bool is_aligned(const Operand& operand) {
  return operand.strides.rank > 0 && operand.offset * static_cast<int64_t>(size_of(operand.dtype)) % 16 == 0;
}

// One word for the kind, type and what is read: another node by its distance (so that a repeated loop has a repeated
// key), a leaf by its number. Then the offset or its place in `offsets`, and the strides.
void Log::add_operand(Node& reader, int k) {
  Operand& operand = reader.in[k];
  uint64_t word = static_cast<uint64_t>(operand.kind) | uint64_t(operand.dtype) << 4;
  if (operand.kind == Operand::Kind::number) {
    add_word(word);
    if (operand.slot) slots.emplace_back(static_cast<int32_t>(numbers.size()), operand.slot);
    numbers.push_back(operand.number);
    return;
  }
  if (operand.kind == Operand::Kind::node && operand.node->pending()) {
    const bool part = is_part_of_written(reader, k);
    add_word(word | 1u << 8 | uint64_t(part) << 10 | uint64_t(reader.log_index - operand.node->log_index) << 32);
    starts.push_back(part ? start_in_written(operand) : -1);
    add_word(static_cast<uint64_t>(part ? starts.back() : operand.offset));
  } else if (operand.kind == Operand::Kind::node) {
    add_leaf(reader, k, word);
  } else {
    add_word(word);
    add_word(static_cast<uint64_t>(operand.offset));
  }
  for (int64_t stride : operand.strides) add_word(static_cast<uint64_t>(stride));
}

// Where a read begins is an argument, but that two reads begin at the same place is part of the structure. Elements
// read at random coincide by chance, so beyond a few reads only a write to the place that was just read counts.
void Log::add_leaf(Node& reader, int k, uint64_t word) {
  constexpr int kLookBack = 8, kFewElements = 4;
  Operand& operand = reader.in[k];
  Node& leaf = *operand.node;
  const bool first = !is_known(leaf);
  if (first) {
    leaf.epoch = epoch;
    leaf.log_index = static_cast<int32_t>(leaves.size());
    ++leaf.logs;
    leaves.push_back(operand.node);
    starts_of_.emplace_back();
    leaf_bytes += static_cast<int64_t>(leaf.bytes());
  }
  operand.leaf = leaf.log_index;
  add_word(word | uint64_t(is_aligned(operand)) << 9 | uint64_t(leaf.log_index) << 32);
  if (first) add_word(static_cast<uint64_t>(leaf.numel));
  const bool many = operand.strides.rank == 0 && !reader.op->update &&
                    starts_of_[static_cast<size_t>(leaf.log_index)].count > kFewElements;
  const bool is_update = is_target(reader, k) && reader.in[0].kind == Operand::Kind::node;
  starts.push_back(start_in_leaf(leaf.log_index, operand.offset, many ? is_update : kLookBack));
  add_word(static_cast<uint64_t>(starts.back()));
}

// Whether the log has this leaf, whose number is then its own again.
bool Log::is_known(Node& leaf) const {
  if (leaf.epoch == epoch) return true;
  if (leaf.logs == 0) return false;
  const auto found = table_.find(&leaf);
  if (found == table_.end()) return false;
  leaf.epoch = epoch;
  leaf.log_index = found->second;
  return true;
}

// Leaves whose number another log has overwritten are found by a table. It is filled before the node is appended, because
// that must not ask for memory.
void Log::find_taken(const Node& reader) {
  for (int k = 0; k < reader.inputs; ++k) {
    const Node* from = reader.in[k].node.get();
    if (!from || from->pending() || from->logs == 0 || from->epoch == epoch) continue;
    for (size_t i = table_.size(); i < leaves.size(); ++i) table_.emplace(leaves[i].get(), static_cast<int32_t>(i));
  }
}

// Whether a reading begins at an offset inside memory that this log has written, so that the offset is an argument: one
// element, as in loops that write an element a round. In a recording every part counts, because an argument of the
// function may be part of another tensor next time. Parts that cat() puts together begin where its own sizes say.
bool Log::is_part_of_written(const Node& reader, int k) const {
  const Operand& operand = reader.in[k];
  const Node& memory = *operand.node;
  if (k == 0 && reader.op->follows) return false;  // it says which part of an update it is
  if (memory.op->kind != Kind::effect || written_leaf_[static_cast<size_t>(memory.log_index)] == kMade) return false;
  if (watcher && reader.op->kind == Kind::kernel) return true;
  if (!watcher && (operand.strides.rank > 0 || !(reader.reads_value(k) || is_target(reader, k)))) return false;
  int64_t elements = 1;
  for (int d = 0; d < operand.strides.rank; ++d)
    if (operand.strides[d] != 0) elements *= reader.domain[d];
  return elements < memory.numel;
}

int32_t Log::start_in_written(const Operand& operand) {
  if (last_written_ != operand.node.get() || offsets.back() != operand.offset)
    add_start(written_leaf_[static_cast<size_t>(operand.node->log_index)], operand.offset);
  last_written_ = operand.node.get();
  return static_cast<int32_t>(offsets.size()) - 1;
}

int32_t Log::start_in_leaf(int32_t leaf, int64_t offset, int look_back) {
  Starts& known = starts_of_[static_cast<size_t>(leaf)];
  int32_t start = known.last;
  for (int i = 0; i < look_back && start >= 0; ++i, start = before_start_[static_cast<size_t>(start)])
    if (offsets[static_cast<size_t>(start)] == offset) return start;
  ++known.count;
  start = add_start(leaf, offset);
  before_start_[static_cast<size_t>(start)] = std::exchange(known.last, start);
  return start;
}

int32_t Log::add_start(int32_t leaf, int64_t offset) {
  offsets.push_back(offset);
  leaf_of.push_back(std::max(leaf, kNone));
  before_start_.push_back(-1);
  last_written_ = nullptr;
  return static_cast<int32_t>(offsets.size()) - 1;
}

namespace {
template <class T>
void make_room_in(std::vector<T>& list, size_t more) {
  if (list.capacity() - list.size() < more) list.reserve(std::max(2 * list.capacity(), list.size() + more));
}
}  // namespace

// The bounds are those of append_in_room: words of a node, of each input, and one entry of every other list an input.
void Log::make_room(const Node& node) {
  find_taken(node);
  constexpr size_t kNodes = 64;  // of few inputs: room is made for as many at once
  constexpr size_t kWordsOfNode = 2 + std::size(Parameters().words) + kMaxRank, kWordsOfInput = 3 + kMaxRank;
  make_room_in(assignments, 1);
  make_room_in(reporters, 1);
  const bool few = node.inputs <= kFewInputs;
  if (few && room_ > 0) {
    --room_;
    return;
  }
  const size_t inputs = kNodes * kFewInputs + node.inputs;
  make_room_in(key, (kNodes + 1) * kWordsOfNode + inputs * kWordsOfInput);
  make_room_in(nodes, kNodes + 1);
  make_room_in(begins, kNodes + 1);
  make_room_in(written_leaf_, kNodes + 1);
  for (auto* list : {&leaf_of, &starts, &before_start_}) make_room_in(*list, inputs);
  make_room_in(starts_of_, inputs);
  make_room_in(leaves, inputs);
  make_room_in(offsets, inputs);
  make_room_in(numbers, inputs);
  make_room_in(slots, inputs);
  room_ = kNodes;
}

void Log::append_in_room(const NodeRef& node) {
  node->epoch = epoch;
  node->log = this;
  node->log_index = static_cast<int32_t>(nodes.size());
  nodes.push_back(node);
  begins.push_back(key.size());
  add_word(reinterpret_cast<uint64_t>(node->op));
  add_word(uint64_t(node->dtype) | uint64_t(node->compute) << 4 | uint64_t(node->inputs) << 8 |
           uint64_t(bool(node->together)) << 15 | uint64_t(node->reduced) << 16 | uint64_t(node->domain.rank) << 32 |
           static_cast<uint64_t>(grain_of(*node).across) << 40);
  for (int64_t size : node->domain) add_word(static_cast<uint64_t>(size));
  if (node->op->kind == Kind::kernel || node->op->kind == Kind::contraction)
    for (int64_t word : node->parameters.words) add_word(static_cast<uint64_t>(word));
  for (int i = 0; i < node->inputs; ++i) add_operand(*node, i);
  written_leaf_.push_back(node->op->kind == Kind::effect && node->inputs > 1 ? leaf_behind(node->in[1]) : kNone);
  cost += cost_of(*node);
  if (is_due()) work_is_due = true;
}

// The leaf that owns the memory, as far as this log knows.
int32_t Log::leaf_behind(const Operand& operand) const {
  const Node& memory = *operand.node;
  if (!memory.pending()) return operand.leaf;
  if (memory.op->kind == Kind::memory) return kMade;
  return written_leaf_[static_cast<size_t>(memory.log_index)];
}

void Log::take_back(Writes since) noexcept {
  if (since.epoch != epoch) return;
  for (; assignments.size() > since.count; assignments.pop_back()) assignments.back().undo();
}

void Assignment::undo() const noexcept {
  storage->node = Held(before);
  if (base && base->grad_fn == history) Tensor(base).set_history(old_history);
}

void Log::clear() {
  epoch = next_epoch();
  nodes.clear();
  for (const NodeRef& leaf : leaves) --leaf->logs;
  leaves.clear();
  table_.clear();
  offsets.clear();
  leaf_of.clear();
  starts.clear();
  starts_of_.clear();
  before_start_.clear();
  written_leaf_.clear();
  last_written_ = nullptr;
  numbers.clear();
  slots.clear();
  assignments.clear();
  reporters.clear();
  key.clear();
  begins.clear();
  hash = 0;
  leaf_bytes = 0;
  cost = 0;
  hints = {};
  whole_from = SIZE_MAX;
  most = kMaxLogNodes;
  goes_on = false;
  room_ = 0;
}

}  // namespace sg
