// A step that can be replayed: the plans that it ran, and where each of their leaves, offsets and numbers came from.
// capture.cpp makes it, compare.cpp compares two, replay.cpp runs its plans on what stands in the same places now.
// Knows nothing of Python. Threads: a recording may run in any, under the engine lock.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/flush.hpp"
#include "graph/grad.hpp"
#include "graph/watcher.hpp"

namespace sg {

// Where a value comes from: a place that exists when the step begins, or a run of the step.
struct Origin {
  enum class Kind : uint8_t { unknown, output, kept, argument, gradient, constant };
  Kind kind = Kind::unknown;
  int32_t index = 0;  // of the output, the storage, the argument, the leaf, the constant
  int32_t run = 0;    // of an output
};

class Recording {
 public:
  // Runs the plans; nothing if they do not fit these arguments or the present state of the tensors outside. Results and
  // gradients are new tensors; tensors written in place have their new values.
  struct Replayed {
    std::vector<Tensor> results;
    std::vector<Ref<Transaction>> transactions;  // in order, of plans that look at failures
  };
  std::optional<Replayed> run(const std::vector<Tensor>& arguments, const std::vector<double>& numbers);
  std::vector<bool> outside() const;           // for each result, whether it is itself a tensor from outside
  std::vector<Generator*> generators() const;  // must outlive the recording
  // How two recordings of one function differ; "" if they do not.
  static std::string difference(const Recording& a, const Recording& b);
  // Takes over plans of a recording of the same step that may follow runs whose reports are open: they may follow others
  // as well.
  void allow_open_reports_of(const Recording& other);

 private:
  friend class Capture;

  struct TensorView {  // how a tensor sees a value
    Dims shape, strides;
    int64_t offset = 0;
    DType dtype = DType::float32;
    DeviceId device;
    Origin from;
  };
  struct Write {
    Origin to;
    int32_t output;
  };
  struct Output {
    DType dtype;
    int64_t numel;
    int32_t node;
  };
  // One plan that the step ran, with what a run of it needs besides memory.
  struct Run {
    DeviceId device;
    std::vector<uint64_t> key;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<Prepared> prepared;
    std::vector<Origin> leaves;
    std::vector<int64_t> offsets;
    std::vector<int32_t> argument_of;  // for each offset, the argument whose own offset it moves with; -1: none
    std::vector<Number> numbers;
    std::vector<std::pair<int32_t, ReplaySlot>> number_slots;
    std::vector<Reporter> reporters;
    bool guarded = false;  // by failures
    Flow flow;             // if it is
    std::vector<Output> outputs;
    std::vector<Write> writes;
    bool has_plan_of(const Run& other) const;  // but for open reports before it
  };
  struct Kept {  // memory from outside
    Ref<Storage> storage;
    uint32_t version = 0, versions = 0;  // at the beginning, and the number of writes
  };
  struct Leaf {  // a tensor from outside that was used
    Ref<TensorImpl> tensor;
    bool ended = false;  // nothing else refers to it any more
    Storage* storage = nullptr;
    bool requires_grad = false, hooks = false;
    bool reads = false, sets = false;  // its gradient; reads: before setting it
    bool had = false;
    TensorView before, after;  // the gradient; `after` has unknown origin if there is none
  };
  struct Result {
    TensorView place;
    Ref<TensorImpl> same;  // itself a tensor from outside
    int32_t storage = -1;  // results with the same number share memory
  };
  struct Slot {  // a number that differs each time
    enum class Kind : uint8_t { number, seed, block } kind;
    double number = 0;
    size_t stream = 0;
    int64_t block = 0;  // counted from the stream's position when the step begins
  };
  // A generator that the step drew from. `at` counts from `first`, in blocks of four words.
  struct Stream {
    Generator* from;
    int64_t first;   // its position when the recording began
    int64_t at = 0;  // blocks drawn so far, in the end by the whole step
  };
  // What a replay has computed so far: the outputs of each run, in order.
  struct Made {
    Log* log = nullptr;                        // where other threads find them pending; nullptr: nowhere
    std::vector<std::vector<NodeRef>> leaves;  // of each run, where they are from outside: as the step began
    std::vector<std::vector<NodeRef>> outputs;
    std::vector<Ref<Storage>> gradients;  // of the leaves, at the beginning
    std::vector<Ref<Transaction>> transactions;
  };

  static Tensor without_value(const TensorView& place);
  bool fits(const std::vector<Tensor>& arguments, const std::vector<double>& numbers) const;
  NodeRef node_of(const Origin& from, const std::vector<Tensor>& arguments, const Made& made) const;
  Storage* storage_of(const Origin& to, const std::vector<Tensor>& arguments, const Made& made) const;
  const Log* writer(const std::vector<Tensor>& arguments) const;
  void run_readers(const std::vector<Tensor>& arguments) const;
  std::vector<std::vector<NodeRef>> leaves_from_outside(const std::vector<Tensor>& arguments, const Made& made) const;
  void keep_for_others(const Run& run, const std::vector<NodeRef>& leaves, std::vector<BufferRef>& outputs) const;
  std::vector<Number> values(const std::vector<double>& numbers) const;
  void run(const Run& run, const std::vector<Tensor>& arguments, const std::vector<Number>& slots,
           std::vector<BufferRef>& outputs, Made& made) const;

  uint32_t recoveries_ = recoveries();  // when it was recorded
  std::vector<Run> runs_;
  std::vector<Kept> kept_;
  std::vector<int64_t> argument_offsets_;
  std::vector<Leaf> leaves_;
  std::vector<std::pair<Origin, Origin>> equal_;  // two origins of one value
  std::vector<Held> constants_;
  std::vector<uint64_t> host_data_;  // of each constant: a hash of its bytes
  std::vector<Slot> slots_;
  std::vector<Stream> streams_;
  std::vector<Result> results_;
};

// The facts of the arguments that decide which plans run. ValueError if a tensor requires a gradient.
std::vector<uint64_t> signature(const std::vector<Tensor>& arguments);

}  // namespace sg
