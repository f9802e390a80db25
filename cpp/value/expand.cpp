// Making visible what a node holds in a shorter form.
#include "value/graph.hpp"
#include "value/tape.hpp"

namespace sg::value {

// w0 * x0 and so on, each added to what came before, with the values that the operands had when the neuron was computed
// and, if it was part of a backward, with the gradients of that.
void expand(Node* n) {
  List* weights = n->weights;
  List* inputs = n->inputs;
  const uint32_t count = inputs->count;
  const bool nonlinear = n->has(kNonlinear), passed = n->has(kPassed), on_cpu = n->device < 0;
  const double inner = on_cpu ? n->k_grad : 0;
  const bool inner_int = n->has(kNumberGradInt);
  const Input& bias = weights->items[count];
  const uint64_t counted = host_scalar_ops;  // what follows was computed before
  double sum = bias.number;
  bool sum_int = bias.is_int;
  Node* last = retain(bias.node);
  auto adopt = [&](Node* m, double data, bool is_int) {
    if (!on_cpu) return;
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
    if (!x.node && passed && on_cpu) {
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
