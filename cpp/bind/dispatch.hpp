// The one road of calls that Python makes: of functions, methods, operators and attributes. A call is answered by the
// first of
//   1. the class of an argument that answers for calls (answers.hpp)
//   2. the innermost interceptor that is open in the thread: a trace, a mode (modes.cpp opens it)
//   3. autocast, which converts the arguments where the callable says so
//   4. the callable's body
// An interceptor is called with (function, arguments, keywords), and what it gives is the result. While it runs, those
// outside of it are open; it and those inside are not.
// Threads: the GIL is held. Interceptors are of the thread that opened them.
#pragma once
#include <algorithm>
#include <memory>

#include "bind/calls.hpp"
#include "bind/methods.hpp"

namespace sg::bind {

using Interceptors = std::shared_ptr<PyObject>;  // a tuple, the innermost last; none: nobody
const Interceptors& interceptors();
void set_interceptors(Interceptors all) noexcept;
Interceptors with_interceptor(PyObject* one);  // those that are open, and one inside of them

// Never throws; nullptr with a Python error.
PyObject* dispatch(const Call& call, PyObject* function) noexcept;
PyObject* dispatch_slot(const Call& call) noexcept;

// A name as a template argument.
template <size_t n>
struct Name {
  char text[n];
  constexpr Name(const char (&from)[n]) { std::copy_n(from, n, text); }
};

// An operator or an attribute of Tensor: a callable whose name is no entry of the type, but a slot.
template <Name name, PyObject* (*body)(const Call&), Autocast autocast = Autocast::none>
struct Slot {
  static inline const Callable callable{name.text, Body(body), autocast, Scope::slot};
  static PyObject* one(PyObject* a) { return dispatch_slot({a, nullptr, 0, nullptr, &callable}); }
  static PyObject* two(PyObject* a, PyObject* b) { return dispatch_slot({a, &b, 1, nullptr, &callable}); }
  static PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return two(a, b);
  }
  static PyObject* attribute(PyObject* a, void*) { return one(a); }
};

}  // namespace sg::bind
