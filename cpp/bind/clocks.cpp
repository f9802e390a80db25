// Clocks of Python's module `time` that first finish what the thread recorded on the CPU, for programs written for a
// library that computes at once (python/spirograd/torch/clocks.py). They stay functions of C and of that module, so that
// they can be pickled and do not become methods in a class.
#include <array>
#include <utility>

#include "bind/bound.hpp"
#include "bind/calls.hpp"
#include "bind/methods.hpp"
#include "engine/engine.hpp"
#include "graph/log.hpp"

namespace sg::bind {
namespace {

constexpr const char* kNames[] = {"time",         "time_ns",         "monotonic",    "monotonic_ns",
                                  "perf_counter", "perf_counter_ns", "process_time", "process_time_ns",
                                  "thread_time",  "thread_time_ns"};
PyObject* originals[std::size(kNames)];
PyMethodDef replaced[std::size(kNames)];
PyObject* passed_over = nullptr;  // packages whose looking at a clock finishes nothing

bool is_pending() {
  const EngineLock lock;
  return !log_of({}).nodes.empty();
}

bool is_passed_over() {
  PyObject* const globals = PyEval_GetGlobals();
  PyObject* const name = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  if (!name || !PyUnicode_Check(name)) return false;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name), dot = PyUnicode_FindChar(name, '.', 0, length, 1);
  const Object package(check(PyUnicode_Substring(name, 0, dot < 0 ? length : dot)));
  const int found = PySet_Contains(passed_over, package.get());
  check(found);
  return found;
}

template <size_t i>
PyObject* look(PyObject*, PyObject*) {
  return guarded([] {
    if (calls.made && is_pending() && !is_passed_over()) {
      const WithoutGil unlocked;
      synchronize({});
    }
    return check(PyObject_CallNoArgs(originals[i]));
  });
}
template <size_t... i>
constexpr auto clocks_of(std::index_sequence<i...>) {
  return std::array<PyCFunction, sizeof...(i)>{look<i>...};
}

void finish_before_clocks(PyObject* packages) {
  if (passed_over) return;
  passed_over = check(PyFrozenSet_New(packages));
  constexpr auto clocks = clocks_of(std::make_index_sequence<std::size(kNames)>());
  const Object time(check(PyImport_ImportModule("time"))), module_name(check(PyUnicode_FromString("time")));
  for (size_t i = 0; i < clocks.size(); ++i) {
    Object original(PyObject_GetAttrString(time.get(), kNames[i]));
    if (!original) PyErr_Clear();  // not on every system
    if (!original || !PyCFunction_CheckExact(original.get())) continue;
    replaced[i] = *reinterpret_cast<PyCFunctionObject*>(original.get())->m_ml;
    replaced[i].ml_meth = clocks[i];
    const Object clock(check(PyCFunction_NewEx(&replaced[i], time.get(), module_name.get())));
    originals[i] = original.release();
    check(PyObject_SetAttrString(time.get(), kNames[i], clock.get()));
  }
}

constexpr Callable clock_functions[] = {
    {"_finish_before_clocks", bound<finish_before_clocks>},
};

}  // namespace

void add_clocks(PyObject* module) { add_callables(module, clock_functions); }

}  // namespace sg::bind
