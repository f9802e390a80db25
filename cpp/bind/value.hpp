// The Python type Value, written against CPython itself: an operator costs well under a tenth of a microsecond.
// A node has at most one Python object at a time, so identity works as in micrograd; what Python keeps for a node
// beyond its numbers (label, own functions, other attributes) stays with the node.
// Threads: the GIL is held.
#pragma once
#include "bind/errors.hpp"
#include "value/node.hpp"

namespace sg::bind {

struct PyValue {
  PyObject_HEAD value::Node* node;
  PyObject* weak_references;
};

extern PyTypeObject* value_type;

inline bool is_value(PyObject* o) { return Py_IS_TYPE(o, value_type) || PyType_IsSubtype(Py_TYPE(o), value_type); }
inline value::Node* node_of(PyObject* o) { return reinterpret_cast<PyValue*>(o)->node; }
// The object of a node; takes over one reference to it.
PyObject* wrap(value::Node* node);

// A Python or NumPy number. false: it is something else.
bool scalar(PyObject* o, double& out, bool& is_int);

// What Python keeps for a node: made on first use, forgotten with the node.
struct Extra {
  Object label, op, backward, attributes;
};
Extra* find_extra(const value::Node* node);  // nullptr: none
Extra& extra_of(PyObject* value);            // as soon as it holds more than text, the collector has to know

void add_value_type(PyObject* module);
extern PyGetSetDef value_attributes[];  // value_attributes.cpp
extern PyMethodDef value_methods[];
void add_neurons(PyObject* module);        // value_nn.cpp
void add_value_tensors(PyObject* module);  // value_tensor.cpp
// Leaf tensors made of Values (value_tensor.cpp): a node that is being freed, and the gradient that came through them.
void forget_leaves(value::Node* node);
void fetch_grad(value::Node* node);

}  // namespace sg::bind
