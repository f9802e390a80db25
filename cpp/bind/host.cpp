// Owns what the engine may ask of Python, and the hooks around fork(). Threads that compute may outlive the
// interpreter, so what they call asks first whether it is there.
#include "bind/host.hpp"

#include "base/host.hpp"
#include "bind/cycles.hpp"
#include "bind/errors.hpp"
#include "bind/source.hpp"
#include "graph/lock.hpp"
#include "graph/log.hpp"

namespace sg::bind {
namespace {

// What a signal handler raised: usually KeyboardInterrupt, from Ctrl-C.
struct SignalError : PythonError, Interruption {
  explicit SignalError(const PythonError& raised) : PythonError(raised) {}
};

class PythonHost final : public Host {
 public:
  SourceLocation line() override { return running_line(); }
  void* pause() override {
    if (!has_gil()) return nullptr;
    ++without_gil;
    return PyEval_SaveThread();
  }
  void resume(void* state) override {
    restore_gil(static_cast<PyThreadState*>(state));
    --without_gil;
  }
  // Runs Python's signal handlers (they run in the main thread only) and ends the wait if one of them raised. Threads may
  // compute, and the process may write its cache, when the interpreter has ended.
  void check_interrupts() override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = ensure_gil();
    std::shared_ptr<PythonError> error;
    if (PyErr_CheckSignals() < 0) error = std::make_shared<PythonError>();
    PyGILState_Release(state);
    if (error) throw SignalError(*error);
  }
  void compiling(size_t done, size_t all) override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = ensure_gil();
    try {
      Object module(check(PyImport_ImportModule("spirograd.progress")));
      Object answer(check(PyObject_CallMethod(module.get(), "compiling", "nn", static_cast<Py_ssize_t>(done),
                                              static_cast<Py_ssize_t>(all))));
    } catch (const PythonError&) {  // nobody is told
    }
    PyGILState_Release(state);
  }
  void warn_of_cache(const std::string& message) override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = ensure_gil();
    const bool failed = PyErr_WarnEx(cache_warning(), message.c_str(), 1) < 0;
    std::shared_ptr<PythonError> error;
    if (failed) error = std::make_shared<PythonError>();  // warnings may be errors
    PyGILState_Release(state);
    if (error) throw PythonError(*error);
  }
};

PyObject* before_fork(PyObject*, PyObject*) {
  {
    WithoutGil unlocked;  // a thread inside the engine may need it to leave
    lock_for_fork();
  }
  Py_RETURN_NONE;
}
PyObject* after_fork_in_parent(PyObject*, PyObject*) {
  unlock_after_fork(false);
  Py_RETURN_NONE;
}
PyObject* after_fork_in_child(PyObject*, PyObject*) {
  unlock_after_fork(true);
  end_other_threads();
  Py_RETURN_NONE;
}
PyMethodDef fork_functions[] = {{"before", before_fork, METH_NOARGS, nullptr},
                                {"after_in_parent", after_fork_in_parent, METH_NOARGS, nullptr},
                                {"after_in_child", after_fork_in_child, METH_NOARGS, nullptr}};

void register_at_fork() {
  Object os(check(PyImport_ImportModule("os")));
  if (!PyObject_HasAttrString(os.get(), "register_at_fork")) return;  // Windows has no fork()
  Object function(check(PyObject_GetAttrString(os.get(), "register_at_fork")));
  Object none(check(PyTuple_New(0))), hooks(check(PyDict_New()));
  for (PyMethodDef& f : fork_functions)
    check(PyDict_SetItemString(hooks.get(), f.ml_name, Object(check(PyCFunction_New(&f, nullptr))).get()));
  Object done(check(PyObject_Call(function.get(), none.get(), hooks.get())));
}

}  // namespace

void install_host() {
  static PythonHost python;
  register_at_fork();
  install(python);
}

}  // namespace sg::bind
