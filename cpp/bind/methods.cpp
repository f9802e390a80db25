// Makes CPython's method tables from rows. Definitions live as long as the process, because CPython keeps pointers to
// them. Knows no op.
#include "bind/methods.hpp"

#include <array>
#include <deque>
#include <string>

#include "bind/autocast.hpp"
#include "bind/signature.hpp"
#include "bind/tensor.hpp"

namespace sg::bind {
namespace {

// CPython keeps pointers to definitions and their texts for ever.
std::deque<PyMethodDef> definitions;
std::deque<std::string> texts;

constexpr size_t kMaxRows = 640;
Row rows_added[kMaxRows];
size_t rows_used = 0;

PyObject* run(const Call& call) {
  return call.row->autocast != Autocast::none && autocast_is_on() ? call_autocast(call) : call.row->body.run(call);
}

template <size_t i>
PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] { return run(Call{self, args, n, names, &rows_added[i]}); });
}

// A function's first argument takes the place of a method's tensor; it may be given as input=.
template <size_t i>
PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Row& row = rows_added[i];
    if (n > 0) return run(Call{args[0], args + 1, n - 1, names, &row});
    return run(Call{nullptr, args, n, names, &row});
  });
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <size_t... i>
constexpr auto methods_of(std::index_sequence<i...>) {
  return std::array<Fast, sizeof...(i)>{method<i>...};
}
template <size_t... i>
constexpr auto functions_of(std::index_sequence<i...>) {
  return std::array<Fast, sizeof...(i)>{function<i>...};
}
constexpr auto method_table = methods_of(std::make_index_sequence<kMaxRows>());
constexpr auto function_table = functions_of(std::make_index_sequence<kMaxRows>());

// "dim: int | None = None, keepdim: bool = False" -> "dim=None, keepdim=False"
std::string without_types(const std::string& parameters) {
  std::string out;
  int depth = 0;
  bool in_type = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const char c = parameters[i];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth == 0 && c == ':') in_type = true;
    if (depth == 0 && c == ',') in_type = false;
    if (depth == 0 && c == '=') {
      in_type = false;
      out += '=';
      ++i;  // the blank behind it
      continue;
    }
    if (!in_type) out += c;
  }
  return out;
}

const char* document(const Row& row, const char* self) {
  const std::string parameters = without_types(row.parameters);
  texts.push_back(std::string(row.name) + "(" + self + (*self && !parameters.empty() ? ", " : "") + parameters +
                  ")\n--\n\n" + row.doc);
  return texts.back().c_str();
}

void note(PyObject* module, const char* table, const Row& row) {
  if (row.scope == Scope::function && row.name[0] == '_') return;  // for the package itself
  Object dict(PyObject_GetAttrString(module, table));
  if (!dict) {
    PyErr_Clear();
    dict = Object(check(PyDict_New()));
    check(PyModule_AddObjectRef(module, table, dict.get()));
  }
  Object entry(check(Py_BuildValue("(sss)", row.parameters, row.result, row.doc)));
  check(PyDict_SetItemString(dict.get(), row.name, entry.get()));
}

// The names of rows by what autocast does to them, for tests.
void note_autocast(PyObject* module, const Row& row) {
  constexpr const char* lists[] = {nullptr, "_autocast_narrow", "_autocast_wide"};
  const char* list = lists[static_cast<int>(row.autocast)];
  if (!list) return;
  PyObject* names = PyDict_GetItemString(PyModule_GetDict(module), list);
  if (!names) {
    Object fresh(check(PyList_New(0)));
    check(PyModule_AddObjectRef(module, list, names = fresh.get()));
  }
  check(PyList_Append(names, Object(check(PyUnicode_FromString(row.name))).get()));
}

}  // namespace

void add_rows(PyObject* module, const Row* rows, size_t count) {
  Object module_name(check(PyUnicode_FromString("spirograd")));
  for (size_t r = 0; r < count; ++r) {
    if (rows_used == kMaxRows) fail<Error>("spirograd", "the table of functions is full", "raise kMaxRows");
    const size_t i = rows_used++;
    Row& row = rows_added[i] = rows[r];
    row.name = texts.emplace_back(row.name).c_str();  // names of generated rows are temporary
    check_row(module, row);
    note_autocast(module, row);
    const int flags = METH_FASTCALL | METH_KEYWORDS;
    auto as_function = [](Fast f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); };
    if (row.scope != Scope::function) {
      definitions.push_back({row.name, as_function(method_table[i]), flags, document(row, "self")});
      Object descriptor(check(PyDescr_NewMethod(tensor_type, &definitions.back())));
      check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), row.name, descriptor.get()));
      note(module, "_methods", row);
    }
    if (row.scope != Scope::method) {
      definitions.push_back({row.name, as_function(row.scope == Scope::both ? function_table[i] : method_table[i]),
                             flags, document(row, row.scope == Scope::both ? "input" : "")});
      Object f(check(PyCFunction_NewEx(&definitions.back(), nullptr, module_name.get())));
      check(PyModule_AddObjectRef(module, row.name, f.get()));
      note(module, row.scope == Scope::both ? "_tensor_functions" : "_functions", row);
    }
  }
}

}  // namespace sg::bind
