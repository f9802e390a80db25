// A node: one value that is to be computed (pending), is there (ready), or could not be computed (failed).
// Its value is always contiguous; views are strides of its readers. Immutable but for its state.
// Made by graph/build.hpp only, which appends it to its device's log. Threads: under the engine lock.
#pragma once
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include "base/buffer.hpp"
#include "base/dtype.hpp"
#include "base/ref.hpp"
#include "base/shape.hpp"
#include "base/source_location.hpp"
#include "graph/lineage.hpp"
#include "graph/op.hpp"
#include "kernel/gemm.hpp"
#include "kernel/precision.hpp"

namespace sg {

inline constexpr int kFewInputs = 3;   // of any op but kernels
inline constexpr int kMaxInputs = 16;  // of a kernel

// What a number of a recorded step stands for when the step is replayed: the value of a slot (graph/watcher.hpp), then
// 1 - x of it, `complements` times.
struct ReplaySlot {
  uint32_t number : 30 = 0;  // from 1 on; 0: none, the number is a constant
  uint32_t complements : 2 = 0;
  explicit operator bool() const { return number != 0; }
  bool operator==(const ReplaySlot&) const = default;
  ReplaySlot next() const { return number ? ReplaySlot{number + 1u, 0} : ReplaySlot(); }
  ReplaySlot complement() const { return number ? ReplaySlot{number, complements + 1u} : ReplaySlot(); }
};

// Writes of a thread that are done together or not at all: a step of an optimiser.
struct Transaction : RefCounted<Transaction> {
  bool waiting = true;   // until a log with it has run
  uint32_t run = 0;      // that did it, if a failure may have kept it from being done
  uint64_t lost_by = 0;  // those failures
  static void destroy(Transaction* t) { delete t; }
};
extern constinit thread_local Transaction* transaction;  // under way, of the calling thread; nullptr: none

// How a node reads an input over its domain.
struct Operand {
  enum class Kind : uint8_t {
    none,
    node,    // element offset + sum(coordinate * stride) of another node's value
    number,  // a number that may differ from run to run
    index,   // the int64 value offset + sum(coordinate * stride): a position, no memory
  };
  Ref<Node> node;
  Kind kind = Kind::none;
  DType dtype = DType::float32;
  ReplaySlot slot;    // of a number
  int32_t leaf = -1;  // of a node that was ready when its reader was recorded: its number among the log's leaves
  int64_t offset = 0;
  Number number{};
  Dims strides;  // one a domain dimension
};

// Parameters of a custom kernel or a contraction: a struct of the op's own, without padding, as words of the plan's
// key. Those of formulas and folds are their grain (grain.hpp).
struct Parameters {
  int64_t words[4] = {};

  Parameters() = default;
  template <class T>
  Parameters(const T& value) {
    static_assert(std::has_unique_object_representations_v<T> && sizeof(T) <= sizeof words);
    std::memcpy(words, &value, sizeof value);
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(&value, words, sizeof value);
    return value;
  }
};

// A window in three words; no size is more than 65,535.
struct PackedWindow {
  uint16_t top = 0, left = 0, height = 0, width = 0;
  int64_t row = 0;
  uint16_t rows = 0, pitch = 0;
  uint32_t unused = 0;

  PackedWindow() = default;
  explicit PackedWindow(const Window& w)
      : top(static_cast<uint16_t>(w.top)),
        left(static_cast<uint16_t>(w.left)),
        height(static_cast<uint16_t>(w.height)),
        width(static_cast<uint16_t>(w.width)),
        row(w.row),
        rows(static_cast<uint16_t>(w.rows)),
        pitch(static_cast<uint16_t>(w.pitch)) {}
  Window unpacked() const { return {top, left, height, width, row, rows, pitch}; }
};
struct ContractionParameters {
  int32_t folded = 0;  // whether there is such a dimension, see build.hpp
  Precision precision = Precision::highest;
  PackedWindow window;
};

struct Storage;
struct Log;

// States: pending -> ready or failed, once. Pending: `in` holds the inputs, `buffer` is empty. Ready: `buffer` holds
// `numel` elements. After its run a node drops its inputs, so a chain of values does not keep what made it alive.
struct Node : RefCounted<Node> {
  enum class State : uint8_t { pending, ready, failed };

  // First the fields that a flush and a destructor read: few cache lines for each of ten thousand nodes.
  State state = State::pending;
  DType dtype = DType::float32;
  DType compute = DType::float32;  // inputs are converted to this type before `emit`; never a narrow one
  uint8_t inputs = 0;
  const OpInfo* op = nullptr;  // nullptr: data that came from outside
  // Position in the log where it is pending, or, for a leaf, its number in the log that met it last (valid while epoch is
  // that log's). Lets a log recognise its own nodes and leaves without a table: a number of an older log is never taken
  // for one of this.
  uint64_t epoch = 0;
  int32_t log_index = -1;
  int32_t logs = 0;    // how many have it among their leaves
  Log* log = nullptr;  // where it is pending
  // How many storages and saved gradients hold the value: a flush writes it only if this is not 0.
  std::atomic<int32_t> held{0};
  std::atomic<int32_t> saved{0};  // those of them that are saved gradients
  BufferRef buffer;               // ready
  std::exception_ptr error;       // failed
  // Ready, and part of its history may have failed: the run that made it, which failures of it the value belongs to, and
  // which kept an update of its memory from being done (engine/run_status.hpp).
  uint32_t run = 0;
  uint8_t room = 0;      // operands that there are
  bool again = false;    // pending: the run under way does not store it, because a later one computes it again
  bool late = false;     // pending: a run before has computed it already
  uint16_t reduced = 0;  // bit d: dimension d of the domain is folded
  Operand* in = reinterpret_cast<Operand*>(few_);
  int64_t numel = 0;  // elements of the value
  DeviceId device;
  uint64_t failed_by = 0, lost_by = 0;
  Ref<Transaction> together;  // pending write: what it is done with, or not at all

 private:
  alignas(Operand) unsigned char few_[kFewInputs * sizeof(Operand)];

 public:
  Dims domain;  // without dimensions of size 1 (contractions: all of folded, batch, m, n..., k...)
  Parameters parameters;
  Ref<Node> half;           // the value in a half type, held; see cast_once() in build.hpp
  Lineage lineage;          // of integers on a GPU
  Storage* home = nullptr;  // that a gradient saved it from; nullptr: not known any more
  SourceLocation location;  // that recorded it, where lines are kept

  Node() = default;
  ~Node() {
    drop_half();
    std::destroy_n(in, room);
    if (!is_few()) ::operator delete(in);
  }
  void make_room(int count) {  // once, before the inputs are set
    if (count > kFewInputs) in = static_cast<Operand*>(::operator new(static_cast<size_t>(count) * sizeof(Operand)));
    for (; room < count; ++room) new (in + room) Operand;
  }

  bool pending() const { return state == State::pending; }
  // Whether operand k is read element by element; the others are memory that is written, or read at computed places.
  bool reads_value(int k) const {
    if (op->kind == Kind::kernel || op->kind == Kind::contraction) return false;
    return !(op->kind == Kind::effect && k == 1) && !(op->kind == Kind::indexed && k == 0);
  }
  // An effect that overwrites the whole old value.
  bool overwrites_all() const {
    return inputs == 2 && domain.numel() == numel && in[1].strides == contiguous_strides(domain);
  }
  size_t bytes() const { return static_cast<size_t>(numel) * size_of(dtype); }
  // Also frees what only the inputs kept alive, without recursion.
  void drop_inputs();
  void keep_half(Ref<Node> value) {
    drop_half();
    half = std::move(value);
    half->held.fetch_add(1, std::memory_order_relaxed);
  }
  void drop_half() {
    if (half) half->held.fetch_sub(1, std::memory_order_relaxed);
    half = {};
  }
  static void* operator new(size_t);
  static void operator delete(void*);
  static void destroy(Node*);  // iterative: a chain of millions of nodes is freed on a small stack

 private:
  bool is_few() const { return in == reinterpret_cast<const Operand*>(few_); }
};
using NodeRef = Ref<Node>;
NodeRef copy_of(const Node& pending);

// A reference that also counts as a holder of the value.
class Held {
 public:
  Held() = default;
  explicit Held(NodeRef n) : node_(std::move(n)) { hold(1); }
  Held(const Held& o) : Held(o.node_) {}
  Held(Held&& o) noexcept : node_(std::move(o.node_)) {}
  Held& operator=(Held o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~Held() { hold(-1); }
  Node* get() const { return node_.get(); }
  Node* operator->() const { return node_.get(); }
  const NodeRef& ref() const { return node_; }
  explicit operator bool() const { return static_cast<bool>(node_); }

 private:
  void hold(int32_t by) {
    if (node_) node_->held.fetch_add(by, std::memory_order_relaxed);
  }
  NodeRef node_;
};

}  // namespace sg
