// An update of many tensors in place, such as a step of an optimiser: a few light nodes in the log, which stand for many
// ops. Those are recorded only where a plan is made (engine/written_out.hpp): a log that has one never needs them.
// Threads: under the engine lock.
#pragma once
#include <span>
#include <vector>

#include "graph/grad.hpp"
#include "graph/watcher.hpp"

namespace sg {

struct Updated {
  Tensor tensor, gradient;
  const std::vector<Tensor>& states;  // undefined: not there
};
// Records the update of tensors by the formulas of `op.update`: a node that holds the numbers (undefined: not there);
// for each tensor a node that reads the numbers, the tensor, its gradient and its states, and writes the tensor; for
// each state a node that reads that one, and writes the state. All of them run together. Records nothing for gradients.
void update_all(const OpInfo& op, std::span<const Tensor> numbers, std::span<const Updated> tensors);
extern const OpInfo kUpdateNumbers, kUpdatedState;

// For `op.update`, which returns the values of the tensor and of each state: what an update reads.
Tensor tensor_of(const Node& update);
Tensor gradient_of(const Node& update);
Tensor state_of(const Node& update, int k);
// The numbers, as they were given. Those that are known on the host have slots: k + 1 is number k.
std::vector<Tensor> numbers_of(const Node& update);
// Which operand of the node of numbers a number of `op.update` is; -1: a constant of its formula.
int number_operand(ReplaySlot slot);
// Records that `value` is written where an update or one of its states writes.
void assign_as(const Node& written, const Tensor& value);

// What is recorded while it lives goes to `nodes` instead of a log. No gradients are recorded, and nobody
// watches.
class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  static inline constinit Aside* now = nullptr;
  std::vector<NodeRef> nodes;

 private:
  const GradMode off_{false};
  Watcher* watcher_;
  bool detect_nan_;
};

}  // namespace sg
