#include "bind/hooks.hpp"

#include "bind/cycles.hpp"
#include "bind/errors.hpp"
#include "bind/source.hpp"
#include "device/device.hpp"
#include "graph/log.hpp"

#if SPIROGRAD_GPU
#include "device/gpu/compiler.hpp"
#endif

namespace sg::bind {
namespace {

void* give_up_gil() {
  if (!PyGILState_Check()) return nullptr;
  ++without_gil;
  return PyEval_SaveThread();
}
void take_back_gil(void* state) {
  restore_gil(static_cast<PyThreadState*>(state));
  --without_gil;
}

// What a signal handler raised, Ctrl-C's KeyboardInterrupt before all.
struct SignalError : PythonError, Interruption {
  explicit SignalError(const PythonError& raised) : PythonError(raised) {}
};

// Runs Python's signal handlers (they run in the main thread only) and ends the wait if one of them raised. Threads may
// compute, and the process may write its cache, when the interpreter has ended.
void look_for_signals() {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = ensure_gil();
  std::shared_ptr<PythonError> error;
  if (PyErr_CheckSignals() < 0) error = std::make_shared<PythonError>();
  PyGILState_Release(state);
  if (error) throw SignalError(*error);
}

// A cut computes or waits, so other threads may have the GIL meanwhile. Whoever wants the engine lock that is held
// here gives up the GIL first, so taking it back cannot deadlock.
void (*engine_cut)(Log&, bool) = nullptr;
void cut_without_gil(Log& log, bool full) {
  if (!PyGILState_Check()) return engine_cut(log, full);
  WithoutGil unlocked;
  engine_cut(log, full);
}

void warn_of_cache(const std::string& message) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = ensure_gil();
  const bool failed = PyErr_WarnEx(cache_warning(), message.c_str(), 1) < 0;
  std::shared_ptr<PythonError> error;
  if (failed) error = std::make_shared<PythonError>();  // warnings may be errors
  PyGILState_Release(state);
  if (error) throw PythonError(*error);
}

PyObject* before_fork(PyObject*, PyObject*) {
  {
    WithoutGil unlocked;  // whoever is in the engine may need it to get out
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
  Py_RETURN_NONE;
}
PyMethodDef fork_functions[] = {{"before", before_fork, METH_NOARGS, nullptr},
                                {"after_in_parent", after_fork_in_parent, METH_NOARGS, nullptr},
                                {"after_in_child", after_fork_in_child, METH_NOARGS, nullptr}};

void register_at_fork() {
  Object os(check(PyImport_ImportModule("os")));
  Object function(check(PyObject_GetAttrString(os.get(), "register_at_fork")));
  Object none(check(PyTuple_New(0))), hooks(check(PyDict_New()));
  for (PyMethodDef& f : fork_functions)
    check(PyDict_SetItemString(hooks.get(), f.ml_name, Object(check(PyCFunction_New(&f, nullptr))).get()));
  Object done(check(PyObject_Call(function.get(), none.get(), hooks.get())));
}

}  // namespace

void install_hooks() {
  register_at_fork();
  contention_hooks = {give_up_gil, take_back_gil};
  interrupt_hook = look_for_signals;
  where_hook = running_line;
  if (cut_hook && cut_hook != cut_without_gil) {
    engine_cut = cut_hook;
    cut_hook = cut_without_gil;
  }
#if SPIROGRAD_GPU
  cache_warning_hook = warn_of_cache;
#endif
}

}  // namespace sg::bind
