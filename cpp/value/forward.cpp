// Makes nodes; on the CPU a node has its value at once, on a device it is recorded. Knows no tensors.
#include <cmath>

#include "value/formulas.hpp"
#include "value/graph.hpp"
#include "value/tape.hpp"

namespace sg::value {

namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53: integers up to here are exact

// On a device the node is recorded, on the CPU it gets its value.
Node* finish(Node* n, double data, bool is_int) {
  ++host_scalar_ops;
  n->data = is_int ? data + 0.0 : data;  // integers have one zero
  n->set(kInt, is_int && std::abs(data) <= kExact);
  return n;
}
void put(Node* n, int device) {
  n->device = static_cast<int8_t>(device);
  try {
    runner_of(n).record_node(n);
  } catch (...) {
    release(n);  // of no tape yet
    throw;
  }
}
Node* on_device(Node* n, int device, bool is_int = false) {
  n->set(kInt, is_int);
  put(n, device);
  return n;
}

// A node whose value is given, although it may have operands.
template <class F>
Node* given(Op op, double data, bool is_int, int device, F set_operands) {
  Node* n = take_node();
  n->op = op;
  set_operands(n);
  n->data = data;
  n->set(kInt, is_int && std::abs(data) <= kExact);
  if (device >= 0) put(n, device);
  return n;
}

}  // namespace

Node* leaf(double data, bool is_int, int device) {
  return given(Op::leaf, data, is_int, device, [](Node*) {});
}

Node* unary(Op op, Node* a) {
  Node* n = take_node();
  n->op = op;
  n->a = retain(a);
  if (a->device >= 0) return on_device(n, a->device, (op == Op::relu || op == Op::abs) && a->has(kInt));
  if (op == Op::relu) return a->data < 0 ? finish(n, 0, true) : finish(n, a->data, a->has(kInt));
  return finish(n, unary_value(op, a->data), op == Op::abs && a->has(kInt));
}

Node* binary(Op op, Node* a, Node* b) {
  if (op == Op::pow && a->device < 0) {
    const bool is_int = a->has(kInt) && b->has(kInt) && b->data >= 0;
    const double data = power(a->data, b->data, a->has(kInt), b->has(kInt));  // may throw
    Node* n = take_node();
    n->op = op;
    n->a = retain(a);
    n->b = retain(b);
    return finish(n, data, is_int);
  }
  Node* n = take_node();
  n->op = op;
  n->a = retain(a);
  n->b = retain(b);
  if (a->device >= 0) return on_device(n, a->device, op != Op::pow && (a->flags & b->flags & kInt));
  return finish(n, op == Op::add ? a->data + b->data : a->data * b->data, a->flags & b->flags & kInt);
}

Node* with_number(Op op, Node* a, double k, bool is_int) {
  double data = 0;
  if (a->device < 0)
    data = op == Op::add ? a->data + k : op == Op::mul ? a->data * k : power(a->data, k, a->has(kInt), is_int);
  Node* n = take_node();
  n->op = op;
  n->a = retain(a);
  n->k = k;
  if (a->device >= 0) {
    if (op != Op::power) {
      n->b = leaf(k, is_int, a->device);
    } else {
      n->set(kNumberInt, is_int);
    }
    return on_device(n, a->device, a->has(kInt) && is_int && (op != Op::power || k >= 0));
  }
  n->k_grad = 0;
  n->flags |= static_cast<uint16_t>((op == Op::power ? 0 : kNumber) | kNumberGradInt | (is_int ? kNumberInt : 0));
  return finish(n, data, a->has(kInt) && is_int && (op != Op::power || k >= 0));
}

Node* neuron(List* weights, List* inputs, bool nonlinear) {
  Node* n = take_node();
  n->op = Op::neuron;
  n->weights = weights;
  n->inputs = inputs;
  n->set(kNonlinear, nonlinear);
  const uint32_t count = inputs->count;
  Node* bias = weights->items[count].node;
  if (bias->device >= 0) {
    for (uint32_t i = 0; i < count; ++i) {
      Input& x = inputs->items[i];
      if (x.node) continue;
      x.node = leaf(x.number, x.is_int, bias->device);
      x.literal = true;
    }
    return on_device(n, bias->device);
  }
  auto note = [](Input& in) {  // what the operand is now: expand() will want to know
    if (!in.node) return;
    in.number = in.node->data;
    in.is_int = in.node->has(kInt);
  };
  note(weights->items[count]);
  double sum = bias->data;
  bool is_int = bias->has(kInt);
  for (uint32_t i = 0; i < count; ++i) {
    Input &w = weights->items[i], &x = inputs->items[i];
    note(w);
    note(x);
    sum += w.number * x.number;
    is_int &= w.is_int && x.is_int;
  }
  host_scalar_ops += 2 * uint64_t(count);
  n->k_grad = 0;
  if (!nonlinear) return finish(n, sum, is_int);
  return sum < 0 ? finish(n, 0, true) : finish(n, sum, is_int);
}

Node* custom(double data, bool is_int, List* children, int device) {
  return given(Op::custom, data, is_int, device, [children](Node* n) { n->children = children; });
}

Node* move(Node* a, int device) {
  const double data = data_of(a);
  return given(Op::move, data, a->has(kInt), device, [a](Node* n) { n->a = retain(a); });
}

double data_of(Node* n) { return n->device < 0 ? n->data : runner_of(n).read_data(n); }

double grad_of(Node* n) {
  if (n->has(kBridged)) language.fetch_grad(n);
  return n->device < 0 ? n->grad : runner_of(n).read_grad(n);
}

void set_data(Node* n, double data, bool is_int) {
  if (n->device >= 0) {
    runner_of(n).before_write(n);
    runner_of(n).note_write(n);
    n->set(kDataWritten, true);
  }
  n->data = data;
  n->set(kInt, is_int && std::abs(data) <= kExact);
}

void set_grad(Node* n, double grad, bool is_int) {
  if (n->has(kBridged)) language.fetch_grad(n);  // what came before is overwritten, not added later
  if (n->device >= 0) {
    runner_of(n).note_write(n);
    n->set(kGradWritten, true);
  }
  n->grad = grad;
  n->set(kGradInt, is_int && std::abs(grad) <= kExact);
}

double power(double a, double k, bool is_int, bool k_is_int) {
  if (a > 0 && !is_int) {
    const double p = std::pow(a, k);
    if (p > 0 && p < HUGE_VAL) return p;
  }
  if (!language.power || (k == 2 && a != 0 && a * a < HUGE_VAL)) return std::pow(a, k);
  return language.power(a, k, is_int, k_is_int);
}

}  // namespace sg::value
