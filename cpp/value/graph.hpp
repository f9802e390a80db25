// The whole scalar engine: functions that make nodes, read and write them, and walk them backward. Knows no tensors.
// Every function that makes a node returns one reference to it and takes its own of the operands.
// Threads: one at a time. Operands lie on one device.
#pragma once
#include "value/node.hpp"

namespace sg::value {

Node* leaf(double data, bool is_int, int device = -1);
Node* unary(Op op, Node* a);                                         // relu, exp ... cos
Node* binary(Op op, Node* a, Node* b);                               // add, mul, pow
Node* with_number(Op op, Node* a, double k, bool is_int);            // add, mul, power
Node* neuron(List* weights, List* inputs, bool nonlinear);           // takes over the references to the lists
Node* custom(double data, bool is_int, List* children, int device);  // likewise
Node* move(Node* a, int device);

// Sets root.grad to 1 and adds to the gradient of everything it depends on. The order is fixed: reverse of the
// depth-first order that finishes a node after its operands, first operand first.
void backward(Node* root);
void backward_across(Node* root);  // the same where the graph lies on several devices
// One step of that: adds n's part to the gradients of its operands.
void local_backward(Node* n);

// Current values: fetched from the node's device if they are there.
double data_of(Node* n);
double grad_of(Node* n);
void set_data(Node* n, double data, bool is_int);
void set_grad(Node* n, double grad, bool is_int);

// pow as Python does it: errors through language.power.
double power(double a, double k, bool is_int, bool k_is_int);

}  // namespace sg::value
