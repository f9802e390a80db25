// Steps that run again without being recorded again: Capture watches one call of a function and keeps the plans that it
// ran, and where each of their leaves, offsets and numbers came from; Recording::run runs these plans on what stands in
// the same places now. Called by bind/compile.cpp. Threads: a capture belongs to one; recordings may run in any.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/flush.hpp"
#include "graph/grad.hpp"
#include "graph/recorder.hpp"

namespace sg {

// Where a value is when the step begins, or which run of the step makes it.
struct Origin {
  enum class Kind : uint8_t { unknown, output, kept, argument, gradient, constant };
  Kind kind = Kind::unknown;
  int32_t index = 0;  // of the output, the storage, the argument, the leaf, the constant
  int32_t cut = 0;    // of an output
};

class Recording {
 public:
  // Runs the plans, unless they are not for these arguments or for the tensors of the outside as they are now. Results
  // and gradients are new tensors; what was written in place has its new value.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& arguments, const std::vector<double>& numbers);
  std::vector<bool> outside() const;           // of each result: whether it is a tensor of the outside itself
  std::vector<Generator*> generators() const;  // must live as long
  // "", or in what two recordings of one function differ.
  static std::string difference(const Recording& a, const Recording& b);

 private:
  friend class Capture;

  struct Place {  // how a tensor sees a value
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
    bool in_place;
  };
  struct Cut {
    DeviceId device;
    std::vector<uint64_t> key;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<Prepared> prepared;
    std::vector<Origin> leaves;
    std::vector<int64_t> offsets;
    std::vector<int32_t> argument_of;  // of each offset: which argument's own it moves with, -1: none
    std::vector<Number> numbers;
    std::vector<std::pair<int32_t, uint32_t>> sources;
    std::vector<Reporter> reporters;
    bool unchecked = false;
    std::vector<Output> outputs;
    std::vector<Write> writes;
  };
  struct Kept {  // memory of the outside
    Ref<Storage> storage;
    uint32_t version = 0, versions = 0;  // at the beginning; how many writes
  };
  struct Leaf {  // a tensor of the outside that was used
    Ref<TensorImpl> tensor;
    bool ended = false;  // nobody else has it any more
    Storage* storage = nullptr;
    bool requires_grad = false, hooks = false;
    bool reads = false, sets = false;  // its gradient; reads: before it was set
    bool had = false;
    Place before, after;  // the gradient; after: of unknown origin when there is none
  };
  struct Result {
    Place place;
    Ref<TensorImpl> same;  // a tensor of the outside itself
    int32_t storage = -1;  // results of one number share their memory
  };
  struct Slot {  // a number that is another each time
    enum class Kind : uint8_t { number, seed, block } kind;
    double number = 0;
    size_t stream = 0;
    int64_t block = 0;  // from where the stream stands when the step begins
  };
  struct Stream {
    Generator* from;
    int64_t first;   // where it stood
    int64_t at = 0;  // how far it is, in the end what the step draws
  };
  struct Made {
    std::vector<std::vector<NodeRef>> outputs;
    std::vector<Ref<Storage>> gradients;  // of the leaves, at the beginning
  };

  static Tensor without_value(const Place& place);
  bool fits(const std::vector<Tensor>& arguments, const std::vector<double>& numbers) const;
  NodeRef node_of(const Origin& from, const std::vector<Tensor>& arguments, const Made& made) const;
  Storage* storage_of(const Origin& to, const std::vector<Tensor>& arguments, const Made& made) const;
  void run_readers(const std::vector<Tensor>& arguments) const;
  std::vector<Number> values(const std::vector<double>& numbers) const;
  void run(const Cut& cut, const std::vector<Tensor>& arguments, const std::vector<Number>& slots,
           std::vector<BufferRef>& outputs, Made& made) const;

  uint32_t recoveries_ = recoveries();  // when it was recorded
  std::vector<Cut> cuts_;
  std::vector<Kept> kept_;
  std::vector<int64_t> argument_offsets_;
  std::vector<Leaf> leaves_;
  std::vector<std::pair<Origin, Origin>> equal_;  // two places of one value
  std::vector<Held> constants_;
  std::vector<uint64_t> host_data_;  // of each constant: what its bytes were
  std::vector<Slot> slots_;
  std::vector<Stream> streams_;
  std::vector<Result> results_;
};

class Capture final : public Watcher {
 public:
  // Runs what is pending everywhere and watches from here on. The function is to be called with arguments(): tensors on
  // the same values that are known apart from those that the function knows otherwise.
  explicit Capture(const std::vector<Tensor>& arguments);
  ~Capture() override;
  const std::vector<Tensor>& arguments() const { return arguments_; }
  // Runs what is pending and ends watching; hands on what was written into arguments. Error when a value was read.
  void stop();
  // A result as later calls give it: without a gradient, and on the memory of the argument where it is one.
  Tensor outside(const Tensor& result) const;
  void abandon();  // ends watching; also after an error
  // What was recorded; nullptr, and why, when it cannot run again, or "" when the next call may have more luck: another
  // thread came between, or there was no memory. After stop().
  std::shared_ptr<Recording> recording(const std::vector<Tensor>& results, std::string& problem);

  void makes(Storage& fresh) override;
  void uses(const Tensor& x) override;
  void reads_gradient(const Tensor& leaf) override;
  void sets_gradient(const Tensor& leaf) override;
  void ends(const GradNode& node) override;
  uint32_t draws(Generator& from, int64_t blocks) override;
  void turns(Generator& stream, int64_t seed, int64_t blocks) override;
  uint32_t number(double now) override;

  // From engine/. `made_of`: the log that was run.
  void ran(const Log& log, const CachedPlan& plan, bool unchecked, std::vector<Reporter> reporters) noexcept;
  void has_host_data(const NodeRef& node, const void* data, size_t bytes);
  [[noreturn]] void refuse(const char* what);

 private:
  void note_run(const Log& log, const CachedPlan& plan, bool unchecked, std::vector<Reporter> reporters);
  Recording::Leaf* leaf_of(const Tensor& x);  // nullptr: it was made inside
  void note(const Tensor& x);
  Origin origin_of(const NodeRef& node);
  int32_t argument_behind(const Origin& from) const;
  std::string kept_outside(const std::vector<Tensor>& results);

  uint32_t id_;
  uint32_t disturbances_;  // before
  std::vector<Tensor> originals_, arguments_;
  std::vector<NodeRef> before_;  // of the arguments: their values at first
  std::shared_ptr<Recording> made_;
  std::string refused_, problem_;
  bool incomplete_ = false;  // there was no memory to note all of it
  std::unordered_map<const Storage*, Origin> places_;
  std::unordered_map<const TensorImpl*, size_t> leaf_index_;
  std::unordered_map<const Node*, std::vector<Origin>> seen_;
  std::vector<std::vector<NodeRef>> outputs_;  // of each cut
  std::unordered_map<const GradNode*, bool> ended_;
};

// The one of this thread.
inline Capture* capture() { return static_cast<Capture*>(recorder); }
// ValueError when a tensor wants a gradient. Otherwise what of the arguments decides which plans run, as words.
std::vector<uint64_t> signature(const std::vector<Tensor>& arguments);

}  // namespace sg
