// The gradient graph: for each result that wants a gradient, which op made it from what, and the values its formula
// needs. Gradients are made of ordinary ops, so they fuse and can be differentiated again.
// Threads: like tensors. Grad mode is per thread.
#pragma once
#include <vector>

#include "graph/tensor.hpp"

namespace sg {

// What a view op or a reduce needs to know to go back.
struct Attributes {
  Dims a, b;
  int64_t x = 0;
  uint32_t axes = 0;
  bool flag = false;
};

// One input of an op: where its gradient goes, and its value if the formula reads it.
struct GradInput {
  Ref<GradNode> fn;      // the op that made it, or
  Ref<TensorImpl> leaf;  // the leaf that collects .grad
  Dims shape, strides;
  int64_t offset = 0;
  DType dtype = DType::float32;
  bool is_number = false;
  Number number{};
  Held value;  // only when saved
  bool needs() const { return fn || leaf; }
};

class GradNode : public RefCounted<GradNode> {
 public:
  const OpInfo* op = nullptr;
  uint64_t sequence = 0;  // grows with time: a valid topological order
  int inputs = 0;
  GradInput in[kMaxInputs];
  Dims shape;  // of the output
  DType dtype = DType::float32;
  DeviceId device;
  Held output;  // only when saved
  Attributes attributes;
  bool freed = false;  // saved values were given up by a backward
  Tensor grad;         // collects while a backward runs

  void free_values();
  static void destroy(GradNode*);  // iterative
};

// What a row's vjp sees: `g`, the values it declared in `saves`, and where to put the results.
struct Vjp {
  GradNode& node;
  Tensor g;
  Tensor result[kMaxInputs];
  bool needs(int i) const { return node.in[i].needs(); }
  Tensor in(int i) const;  // input i, broadcast shape not applied
  Tensor out() const;
  const Attributes& attributes() const { return node.attributes; }
};

bool grad_enabled();
class GradMode {  // sets the mode for a scope
 public:
  explicit GradMode(bool on);
  ~GradMode();

 private:
  bool before_;
};
void set_grad_enabled(bool on);

// Records how `out` was made, if the mode is on and an input wants a gradient.
void record(const OpInfo& op, Tensor& out, std::initializer_list<const Tensor*> inputs,
            const Attributes& attributes = {});

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};
// Adds d root / d leaf * gradient to the .grad of every leaf. ValueError when root is not one element and no gradient
// is given; Error when the graph was freed by an earlier backward.
void backward(const Tensor& root, const Tensor& gradient = {}, BackwardOptions options = {});
// The same, but returned for `inputs` instead of collected; undefined where there is no path.
std::vector<Tensor> grad(const Tensor& root, const std::vector<Tensor>& inputs, const Tensor& gradient = {},
                         BackwardOptions options = {});

// Rows that the graph itself needs, given by ops/.
Tensor add(const Tensor& a, const Tensor& b);
Tensor ones_like(const Tensor& x);
Tensor sum_to(const Tensor& x, const Dims& shape);  // undoes broadcasting
Tensor cast(const Tensor& x, DType dtype);
Tensor clone(const Tensor& x);

}  // namespace sg
