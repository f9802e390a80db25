// What the operations of recurrent layers share. For ops/lstm.cpp and ops/recurrent*.cpp.
#pragma once
#include <cstdint>

#include "graph/op.hpp"
#include "graph/tensor.hpp"
#include "kernel/custom.hpp"

namespace sg::recurrent {

enum class Cell { lstm, gru, rnn };

struct Settings {
  int64_t reverse, keep;
  int64_t resident;  // on a GPU: the most workgroups that wait for each other at each step; 0: a launch does one step
  int64_t variant;   // of a GRU: its products have a bias; of an RNN: relu
};

struct Sizes {
  int64_t steps, batch, hidden;
  int64_t state() const { return batch * hidden; }
};

// Settings::resident for x [steps, batch, features]: SPIROGRAD_RECURRENT, or what the GPU has. 0 on a CPU.
int64_t resident_for(const Tensor& x);

// The inputs of a node as tensors, and words that all launches share.
CustomKernel kernel_of(const Node& node, const Sizes& sizes);
// Adds the launches of a GPU; `first` has the tensors and words.
void launch_on_gpu(const Node& node, Cell cell, bool backward, const Sizes& sizes, const CustomKernel& first,
                   Expansion& e);

// x with features that are neighbours in memory.
Tensor in_rows(const Tensor& x);

using Expand = void (*)(const Node&, bool gpu, Expansion&);
constexpr OpInfo row(const char* name, const char* doc, int arity, Expand expand) {
  return {.name = name, .doc = doc, .kind = Kind::kernel, .arity = arity, .expand = expand};
}
// The same operation by workgroups that wait for each other, which reports if they do not all come.
constexpr OpInfo resident_row(const char* name, const char* doc, int arity, Expand expand) {
  OpInfo info = row(name, doc, arity, expand);
  info.reports = true;
  info.fault = "its workgroups did not run at the same time";
  info.remedy = "set SPIROGRAD_RECURRENT=0";
  return info;
}

}  // namespace sg::recurrent
