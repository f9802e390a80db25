// How nodes are made and recorded: what build.cpp and update.cpp share. For graph/ only.
#pragma once
#include "base/profile.hpp"
#include "graph/log.hpp"
#include "graph/watcher.hpp"

namespace sg::recording {

// An op is recorded as a whole: which values its inputs have, its place in the log and in the gradient graph.
struct Entry {
  explicit Entry(const OpInfo& op) : stage(op.name, "cpu_op") {}
  const Stage stage;
  const EngineLock lock;
};

// Dimensions of size 1 say nothing about a computation: `keep` lists the others.
struct Squeezed {
  Dims shape;
  int keep[kMaxRank];
};
Squeezed squeeze(const Dims& shape);
Dims pick(const Dims& strides, const Squeezed& s);

NodeRef new_node(const OpInfo& op, DType dtype, DType compute, DeviceId device, size_t inputs);
// Runs another thread's log if the value is pending there.
void settle(const Storage& storage);
void set_tensor(const OpInfo& op, Operand& operand, const Tensor& x, const Dims& strides);
void set_number(Operand& operand, DType dtype, Number number, ReplaySlot slot = {});

inline void raise_if_failed(const Operand& operand) {
  if (operand.kind == Operand::Kind::node) sg::raise_if_failed(*operand.node);
}
// Whether a node reads or writes memory that is also seen from outside.
bool touches_shared(const Node& node);
// Memory that is seen from outside must hold the new value. Where the write had to go to fresh memory first, the two
// swap their bytes and their buffers.
void keep_shared(Node& now, Node& before);
// A view made under no_grad of a value that nothing else refers to, as ops leave them, becomes a tensor of its own.
void leave_base(const Tensor& x);
// Gives a node its place in the log, or in what Aside collects.
void append(const NodeRef& node);
// Runs a log that has grown, if it is time to. `at_once`: it touches memory that is seen from outside.
void run_if_due(Log& log, bool at_once, bool may_wait);

}  // namespace sg::recording
