// Calls the observer. Knows no op.
#include "bind/observer.hpp"

#include <utility>

#include "bind/bound.hpp"
#include "bind/methods.hpp"

namespace sg::bind {

PyObject* observer = nullptr;

namespace {

thread_local bool telling = false;

PyObject* told(const char* name, Object arguments, Object keywords, PyObject* result) {
  Object kept(result);
  if (!arguments || !keywords) return nullptr;
  if (!result || result == Py_NotImplemented || telling) return kept.release();
  Object function(Py_NewRef(observer));
  telling = true;
  Object answer(PyObject_CallFunction(function.get(), "sOOO", name, arguments.get(), keywords.get(), result));
  telling = false;
  return answer ? kept.release() : nullptr;
}

void set_observer(PyObject* function) {
  Py_XDECREF(std::exchange(observer, function == Py_None ? nullptr : Py_NewRef(function)));
}

constexpr Callable callables[] = {
    {"_set_observer", bound<set_observer>},
};

}  // namespace

PyObject* observed(const Call& call, PyObject* result) {
  const Py_ssize_t first = call.self ? 1 : 0, named = call.names ? PyTuple_GET_SIZE(call.names) : 0;
  Object arguments(PyTuple_New(first + call.count)), keywords(PyDict_New());
  if (!arguments || !keywords) return Object(result), nullptr;
  if (first) PyTuple_SET_ITEM(arguments.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t i = 0; i < call.count; ++i) PyTuple_SET_ITEM(arguments.get(), first + i, Py_NewRef(call.values[i]));
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.names, i), call.values[call.count + i]) < 0)
      return Object(result), nullptr;
  return told(call.callable->name, std::move(arguments), std::move(keywords), result);
}

PyObject* observed(const char* name, std::initializer_list<PyObject*> values, PyObject* result) {
  Object arguments(PyTuple_New(static_cast<Py_ssize_t>(values.size()))), keywords(PyDict_New());
  Py_ssize_t i = 0;
  if (arguments)
    for (PyObject* value : values) PyTuple_SET_ITEM(arguments.get(), i++, Py_NewRef(value));
  return told(name, std::move(arguments), std::move(keywords), result);
}

void add_observer(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
