#include "bind/hooks.hpp"

#include "bind/errors.hpp"
#include "device/device.hpp"
#include "graph/log.hpp"

#if SPIROGRAD_GPU
#include "device/gpu/compiler.hpp"
#endif

namespace sg::bind {
namespace {

void* give_up_gil() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void take_back_gil(void* state) { restore_gil(static_cast<PyThreadState*>(state)); }

// Runs Python's signal handlers (they run in the main thread only) and ends the wait if one of them raised.
void look_for_signals() {
  const PyGILState_STATE state = ensure_gil();
  std::shared_ptr<PythonError> error;
  if (PyErr_CheckSignals() < 0) error = std::make_shared<PythonError>();
  PyGILState_Release(state);
  if (error) throw PythonError(*error);
}

// A cut computes or waits, so other threads may have the GIL meanwhile. Whoever wants the engine lock that is held
// here gives up the GIL first, so taking it back cannot deadlock.
void (*engine_cut)(Log&) = nullptr;
void cut_without_gil(Log& log) {
  if (!PyGILState_Check()) return engine_cut(log);
  WithoutGil unlocked;
  engine_cut(log);
}

void warn_of_cache(const std::string& message) {
  const PyGILState_STATE state = ensure_gil();
  const bool failed = PyErr_WarnEx(cache_warning(), message.c_str(), 1) < 0;
  std::shared_ptr<PythonError> error;
  if (failed) error = std::make_shared<PythonError>();  // warnings may be errors
  PyGILState_Release(state);
  if (error) throw PythonError(*error);
}

}  // namespace

void install_hooks() {
  contention_hooks = {give_up_gil, take_back_gil};
  interrupt_hook = look_for_signals;
  if (cut_hook && cut_hook != cut_without_gil) {
    engine_cut = cut_hook;
    cut_hook = cut_without_gil;
  }
#if SPIROGRAD_GPU
  cache_warning_hook = warn_of_cache;
#endif
}

}  // namespace sg::bind
