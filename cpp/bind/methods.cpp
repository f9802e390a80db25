// Makes CPython's method tables from callables. Definitions live as long as the process, because CPython keeps pointers
// to them. Knows no op.
#include "bind/methods.hpp"

#include <array>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bind/answers.hpp"
#include "bind/bound.hpp"
#include "bind/dispatch.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {

namespace {

// CPython keeps pointers to definitions and their texts for ever.
std::deque<PyMethodDef> definitions;
std::deque<std::string> texts;

constexpr size_t kMaxCallables = 640;
Callable callables_added[kMaxCallables];
size_t rows_used = 0;

PyObject* module_of_functions = nullptr;

// CPython gives a C function no argument of its own, so each callable has an entry point that knows its number.
template <size_t i>
PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Callable& callable = callables_added[i];
  return dispatch({self, args, n, names, &callable}, callable.as_method);
}
// A function's first argument takes the place of a method's tensor; it may be given as input=.
template <size_t i>
PyObject* tensor_function(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Callable& callable = callables_added[i];
  const Py_ssize_t first = n > 0;
  return dispatch({first ? args[0] : nullptr, args + first, n - first, names, &callable}, callable.as_function);
}
template <size_t i>
PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Callable& callable = callables_added[i];
  return dispatch({nullptr, args, n, names, &callable}, callable.as_function);
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <size_t... i>
constexpr auto methods_of(std::index_sequence<i...>) {
  return std::array<Fast, sizeof...(i)>{method<i>...};
}
template <size_t... i>
constexpr auto tensor_functions_of(std::index_sequence<i...>) {
  return std::array<Fast, sizeof...(i)>{tensor_function<i>...};
}
template <size_t... i>
constexpr auto functions_of(std::index_sequence<i...>) {
  return std::array<Fast, sizeof...(i)>{function<i>...};
}
constexpr auto method_table = methods_of(std::make_index_sequence<kMaxCallables>());
constexpr auto tensor_function_table = tensor_functions_of(std::make_index_sequence<kMaxCallables>());
constexpr auto function_table = functions_of(std::make_index_sequence<kMaxCallables>());

const char* document(const Callable& callable, const std::string& self) {
  const std::string parameters = callable.text->plainly;
  texts.push_back(std::string(callable.name) + "(" + self + (self.empty() || parameters.empty() ? "" : ", ") +
                  parameters + ")\n--\n\n" + callable.text->doc);
  return texts.back().c_str();
}

// The tables that tests and docs read.
void note(PyObject* module, const char* table, const Callable& callable) {
  if (callable.scope == Scope::function && callable.name[0] == '_') return;  // for the package itself
  Object dict(PyObject_GetAttrString(module, table));
  if (!dict) {
    PyErr_Clear();
    dict = Object(check(PyDict_New()));
    check(PyModule_AddObjectRef(module, table, dict.get()));
  }
  const Text& text = *callable.text;
  Object entry(check(Py_BuildValue("(sss)", text.with_types, text.result, text.doc)));
  check(PyDict_SetItemString(dict.get(), callable.name, entry.get()));
}

// The names of callables by what autocast does to them, for tests.
void note_autocast(PyObject* module, const Callable& callable) {
  constexpr const char* lists[] = {nullptr, "_autocast_narrow", "_autocast_wide"};
  const char* list = lists[static_cast<int>(callable.autocast)];
  if (!list) return;
  PyObject* names = PyDict_GetItemString(PyModule_GetDict(module), list);
  if (!names) {
    Object fresh(check(PyList_New(0)));
    check(PyModule_AddObjectRef(module, list, names = fresh.get()));
  }
  check(PyList_Append(names, Object(check(PyUnicode_FromString(callable.name))).get()));
}

}  // namespace

bool names_function(std::string_view word) {
  static const auto* names = [] {
    auto* all = new std::unordered_set<std::string_view>;
    for (const OpInfo* op : all_ops()) all->insert(op->name);
    for (size_t i = 0; i < rows_used; ++i)
      if (callables_added[i].scope != Scope::function) all->insert(callables_added[i].name);
    return all;
  }();
  return names->contains(word);
}

PyObject* of_complex(const char* name, PyObject* a, PyObject* b) {
  Object asked(check(PyObject_GetAttrString(module_of_functions, name)));
  Object arguments(check(PyTuple_Pack(2, a, b))), keywords(check(PyDict_New()));
  return ask(complex_type(), asked.get(), arguments.get(), keywords.get());
}

namespace {

void add(PyObject* module, const Callable& row) {
  if (rows_used == kMaxCallables) fail<Error>("spirograd", "the table of functions is full", "raise kMaxCallables");
  const size_t i = rows_used++;
  Callable& callable = callables_added[i] = row;
  const bool method = callable.scope != Scope::function, function = callable.scope != Scope::method;
  if ((method && PyDict_GetItemString(tensor_type->tp_dict, callable.name)) ||
      (function && PyDict_GetItemString(PyModule_GetDict(module), callable.name)))
    fail_row(callable.name, "its name is taken");
  note_autocast(module, callable);
  const int flags = METH_FASTCALL | METH_KEYWORDS;
  auto as_function = [](Fast f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); };
  if (method) {
    definitions.push_back({callable.name, as_function(method_table[i]), flags, document(callable, "self")});
    Object descriptor(check(PyDescr_NewMethod(tensor_type, &definitions.back())));
    check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), callable.name, descriptor.get()));
    callable.as_method = descriptor.release();
    note(module, "_methods", callable);
  }
  if (function) {
    Object module_name(check(PyUnicode_FromString("spirograd")));
    definitions.push_back({callable.name, as_function(method ? tensor_function_table[i] : function_table[i]), flags,
                           document(callable, method ? "input" : "")});
    Object f(check(PyCFunction_NewEx(&definitions.back(), nullptr, module_name.get())));
    check(PyModule_AddObjectRef(module, callable.name, f.get()));
    callable.as_function = f.release();
    note(module, method ? "_tensor_functions" : "_functions", callable);
  }
}

}  // namespace

void add_callables(PyObject* module, const Callable* callables, size_t count) {
  module_of_functions = module;
  for (const Callable& callable : std::span(callables, count)) {
    add(module, callable);
    for (const Alias& alias : kAliases) {
      if (alias.of != callable.name) continue;
      Callable other(alias.name, callable.body, callable.autocast);
      other.op = callable.op;
      add(module, other);
    }
  }
}

}  // namespace sg::bind
