// Decides who answers a call. Knows no op.
#include "bind/dispatch.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "bind/autocast.hpp"
#include "graph/log.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

thread_local Interceptors open;

// Functions are made of others: the message begins with the one that was called. A parameter that a kernel found out of
// range is told later, at any call.
template <class E>
[[noreturn]] void fail_by_name(const E& error, const char* called) {
  const std::string_view message = error.what();
  const size_t colon = message.find(": ");
  const std::string name(message.substr(0, colon));
  const char* later = parameter_fault(name);
  if (*called == '_' || colon == message.npos || !names_function(name) ||
      (later && message.substr(colon + 2).starts_with(later)))
    throw E(error);
  throw E(called + std::string(message.substr(colon)));
}

PyObject* run(const Call& call) {
  ++operations_recorded;
  try {
    const bool casts = call.callable->autocast != Autocast::none && autocast_is_on();
    return casts ? call_autocast(call) : call.callable->body.run(call);
  } catch (const Answered&) {
    throw;
  } catch (const ValueError& error) {
    fail_by_name(error, call.callable->name);
  } catch (const TypeError& error) {
    fail_by_name(error, call.callable->name);
  }
}

struct PythonArguments {
  Object positional, keywords;
};
PythonArguments in_python(const Call& call) {
  const Py_ssize_t named = call.names ? PyTuple_GET_SIZE(call.names) : 0, first = call.self ? 1 : 0;
  PythonArguments a{Object(check(PyTuple_New(first + call.count))), Object(check(PyDict_New()))};
  if (first) PyTuple_SET_ITEM(a.positional.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t i = 0; i < call.count; ++i)
    PyTuple_SET_ITEM(a.positional.get(), first + i, Py_NewRef(call.values[i]));
  for (Py_ssize_t i = 0; i < named; ++i)
    check(PyDict_SetItem(a.keywords.get(), PyTuple_GET_ITEM(call.names, i), call.values[call.count + i]));
  return a;
}

PyObject* answer(PyObject* who, const Call& call, PyObject* function) {
  const PythonArguments a = in_python(call);
  return ask(who, function, a.positional.get(), a.keywords.get());
}

}  // namespace

PyObject* call_innermost(PyObject* function, PyObject* positional, PyObject* keywords) {
  const Interceptors all = open;
  if (!all) return check(PyObject_Call(function, positional, keywords));
  const Py_ssize_t last = PyTuple_GET_SIZE(all.get()) - 1;
  PyObject* const innermost = PyTuple_GET_ITEM(all.get(), last);
  set_interceptors(last > 0 ? shared(check(PyTuple_GetSlice(all.get(), 0, last))) : nullptr);
  PyObject* result = PyObject_CallFunctionObjArgs(innermost, function, positional, keywords, nullptr);
  set_interceptors(all);
  return check(result);
}

namespace {

// The first that stands for tensors; else who asks the classes of arguments.
template <class F>
PyObject* who_answers_for(const Call& call, F who_answers) {
  PyObject* found = call.self ? who_answers(call.self) : nullptr;
  const Py_ssize_t count = call.count + (call.names ? PyTuple_GET_SIZE(call.names) : 0);
  for (Py_ssize_t i = 0; i < count && (!found || asks_classes(found)); ++i)
    if (PyObject* who = who_answers(call.values[i])) found = who;
  return found;
}

PyObject* intercept(const Call& call, PyObject* function) {
  const PythonArguments a = in_python(call);
  return call_innermost(function, a.positional.get(), a.keywords.get());
}

bool is_of_the_package(const Callable& callable) {
  return callable.scope == Scope::function && callable.name[0] == '_';
}

// Of an argument, or of what is in a list of no numbers.
PyObject* who_answers_within(PyObject* o) {
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return who_answers(o);
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(o);
  if (size == 0 || PyLong_CheckExact(PySequence_Fast_GET_ITEM(o, 0)) ||
      PyFloat_CheckExact(PySequence_Fast_GET_ITEM(o, 0)))
    return nullptr;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (PyObject* who = who_answers(PySequence_Fast_GET_ITEM(o, i))) return who;
  return nullptr;
}
PyObject* who_asks_class_within(PyObject* o) {
  if (!PyTuple_CheckExact(o)) return who_asks_class(o);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
    if (PyObject* who = who_asks_class(PyTuple_GET_ITEM(o, i))) return who;
  return nullptr;
}

// A class that stands for tensors may leave a call to the function: then nullptr.
[[gnu::noinline]] PyObject* answer_of(PyObject* who, const Call& call, PyObject* function) {
  if (asks_classes(who)) {
    return calls.intercepted ? intercept(call, function) : check(answer(who, call, function));
  }
  if (who) {
    Object result(check(answer(who, call, function)));
    if (result.get() != Py_NotImplemented) return result.release();
  }
  return calls.intercepted ? intercept(call, function) : nullptr;
}

// An operator or an attribute as a function, for those who intercept it; `self` knows the callable.
PyObject* call_slot(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  auto* callable = static_cast<const Callable*>(PyCapsule_GetPointer(self, nullptr));
  if (!callable) return nullptr;
  if (n > 0 && !names) return dispatch_slot({args[0], args + 1, n - 1, nullptr, callable});
  return PyErr_Format(PyExc_TypeError, "%s: operands are positional", callable->name);
}

PyObject* slot_function(const Callable& callable) {
  if (callable.as_function) return callable.as_function;
  auto* made = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_slot));
  // For the life of the process, as CPython keeps pointers to definitions.
  auto* definition = new PyMethodDef{callable.name, made, METH_FASTCALL | METH_KEYWORDS, nullptr};
  const Object self(check(PyCapsule_New(const_cast<Callable*>(&callable), nullptr, nullptr)));
  return callable.as_function = check(PyCFunction_NewEx(definition, self.get(), nullptr));
}

// Kept out of line: most calls have nobody to ask.
[[gnu::noinline]] PyObject* answer_of_slot(const Call& call) {
  PyObject* const who = who_answers_for(call, who_asks_class_within);
  return who || calls.intercepted ? answer_of(who, call, slot_function(*call.callable)) : nullptr;
}

}  // namespace

const Interceptors& interceptors() { return open; }

void set_interceptors(Interceptors all) noexcept {
  calls.intercepted = bool(all);
  open = std::move(all);
}

Interceptors with_interceptor(PyObject* one) {
  const Object inside(check(PyTuple_Pack(1, one)));
  return shared(open ? check(PySequence_Concat(open.get(), inside.get())) : Py_NewRef(inside.get()));
}

PyObject* dispatch(const Call& call, PyObject* function) noexcept {
  return public_call([&] {
    return guarded([&]() -> PyObject* {
      PyObject* who = who_answers_for(call, who_answers);
      if (asks_classes(who) && is_of_the_package(*call.callable)) who = nullptr;
      if (who || calls.intercepted)
        if (PyObject* result = answer_of(who, call, function)) return result;
      try {
        return run(call);
      } catch (const Answered& element) {
        return answer(element.who, call, function);
      }
    });
  });
}

// Python asks a class that stands for tensors itself, when an operator gives NotImplemented.
PyObject* dispatch_slot(const Call& call) noexcept {
  return public_call([&] {
    return guarded([&] {
      PyObject* const answer = class_asker || calls.intercepted ? answer_of_slot(call) : nullptr;
      return answer ? answer : run(call);
    });
  });
}

PyObject* answer_of_others(const Call& call, PyObject* function) {
  PyObject* const who = who_answers_for(call, who_answers_within);
  return who || calls.intercepted ? answer_of(who, call, function) : nullptr;
}

}  // namespace sg::bind
