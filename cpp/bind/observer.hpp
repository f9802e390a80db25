// What sees every call of a callable, an operator or a view attribute while a program is traced (spirograd.onnx): a
// Python function of (name, arguments, keywords, result), or nobody.
// Threads: the GIL is held. One observer for the process, told of every thread; not of what it calls itself.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "bind/calls.hpp"
#include "graph/log.hpp"

namespace sg::bind {

struct Call;

extern PyObject* observer;  // nullptr: nobody

// Tells the observer; gives the result, or nullptr with the observer's error.
PyObject* observed(const Call& call, PyObject* result);
PyObject* observed(const char* name, std::initializer_list<PyObject*> arguments, PyObject* result);

// The name of an operator, as a template argument.
template <size_t n>
struct OperatorName {
  char text[n];
  constexpr OperatorName(const char (&from)[n]) { std::copy_n(from, n, text); }
};

// A slot of the type that the observer sees, and that counts as an operation.
template <OperatorName name, PyObject* (*slot)(PyObject*)>
PyObject* seen(PyObject* a) {
  ++operations_recorded;
  PyObject* result = public_call([&] { return slot(a); });
  return observer ? observed(name.text, {a}, result) : result;
}
template <OperatorName name, PyObject* (*slot)(PyObject*, PyObject*)>
PyObject* seen(PyObject* a, PyObject* b) {
  ++operations_recorded;
  PyObject* result = public_call([&] { return slot(a, b); });
  return observer ? observed(name.text, {a, b}, result) : result;
}
template <OperatorName name, PyObject* (*slot)(PyObject*, PyObject*, PyObject*)>
PyObject* seen(PyObject* a, PyObject* b, PyObject* modulus) {
  ++operations_recorded;
  PyObject* result = public_call([&] { return slot(a, b, modulus); });
  return observer ? observed(name.text, {a, b}, result) : result;
}

}  // namespace sg::bind
