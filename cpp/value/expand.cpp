// Makes the nodes that a neuron stands for, when they are asked for. Computes no new values: they were computed with
// it.
#include "value/graph.hpp"
#include "value/tape.hpp"

namespace sg::value {

namespace {

// On a device the parts were computed with the neuron, each in its own slot: products and sums in turn.
void expand_on_device(Node* n) {
  runner_of(n).before_look(n);
  List *weights = n->weights, *inputs = n->inputs;
  const uint32_t count = inputs->count;
  Node* last = retain(weights->items[count].node);
  const uint32_t inside = weights->inside;
  auto part = [n](Op op, Node* a, Node* b, uint32_t place) {
    Node* m = take_node();
    m->op = op;
    m->a = a;
    m->b = b;
    runner_of(n).record_inner(m, n, place);
    return m;
  };
  for (uint32_t i = 0; i < count; ++i) {
    Node* w = weights->items[i].node;
    const Input& x = inputs->items[i];
    Node* product =
        part(Op::mul, retain(w), x.literal ? leaf(x.number, x.is_int, n->device) : retain(x.node), inside + 2 * i);
    if (x.literal)  // each product shows a number of its own, with what this product owes it
      if (const double g = grad_of(product)) set_grad(product->b, data_of(w) * g, false);
    if (i + 1 == count && !n->has(kNonlinear)) {  // n itself
      n->op = Op::add;
      n->a = last;
      n->b = product;
    } else {
      last = part(Op::add, last, product, inside + 2 * i + 1);
    }
  }
  if (n->has(kNonlinear)) {
    n->op = Op::relu;
    n->a = last;
  }
  n->set(kNonlinear, false);
  release(weights);
  release(inputs);
}

}  // namespace

// w0 * x0 and so on, each added to the sum so far, with the values that the operands had when the neuron was computed
// and, if it was part of a backward pass, with its gradients.
void expand(Node* n) {
  if (n->device >= 0) return expand_on_device(n);
  List* weights = n->weights;
  List* inputs = n->inputs;
  const uint32_t count = inputs->count;
  const bool nonlinear = n->has(kNonlinear), passed = n->has(kPassed);
  const double inner = n->k_grad;
  const bool inner_int = n->has(kNumberGradInt);
  const Input& bias = weights->items[count];
  const uint64_t counted = host_scalar_ops;  // what follows was computed before
  double sum = bias.number;
  bool sum_int = bias.is_int;
  Node* last = retain(bias.node);
  auto adopt = [&](Node* m, double data, bool is_int) {
    m->data = data;
    m->set(kInt, is_int);
    if (!passed) return;
    m->grad = inner;
    m->set(kGradInt, inner_int);
  };
  for (uint32_t i = 0; i < count; ++i) {
    const Input &w = weights->items[i], &x = inputs->items[i];
    const bool is_int = w.is_int && x.is_int;
    Node* product = x.node ? binary(Op::mul, w.node, x.node) : with_number(Op::mul, w.node, x.number, x.is_int);
    adopt(product, w.number * x.number, is_int);
    if (!x.node && passed) {
      product->k_grad = w.number * inner;
      product->set(kNumberGradInt, inner_int && w.is_int);
    }
    sum += w.number * x.number;
    sum_int &= is_int;
    if (i + 1 == count && !nonlinear) {  // n itself
      n->op = Op::add;
      n->a = last;
      n->b = product;
      break;
    }
    Node* next = binary(Op::add, last, product);
    adopt(next, sum, sum_int);
    release(last);
    release(product);
    last = next;
  }
  if (nonlinear) {
    n->op = Op::relu;
    n->a = last;
  }
  n->flags &= static_cast<uint16_t>(~(kNonlinear | kPassed | kNumberGradInt));
  host_scalar_ops = counted;
  release(weights);
  release(inputs);
}

void make_operands_nodes(Node* n) {
  if (n->op == Op::neuron) return expand(n);
  if (!n->has(kNumber)) return;
  Node* b = leaf(n->k, n->has(kNumberInt));
  b->grad = n->k_grad;
  b->set(kGradInt, n->has(kNumberGradInt));
  n->b = b;
  n->flags &= static_cast<uint16_t>(~(kNumber | kNumberInt | kNumberGradInt));
}

}  // namespace sg::value
