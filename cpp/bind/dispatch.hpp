// The one road of calls that Python makes: of functions, methods, operators and attributes, and of functions written in
// Python (overridable.cpp). A call is answered by the first of
//   1. the class of an argument that stands for tensors (answers.hpp)
//   2. the innermost interceptor that is open in the thread: a trace, a mode (modes.cpp opens it)
//   3. the class of an argument with PyTorch's __torch_function__
//   4. autocast, which converts the arguments where the callable says so
//   5. the callable's body
// An interceptor is called with (function, arguments, keywords), and what it gives is the result. While it runs, those
// outside of it are open; it and those inside are not.
// Threads: the GIL is held. Interceptors are of the thread that opened them.
#pragma once
#include <algorithm>
#include <memory>

#include "bind/answers.hpp"
#include "bind/calls.hpp"
#include "bind/methods.hpp"

namespace sg::bind {

using Interceptors = std::shared_ptr<PyObject>;  // a tuple, the innermost last; none: nobody
const Interceptors& interceptors();
void set_interceptors(Interceptors all) noexcept;
Interceptors with_interceptor(PyObject* one);  // those that are open, and one inside of them

// What the innermost makes of a call of a function; the function's own result when none is open.
PyObject* call_innermost(PyObject* function, PyObject* positional, PyObject* keywords);

// Never throws; nullptr with a Python error.
PyObject* dispatch(const Call& call, PyObject* function) noexcept;
PyObject* dispatch_slot(const Call& call) noexcept;
// What 1 to 3 make of a call, also when they are in a list; nullptr: nobody answers. PythonError when they fail.
PyObject* answer_of_others(const Call& call, PyObject* function);
// Whether somebody else may answer for an attribute of an object.
inline bool is_asked_about(PyObject* o) { return calls.intercepted || who_asks_class(o); }

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

// An attribute that is a fact of the handle: nothing is recorded, so nobody else is asked unless there is somebody.
template <Name name, getter get, setter set = nullptr>
struct Fact {
  static PyObject* body(const Call& call) {
    if (call.count == 0) return get(call.self, nullptr);
    check(set ? set(call.self, call.values[0], nullptr) : -1);
    Py_RETURN_NONE;
  }
  using Asked = Slot<name, body>;
  static PyObject* read(PyObject* self, void*) { return is_asked_about(self) ? Asked::one(self) : get(self, nullptr); }
  static int write(PyObject* self, PyObject* value, void*) {
    if (!value || !is_asked_about(self)) return set(self, value, nullptr);
    return Object(Asked::two(self, value)) ? 0 : -1;
  }
};

}  // namespace sg::bind
