// C++ exceptions to Python ones and back. Every function that Python calls runs inside `guarded`.
// Threads: the GIL is held, unless said otherwise. Knows nothing of tensors.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <exception>
#include <memory>

#include "base/error.hpp"

namespace sg::bind {

// A Python exception on its way through C++. Takes the current one; may be copied, kept, destroyed and raised again
// without the GIL (only `restore` needs it).
class PythonError : public std::exception {
 public:
  PythonError();
  const char* what() const noexcept override { return "a Python exception"; }
  void restore() const;

 private:
  std::shared_ptr<PyObject> value_;
};

// Creates the exception classes and puts them into the module.
void add_errors(PyObject* module);
// Sets the Python error for the exception being handled.
void set_python_error() noexcept;
// Throws PythonError with a builtin exception, for cases that no C++ class stands for (OverflowError).
[[noreturn]] void raise(PyObject* type, const std::string& message);
PyObject* cache_warning();

// nullptr means that a Python error is set.
inline PyObject* check(PyObject* result) {
  if (!result) throw PythonError();
  return result;
}
inline void check(int result) {
  if (result < 0) throw PythonError();
}

template <class F>
auto guarded(F body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    set_python_error();
  }
  if constexpr (std::is_pointer_v<decltype(body())>)
    return nullptr;
  else
    return -1;
}

// An owned reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : p_(owned) {}
  Object(const Object&) = delete;
  Object(Object&& o) noexcept : p_(o.release()) {}
  Object& operator=(Object&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Take the GIL. Once the interpreter is being finalised they never return: CPython then ends the thread that asks, by
// unwinding frames that may not be unwound, so the thread is parked instead; the process is about to end.
void restore_gil(PyThreadState* state) noexcept;
PyGILState_STATE ensure_gil() noexcept;
// Whether this thread may call Python. PyGILState_Check() alone says yes to all threads once Python ends.
inline bool has_gil() { return Py_IsInitialized() && PyGILState_Check(); }

// Gives up the GIL for a scope: around everything that may wait or compute for long.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { restore_gil(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Has the GIL for a scope, also in a thread that Python does not know.
class WithGil {
 public:
  WithGil() : state_(ensure_gil()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// A Python object that may be copied and let go without the GIL.
std::shared_ptr<PyObject> shared(PyObject* owned);

}  // namespace sg::bind
