// One pass from a root to its leaves on the CPU, without recursion. Nodes of other devices are the tape's (across.cpp).
#include <vector>

#include "base/error.hpp"
#include "value/formulas.hpp"
#include "value/graph.hpp"
#include "value/tape.hpp"

namespace sg::value {
namespace {

void add_grad(Node* n, double g, bool is_int) {
  n->grad += g;
  if (!is_int) n->flags &= static_cast<uint16_t>(~kGradInt);
}
void add_number_grad(Node* n, double g, bool is_int) {
  n->k_grad += g;
  if (!is_int) n->flags &= static_cast<uint16_t>(~kNumberGradInt);
}

// As in micrograd, which multiplies by a truth value: an infinite gradient times False is NaN.
double relu_gradient(double out, double g) { return (out > 0 ? 1.0 : 0.0) * g; }

void neuron_backward(Node* n) {
  const double g = n->has(kNonlinear) ? relu_gradient(n->data, n->grad) : n->grad;
  const bool g_int = n->has(kGradInt);
  const List& weights = *n->weights;
  const List& inputs = *n->inputs;
  for (uint32_t i = inputs.count; i-- > 0;) {
    Node* w = weights.items[i].node;
    Node* x = inputs.items[i].node;
    add_grad(w, (x ? x->data : inputs.items[i].number) * g, g_int && (x ? x->has(kInt) : inputs.items[i].is_int));
    if (x) add_grad(x, w->data * g, g_int && w->has(kInt));
  }
  add_grad(weights.items[inputs.count].node, g, g_int);
  n->k_grad = g;
  n->flags |= static_cast<uint16_t>(kPassed | (g_int ? kNumberGradInt : 0));
}

void pass_on(Node* n) {
  const double g = grad_of(n);
  if (n->a->device < 0) return add_grad(n->a, g, n->has(kGradInt));
  set_grad(n->a, grad_of(n->a) + g, n->has(kGradInt) && n->a->has(kGradInt));
}

// A depth-first walk without recursion: `order` lists each node with operands after its operands, in their order.
class Walk {
 public:
  bool elsewhere() const { return elsewhere_; }  // the walk met a node on a device
  const std::vector<Node*>& order(Node* root) {
    mark_ = next_mark();
    elsewhere_ = false;
    order_.clear();
    visit(root);
    while (!stack_.empty()) {
      const Entry top = stack_.back();
      stack_.pop_back();
      if (top.done)
        order_.push_back(top.node);
      else
        enter(top.node);
    }
    return order_;
  }

 private:
  struct Entry {
    Node* node;
    bool done;
  };
  void visit(Node* n) {
    if (n->device >= 0)
      elsewhere_ = true;
    else if (n->mark != mark_ && n->op != Op::leaf)
      stack_.push_back({n, false});
  }
  void enter(Node* n) {
    if (n->mark == mark_) return;
    n->mark = mark_;
    if (n->op == Op::neuron && n->has(kPassed)) expand(n);  // what is inside has gradients of its own by now
    stack_.push_back({n, true});
    const size_t first = stack_.size();
    for_operands(n, [this](Node* c) { visit(c); });
    for (size_t i = first, j = stack_.size(); i + 1 < j; ++i) std::swap(stack_[i], stack_[--j]);
  }
  uint32_t mark_ = 0;
  bool elsewhere_ = false;
  std::vector<Node*> order_;
  std::vector<Entry> stack_;
};

}  // namespace

void local_backward(Node* n) {
  if (n->has(kOwnBackward)) return language.own_backward(n);
  if (n->op == Op::move) return pass_on(n);
  if (n->op == Op::custom) return;
  if (n->device >= 0)
    fail<ValueError>("_backward", "a single step on a GPU is not offered", "call backward(), or use .cpu()");
  const double g = n->grad;
  const bool g_int = n->has(kGradInt);
  switch (n->op) {
    case Op::leaf:
    case Op::custom:
      break;
    case Op::add:
      add_grad(n->a, g, g_int);
      if (n->has(kNumber))
        add_number_grad(n, g, g_int);
      else
        add_grad(n->b, g, g_int);
      break;
    case Op::mul:
      if (n->has(kNumber)) {
        add_grad(n->a, n->k * g, g_int && n->has(kNumberInt));
        add_number_grad(n, n->a->data * g, g_int && n->a->has(kInt));
      } else {
        add_grad(n->a, n->b->data * g, g_int && n->b->has(kInt));
        add_grad(n->b, n->a->data * g, g_int && n->a->has(kInt));
      }
      break;
    case Op::power: {
      const bool a_int = n->a->has(kInt), k_int = n->has(kNumberInt);
      add_grad(n->a, n->k * power(n->a->data, n->k - 1, a_int, k_int) * g, g_int && a_int && k_int && n->k >= 1);
      break;
    }
    case Op::pow: {
      const double a = n->a->data, b = n->b->data;
      add_grad(n->a, b == 0 ? 0.0 : b * power(a, b - 1, n->a->has(kInt), n->b->has(kInt)) * g, false);
      add_grad(n->b, n->data == 0 ? 0.0 : n->data * alu::log(a) * g, false);
      break;
    }
    case Op::relu:
      add_grad(n->a, relu_gradient(n->data, g), g_int);
      break;
    case Op::neuron:
      neuron_backward(n);
      break;
    default:
      add_grad(n->a, unary_gradient(n->op, g, n->a->data, n->data), false);
  }
}

void backward(Node* root) {
  if (root->has(kBridged)) language.fetch_grad(root);  // what came before is overwritten, not added later
  if (root->device >= 0) {
    if (!runner_of(root).backward(root)) backward_across(root);
    return;
  }
  // Kept between calls, as large as the largest graph so far. A nested call uses another one.
  static Walk kept;
  static bool busy = false;
  Walk own;
  const bool nested = busy;
  busy = true;
  struct Leave {
    bool nested;
    ~Leave() { busy = nested; }
  } leave{nested};
  Walk& walk = nested ? own : kept;
  const std::vector<Node*>& order = walk.order(root);
  if (walk.elsewhere()) return backward_across(root);
  root->grad = 1;
  root->flags |= kGradInt;
  for (size_t i = order.size(); i-- > 0;) {
    if (i >= 8) __builtin_prefetch(order[i - 8]);
    local_backward(order[i]);
  }
  host_scalar_ops += order.size();
}

}  // namespace sg::value
