// Which values a failed check belongs to, and which writes it keeps from being done. A check has one of a device's bits
// while its run is not known to have finished (Report in device.hpp); what reads its value has that bit in a mask.
// Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "graph/log.hpp"

namespace sg {

// Who reads whom in a log: what a replay, which has no log, needs to know of it.
struct Flow {
  enum class Kind : uint8_t {
    value,
    check,
    write,        // of a part: what is read afterwards is also the old value
    whole_write,  // of all elements
  };
  struct Of {
    Kind kind = Kind::value;
    bool made = false;        // memory that was made in the log and had no value before
    int32_t target = 0;       // of a write: what it overwrites
    int32_t transaction = 0;  // of a write, from 1 on; 0: none
    size_t end = 0;           // of what it reads
  };
  std::vector<Of> nodes;
  std::vector<int32_t> reads;   // node i: i; leaf i: -1 - i
  std::vector<int32_t> checks;  // node of each reporter; -1: not of this log
  int32_t transactions = 0;
};

// What may fail in a run, and what belongs to it. Masks by node of the log.
struct Marks {
  uint32_t run = 0;
  uint64_t own = 0;
  bool fresh = false;
  std::vector<uint64_t> words;  // see RunArguments::nodes
  std::vector<uint64_t> failed_by, lost_by;
  std::vector<uint64_t> transactions;  // what may keep each from being done
};

// raise_if_failed(), also of a value in whose history a write was not done and nobody was told.
void raise_if_lost(const Node& node);
bool is_told(const Node& node);    // its failure was raised in the thread that it belongs to
bool unchecked(const Node& node);  // a failure that nobody has looked for may belong to it, or to its memory
// `transactions`: those that its numbers stand for.
Flow flow_of(const Log& log, std::vector<Ref<Transaction>>& transactions);
// Gives a run its number and its checks their bits. `kernels`: it is the device's own, no exchange.
Marks begin_run(DeviceId device, const Flow& flow, std::span<const Reporter> reporters, std::span<const NodeRef> leaves,
                bool kernels = true);
// The run was not begun after all.
void abandon_run(DeviceId device, const Marks& marks);
// Of an output of the run.
void set_marks(Node& node, const Marks& marks, int32_t of);
void set_marks(std::span<const Ref<Transaction>> transactions, const Marks& marks);

uint32_t last_run();
// Takes what a device has reported.
void learn(DeviceId device);
void learn(DeviceId cpu, uint32_t run, const Status& status);  // of that run alone
// That run of the device and those before it have finished, and somebody has waited for them. A CPU's may still compute
// in other threads.
void retire(DeviceId device, uint32_t last_run);
// Raises a failure of the calling thread that kept a write from being done, or, if `all`, any that was not raised.
void raise_own(bool all);

// The calling thread's writes are done together, or, if one depends on what failed, not at all.
void begin_transaction();
Ref<Transaction> end_transaction();  // nullptr: none was begun
// What became of a transaction: whether it is known yet, and whether it was done.
enum class Fate : uint8_t { open, done, lost };
Fate fate_of(const Transaction& t);
// Raises why it was lost, if that was not raised before.
void raise_lost(const Transaction& t);

}  // namespace sg
