// Reads the arguments of one call and converts the simple ones. An invalid one raises an error that names the function
// and the argument. Knows no op.
#include "bind/arguments.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/shape.hpp"
#include "bind/answers.hpp"
#include "bind/methods.hpp"

namespace sg::bind {
namespace {

bool is_index(PyObject* o) { return PyIndex_Check(o) && !PySequence_Check(o); }

// How many letters must be put in, left out or changed to make one word of the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = row[0]++;
    for (size_t j = 0; j < b.size(); ++j)
      before = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, before + (a[i] != b[j])}));
  }
  return row.back();
}

// The first keyword that the function lacks, and the nearest that it has.
[[noreturn]] void fail_keyword(const std::string& op, const Call& call) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.names); ++i) {
    const char* text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.names, i));
    const std::string_view given = text ? text : "?";
    const Parameter* nearest = nullptr;
    size_t least = 3;
    std::string all;
    bool known = false;
    for (const Parameter& p : call.callable->text->parameters) {
      all += (all.empty() ? "" : ", ") + std::string(p.name);
      for (std::string_view name : {std::string_view(p.name), std::string_view(p.alias ? p.alias : p.name)}) {
        known |= given == name;
        if (const size_t d = distance(given, name); d < std::min(least, given.size())) {
          least = d;
          nearest = &p;
        }
      }
    }
    if (known) continue;
    fail<TypeError>(op, "unknown keyword '" + std::string(given) + "'",
                    nearest       ? "did you mean " + std::string(nearest->name) + "?"
                    : all.empty() ? "it takes none"
                                  : "its keywords are " + all);
  }
  fail<TypeError>(op, "an argument is given twice", "give it once");
}

}  // namespace

PyObject* Arguments::keyword(const char* name, const char* alias) {
  if (!call_.names) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(call_.names);
  PyObject* found = nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* key = PyTuple_GET_ITEM(call_.names, i);
    if (PyUnicode_CompareWithASCIIString(key, name) && !(alias && !PyUnicode_CompareWithASCIIString(key, alias)))
      continue;
    if (found) fail<TypeError>(op_, std::string("both ") + name + " and " + alias + " are given", "give one of them");
    found = call_.values[call_.count + i];
    ++named_;
  }
  return found;
}

PyObject* Arguments::take(const char* name, const char* alias) {
  PyObject* by_name = keyword(name, alias);
  if (next_ >= call_.count) return by_name;
  if (by_name) fail<TypeError>(op_, std::string("argument ") + name + " is given twice", "give it once");
  return call_.values[next_++];
}

PyObject* Arguments::need(const char* name, const char* alias) {
  PyObject* o = take(name, alias);
  if (!o)
    fail<TypeError>(op_, std::string("argument ") + name + " is missing",
                    "see help(spirograd." + std::string(op_) + ")");
  return o;
}

Object Arguments::rest(const char* name, const char* alias) {
  if (PyObject* by_name = keyword(name, alias)) return Object(Py_NewRef(by_name));
  const Py_ssize_t left = call_.count - next_;
  if (left <= 0) return {};
  PyObject* const* values = call_.values + next_;
  next_ = call_.count;
  if (left == 1 && (PyList_Check(values[0]) || PyTuple_Check(values[0]))) return Object(Py_NewRef(values[0]));
  Object tuple(check(PyTuple_New(left)));
  for (Py_ssize_t i = 0; i < left; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[i]));
  return tuple;
}

void Arguments::done() {
  if (next_ < call_.count)
    fail<TypeError>(op_, std::to_string(call_.count - next_) + " argument(s) too many",
                    "see help(spirograd." + std::string(op_) + ")");
  if (call_.names && named_ < PyTuple_GET_SIZE(call_.names)) fail_keyword(op_, call_);
}

bool Arguments::flag(const char* name, bool fallback, const char* alias) {
  PyObject* o = take(name, alias);
  return given(o) ? to_bool(o) : fallback;
}

std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

int64_t to_int(const char* op, PyObject* o) {
  if (PyFloat_Check(o)) fail<TypeError>(op, "an integer is needed, got a float", "use int()");
  if (!PyIndex_Check(o)) fail<TypeError>(op, "an integer is needed, got " + type_name(o), "give an int");
  Object index(check(PyNumber_Index(o)));
  const long long v = PyLong_AsLongLong(index.get());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_OverflowError, std::string(op) + ": an integer does not fit into int64; use a float");
  }
  return v;
}

double to_real(const char* op, PyObject* o) {
  const double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    fail<TypeError>(op, "a number is needed, got " + type_name(o), "give a float");
  }
  return v;
}

bool to_bool(PyObject* o) {
  const int v = PyObject_IsTrue(o);
  check(v);
  return v != 0;
}

Dims to_dims(const char* op, PyObject* o) {
  Dims dims;
  if (is_index(o)) {
    dims.push(to_int(op, o));
    return dims;
  }
  Object list(PySequence_Fast(o, ""));
  if (!list) {
    PyErr_Clear();
    fail<TypeError>(op, "sizes are needed, got " + type_name(o), "give ints or a tuple of ints");
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    if (list.get() == o) leave_to_elements(op, item);
    dims.push(to_int(op, item));
  }
  return dims;
}

PyObject* dims_tuple(const Dims& dims) {
  Object tuple(check(PyTuple_New(dims.rank)));
  for (int d = 0; d < dims.rank; ++d) PyTuple_SET_ITEM(tuple.get(), d, check(PyLong_FromLongLong(dims[d])));
  return tuple.release();
}

}  // namespace sg::bind
