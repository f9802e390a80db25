#include "graph/grad.hpp"

#include <algorithm>
#include <atomic>
#include <queue>

#include "base/error.hpp"
#include "base/profile.hpp"

namespace sg {
namespace {

thread_local bool grad_mode = true;

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

// A tensor on a saved value, connected to the gradient graph as the original was.
Tensor revive(const Held& value, const Dims& shape, const Dims& strides, int64_t offset) {
  Tensor t = wrap(value.ref(), shape);
  t->strides = strides;
  t->offset = offset;
  return t;
}

void collect(Tensor& into, const Tensor& g) { into = into ? add(into, g) : g; }

// A gradient that can be written in place without touching another: it may share the value, but never the storage,
// memory that is seen from outside or, as an expanded one does, its own elements.
Tensor own(const Tensor& g) {
  for (int d = 0; d < g.rank(); ++d)
    if (g.strides()[d] == 0 && g.shape()[d] > 1) return clone(g);
  const Node& value = *g->storage->node.get();
  if (value.buffer && value.buffer->shared) return clone(g);
  Tensor t = g.detach();
  t->storage = Ref<Storage>(new Storage);
  t->storage->node = g->storage->node;
  t->grad_fn = g->grad_fn;
  return t;
}

struct Later {
  bool operator()(const GradNode* a, const GradNode* b) const { return a->sequence < b->sequence; }
};

// Walks the graph from the root against time. `reach` gets every gradient that arrives at a leaf, `pass` the whole
// gradient of every inner tensor.
template <class Reach, class Pass>
void walk(const Tensor& root, const Tensor& gradient, BackwardOptions options, Reach reach, Pass pass) {
  GradMode mode(options.create_graph);
  if (!root->grad_fn) {
    reach(root.ref(), gradient);
    return;
  }
  std::priority_queue<GradNode*, std::vector<GradNode*>, Later> open;
  std::vector<Ref<GradNode>> seen;  // keeps them alive, and lets us clean up when a formula throws
  struct Cleaner {
    std::vector<Ref<GradNode>>& nodes;
    ~Cleaner() {
      for (auto& n : nodes) n->grad = {};
    }
  } cleaner{seen};
  auto send = [&](const Ref<GradNode>& to, const Tensor& g) {
    if (!to->grad) {
      open.push(to.get());
      seen.push_back(to);
    }
    collect(to->grad, g);
  };
  send(root->grad_fn, gradient);
  while (!open.empty()) {
    GradNode& node = *open.top();
    open.pop();
    if (node.freed)
      fail<Error>("backward",
                  std::string("the values saved by ") + node.op->name + " were freed by an earlier backward",
                  "pass retain_graph=True to the first one");
    Vjp vjp{node, std::move(node.grad), {}};
    node.grad = {};
    pass(node, vjp.g);
    node.op->vjp(vjp);
    for (int i = 0; i < node.inputs; ++i) {
      GradInput& in = node.in[i];
      if (!in.needs() || !vjp.result[i]) continue;
      Tensor g = vjp.result[i].shape() == in.shape ? vjp.result[i] : sum_to(vjp.result[i], in.shape);
      if (g.dtype() != in.dtype) g = cast(g, in.dtype);
      if (in.fn)
        send(in.fn, g);
      else
        reach(in.leaf, g);
    }
    if (!options.retain_graph && !options.create_graph) node.free_values();
  }
}

Tensor start_gradient(const Tensor& root, const Tensor& gradient) {
  if (!root.requires_grad())
    fail<Error>("backward", "the tensor does not want a gradient and was not made from one that does",
                "set requires_grad=True on an input");
  if (gradient) {
    if (!(gradient.shape() == root.shape()))
      fail<ValueError>("backward",
                       "gradient has shape " + gradient.shape().str() + ", the tensor " + root.shape().str(),
                       "give a gradient of the tensor's shape");
    return gradient;
  }
  if (root.numel() != 1)
    fail<ValueError>("backward", "a gradient is needed for a tensor of shape " + root.shape().str(),
                     "reduce it to one element (sum, mean) or pass gradient=");
  return ones_like(root);
}

}  // namespace

void GradNode::free_values() {
  freed = true;
  output = {};
  for (int i = 0; i < inputs; ++i) in[i].value = {};
}

void GradNode::destroy(GradNode* node) {
  thread_local std::vector<GradNode*>* waiting = nullptr;
  if (waiting) {
    waiting->push_back(node);
    return;
  }
  std::vector<GradNode*> list{node};
  waiting = &list;
  while (!list.empty()) {
    GradNode* n = list.back();
    list.pop_back();
    delete n;
  }
  waiting = nullptr;
}

Tensor Vjp::in(int i) const {
  const GradInput& input = node.in[i];
  if (input.is_number) return is_float(input.dtype) ? Tensor(input.number.f) : Tensor(input.number.i);
  Tensor t = revive(input.value, input.shape, input.strides, input.offset);
  if (!grad_enabled()) return t;
  if (input.leaf && input.leaf->storage->node.get() == input.value.get()) return Tensor(input.leaf);
  t->grad_fn = input.fn;
  return t;
}

Tensor Vjp::out() const {
  Tensor t = wrap(node.output.ref(), node.shape);
  if (grad_enabled()) t->grad_fn = Ref<GradNode>(&node);
  return t;
}

bool grad_enabled() { return grad_mode; }
void set_grad_enabled(bool on) { grad_mode = on; }
GradMode::GradMode(bool on) : before_(grad_mode) { grad_mode = on; }
GradMode::~GradMode() { grad_mode = before_; }

void record(const OpInfo& op, Tensor& out, std::initializer_list<const Tensor*> inputs, const Attributes& attributes) {
  if (!grad_mode || !op.vjp || !is_float(out.dtype())) return;
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor* t) { return t->requires_grad(); })) return;
  Ref<GradNode> fn(new GradNode);
  fn->op = &op;
  fn->sequence = next_sequence();
  fn->shape = out.shape();
  fn->dtype = out.dtype();
  fn->device = out.device();
  fn->attributes = attributes;
  for (const Tensor* t : inputs) {
    GradInput& in = fn->in[fn->inputs];
    in.dtype = t->dtype();
    in.shape = t->shape();
    if (t->is_number()) {
      in.is_number = true;
      in.number = t->impl()->number;
    } else {
      in.fn = t->impl()->grad_fn;
      if (!in.fn && t->impl()->requires_grad) in.leaf = t->ref();
      if (op.saves & (1 << fn->inputs)) {
        in.strides = t->strides();
        in.offset = t->impl()->offset;
        in.value = t->impl()->storage->node;
      }
    }
    ++fn->inputs;
  }
  if (op.saves & kSavesOutput) fn->output = out->storage->node;
  out->grad_fn = std::move(fn);
}

void backward(const Tensor& root, const Tensor& gradient, BackwardOptions options) {
  const Stage stage("backward");
  auto reach = [](const Ref<TensorImpl>& leaf, const Tensor& g) {
    Tensor sum = Tensor(leaf->grad);
    collect(sum, g);
    leaf->grad = own(sum).ref();
  };
  walk(root, start_gradient(root, gradient), options, reach, [](const GradNode&, const Tensor&) {});
}

std::vector<Tensor> grad(const Tensor& root, const std::vector<Tensor>& inputs, const Tensor& gradient,
                         BackwardOptions options) {
  const Stage stage("grad");
  std::vector<Tensor> out(inputs.size());
  auto reach = [&](const Ref<TensorImpl>& leaf, const Tensor& g) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].ref() == leaf) collect(out[i], g);
  };
  auto pass = [&](const GradNode& node, const Tensor& g) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]->grad_fn.get() == &node) out[i] = g;
  };
  walk(root, start_gradient(root, gradient), options, reach, pass);
  return out;
}

}  // namespace sg
