// What a thread has recorded on a device and is pending: nodes in program order, and the key that identifies their
// structure. A log reads no pending node of another: that one is run first.
// Appending computes the key as it goes: shapes, strides, types, who reads whom; not addresses, numbers or where readings
// of memory begin, which are collected beside it and travel to the kernels as arguments.
#pragma once
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "graph/grad.hpp"
#include "graph/lock.hpp"

namespace sg {

// A write in place. If the run fails, the storage goes back to its old value, and the written tensor to its old
// history.
struct Assignment {
  int32_t node;  // of the log, which writes
  Ref<Storage> storage;
  NodeRef before;
  Ref<TensorImpl> base;  // whose history it is, when it is part of gradients
  Ref<GradNode> old_history, history;
  void undo() const noexcept;
};

inline constexpr size_t kMaxLogNodes = 8192;

// A check, and who asked for it.
struct Reporter {
  const Node* node;  // while it is pending
  const OpInfo* op;
  SourceLocation location;
  uint32_t thread;      // by its number
  uint64_t operations;  // how many that thread had called
};
// The calling thread's number, from 1 on, and how many operations it has called.
uint32_t thread_number();
extern constinit thread_local uint64_t operations_recorded;

// What a log knows of programs that measure times (engine/stream.hpp).
struct Hints {
  // Places where they wait: behind the last operation on a parameter, which mostly ends a model, and before each
  // backward().
  size_t model_end = 0;
  std::vector<size_t> waits;
  std::vector<int32_t> gradients;  // nodes that backward() has given to leaves
};

// How many writes a log had.
struct Writes {
  uint64_t epoch = 0;
  size_t count = 0;
};

// Invariants: `nodes` are pending and in program order, so each comes after its inputs; of those that report, each has
// its reporter, and `assignments` are in the order of their nodes; `key` and `hash` describe them completely, apart
// from numbers and the offsets of leaves, which are in `numbers` and `offsets` in the order in which the plan takes
// them.
struct Log {
  DeviceId device;
  uint32_t thread = 0;            // whose log it is, by its number
  bool ended = false;             // that thread has ended; std::atomic_ref
  bool running = false;           // that thread runs it and may have paused its lock (graph/lock.hpp)
  std::exception_ptr lost_write;  // of a run by another thread: a write did not happen, which the owner is to be told
  uint64_t epoch = next_epoch();  // of no other log; changes at each flush
  std::vector<NodeRef> nodes;
  std::vector<NodeRef> leaves;   // ready nodes that are read, by first occurrence
  std::vector<int64_t> offsets;  // where readings of memory begin, in elements; equal ones are shared
  std::vector<int32_t> leaf_of;  // of each offset; -1: memory that the log makes
  std::vector<int32_t> starts;   // of each operand that is a tensor, in program order: its offset; -1: part of the key
  std::vector<Number> numbers;
  // Of each operand that is a number, in program order: which one; -1: part of the formula. Empty: one each.
  std::vector<int32_t> number_of;
  std::vector<std::pair<int32_t, ReplaySlot>> slots;  // of the numbers that have one
  std::vector<Assignment> assignments;
  std::vector<Reporter> reporters;
  std::vector<uint64_t> key;
  std::vector<size_t> begins;  // where the words of each node begin in the key
  // Of `key`, kept up to date word by word, so that a flush does not walk the key.
  uint64_t hash = 0;
  // Counts towards kMaxLogLeafBytes: a log that reads much keeps much alive.
  int64_t leaf_bytes = 0;
  int64_t cost = 0;  // of its nodes, estimated (graph/cost.hpp)
  // With a higher cost it is time to run some of it (engine/stream.hpp), 0: it never is. The first piece's since a value
  // was read, and the present one's.
  int64_t bound0 = 0, bound = 0;
  int pieces = 0;  // that were run since a value was read
  Hints hints;
  bool to_the_end = false;       // a run now is not to be interrupted
  size_t whole_from = SIZE_MAX;  // nodes from here on are run as a whole or not at all
  Writes whole_writes;           // those before
  size_t most = kMaxLogNodes;    // nodes: a log that has as many is run
  bool goes_on = false;          // the log before had its most nodes

  // Reserves memory: afterwards append_in_room(node), and one assignment and one reporter of the node, cannot throw.
  void make_room(const Node& node);
  void append_in_room(const NodeRef& node);
  void append(const NodeRef& node) {
    make_room(*node);
    append_in_room(node);
  }
  void clear();
  Writes writes() const { return {epoch, assignments.size()}; }
  bool is_due() const { return bound > 0 && cost >= bound; }
  // For each node, the leaf into whose memory it writes; negative if there is none.
  const std::vector<int32_t>& written_leaves() const { return written_leaf_; }
  // Gives storages that were written since their values of then; does nothing if the log was run meanwhile.
  void take_back(Writes since) noexcept;

 private:
  static uint64_t next_epoch();
  void add_word(uint64_t word) {
    key.push_back(word);
    hash = hash_add(hash, word);
  }
  void add_operand(Node& reader, int k);
  void add_leaf(Node& reader, int k, uint64_t word);
  void find_taken(const Node& reader);
  bool is_known(Node& leaf) const;
  bool is_part_of_written(const Node& reader, int k) const;
  int32_t add_start(int32_t leaf, int64_t offset);
  int32_t start_in_leaf(int32_t leaf, int64_t offset, int look_back);
  int32_t start_in_written(const Operand& operand);
  int32_t leaf_behind(const Operand& operand) const;
  struct Starts {
    int32_t count = 0, last = -1;
  };
  std::vector<Starts> starts_of_;       // each leaf
  std::vector<int32_t> before_start_;   // of each offset: the one before it in the same leaf
  std::vector<int32_t> written_leaf_;   // into which each node writes; -1: none, -2: memory that was made for it
  const Node* last_written_ = nullptr;  // that was read in part, at the last offset
  // The numbers of the first leaves, for those that another log has numbered since.
  std::unordered_map<const Node*, int32_t> table_;
  size_t room_ = 0;  // further nodes of few inputs for which there is memory
};

Log& log_of(DeviceId device);  // the calling thread's
// Under the engine lock. Of all threads; also of those that have ended, whose log the next new thread runs and takes over.
std::vector<Log*> logs_of(DeviceId device);
std::vector<Log*> readers_of(const NodeRef& value);  // that have it among their leaves, or may, since they run
Log* log_left(DeviceId device);        // that a thread which has ended left with something pending; nullptr: none
std::exception_ptr take_lost_write();  // of the calling thread's logs
// The cost of the first piece on a device, of logs that there are and will be (Log::bound0).
void set_first_bound(DeviceId device, int64_t bound);
// In the child of fork(): no other thread is there.
void end_other_threads();
// Whether a log of the calling thread may be due: looked at between two calls of the program (engine/stream.hpp).
extern constinit thread_local bool work_is_due;

// Whether a read begins where vectors may be loaded. A single element need not be aligned.
bool is_aligned(const Operand& operand);

inline constexpr int64_t kMaxLogLeafBytes = int64_t{4} << 30;

// Given by engine/. Under the engine lock.
// Runs the whole log of a device. `full`: it has its most nodes, and may be given room for more.
void flush(Log& log, bool full);
// Gradients are about to be recorded. Takes the engine lock.
void begin_backward(DeviceId device);
// Runs the whole log of another thread, which is told of its errors.
void run_for_other(Log& log);
// Raises what a device's kernels have reported of the calling thread's operations. Called after a run that could not
// wait.
void raise_reports(DeviceId device);
// The error of a value that could not be computed, is poisoned, or went with its device.
void raise_if_failed(const Node& node);
bool has_failed(const Node& node);  // raises nothing

}  // namespace sg
