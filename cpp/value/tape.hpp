// The tape: how nodes on a GPU are recorded while the graph is built and run when somebody looks.
// value/ records, engine/ implements TapeRunner on a device; a device is named by its number here.
#pragma once
#include "value/node.hpp"

namespace sg::value {

class TapeRunner {
 public:
  virtual ~TapeRunner() = default;
  virtual void record(Node* n) = 0;     // n was made: operands are set, data is not known
  virtual void backward(Node* root) = 0;
  virtual void local_backward(Node* n) = 0;
  virtual void read_data(Node* n) = 0;  // kDataStale -> data
  virtual void read_grad(Node* n) = 0;
  virtual void before_write(Node* n) = 0;  // consumers of the old value run first
  virtual void forget(Node* n) = 0;        // n is being freed
};

// The runner of a GPU; set by the engine.
extern TapeRunner* (*tape_runner)(int device);
inline TapeRunner& runner_of(const Node* n) { return *tape_runner(n->device); }

}  // namespace sg::value
