// Watches one call of a function and makes a Recording of it. Used by bind/compile.cpp; graph/ and ops/ report to it
// what happens. Threads: a capture belongs to one thread.
#pragma once
#include <unordered_map>

#include "engine/replay/recording.hpp"

namespace sg {

class Capture final : public Watcher {
 public:
  // Runs what is pending on all devices and watches from here on. Call the function with arguments(): tensors with the
  // same values, which can be told from the same tensors reached in another way.
  explicit Capture(const std::vector<Tensor>& arguments);
  ~Capture() override;
  const std::vector<Tensor>& arguments() const { return arguments_; }
  // Runs what is pending, stops watching, and passes on what was written to arguments. Error if a value was read.
  void stop();
  // A result as later calls return it: without a gradient, and on the argument's memory if it is an argument.
  Tensor outside(const Tensor& result) const;
  void abandon();  // stops watching; also after an error
  // The recording; call after stop(). nullptr if it cannot run again: `problem` says why, or is "" if the next call may
  // succeed, because another thread interfered or there was no memory.
  std::shared_ptr<Recording> recording(const std::vector<Tensor>& results, std::string& problem);

  void makes(Storage& fresh) override;
  void uses(const Tensor& x) override;
  void reads_gradient(const Tensor& leaf) override;
  void sets_gradient(const Tensor& leaf) override;
  void ends(const GradNode& node) override;
  ReplaySlot draws(Generator& from, int64_t blocks) override;
  void turns(Generator& stream, int64_t seed, int64_t blocks) override;
  ReplaySlot number(double now) override;

  // From engine/. `made_of`: the log that was run.
  void ran(const Log& log, const CachedPlan& plan, Flow flow) noexcept;
  void has_host_data(const NodeRef& node, const void* data, size_t bytes);
  [[noreturn]] void refuse(const char* what);

 private:
  void note_run(const Log& log, const CachedPlan& plan, Flow flow);
  Recording::Leaf* leaf_of(const Tensor& x);  // nullptr: the tensor was made inside
  void note(const Tensor& x);
  bool is_overtaken(const Storage& used, const Origin& place) const;
  Origin origin_of(const NodeRef& node);
  int32_t argument_behind(const Origin& from) const;
  std::string kept_outside(const std::vector<Tensor>& results);

  uint32_t id_;
  uint32_t disturbances_;  // before
  std::vector<Tensor> originals_, arguments_;
  std::vector<NodeRef> before_;  // the arguments' first values
  std::shared_ptr<Recording> made_;
  std::string refused_, problem_;
  bool incomplete_ = false;  // there was no memory for all notes
  std::unordered_map<const Storage*, Origin> places_;
  std::unordered_map<const TensorImpl*, size_t> leaf_index_;
  std::unordered_map<const Node*, std::vector<Origin>> seen_;
  std::vector<std::vector<NodeRef>> outputs_;  // of each run
  std::unordered_map<const GradNode*, bool> ended_;
};

// This thread's capture.
inline Capture* capture() { return static_cast<Capture*>(watcher); }

}  // namespace sg
