// The parts of `bound` that do not depend on a function's type: taking the arguments that a callable names, and results
// as Python objects. Knows no op.
#include "bind/bound.hpp"

#include "bind/answers.hpp"

namespace sg::bind {
namespace {

PyObject* missing(const char* op, const Parameter& p) {
  fail<TypeError>(op, std::string("argument ") + p.name + " is missing", "see help(spirograd." + std::string(op) + ")");
}

PyTypeObject* values_and_indices() {
  static PyTypeObject* type = [] {
    static PyStructSequence_Field fields[] = {
        {"values", "The values."}, {"indices", "Where they are, along the dimension."}, {nullptr, nullptr}};
    static PyStructSequence_Desc desc = {"spirograd.values_and_indices", "Values, and their places along a dimension.",
                                         fields, 2};
    return PyStructSequence_NewType(&desc);
  }();
  return type;
}

}  // namespace

void fetch(const Callable& callable, const Call& call, PyObject** objects, size_t count, Fetched& f, Object& rest) {
  f.op = callable.name;
  Arguments a(callable.name, call);
  const Parameters& parameters = callable.text->parameters;
  size_t n = 0;
  if (callable.scope != Scope::function) {
    objects[n++] = call.self ? call.self : a.need("input");
    tensor_of(callable.name, objects[0]);
  }
  for (size_t i = 0; n < count; ++i, ++n) {
    const Parameter& p = parameters[i];
    PyObject* o;
    if (p.several) {
      rest = a.rest(p.name, p.alias);
      if (!rest && f.may_be_none && !call.names) rest = Object(check(PyTuple_New(0)));
      o = rest.get();
    } else {
      o = p.by_name ? a.keyword(p.name, p.alias) : a.take(p.name, p.alias);
    }
    if (!o) o = default_of(p);
    objects[n] = o ? o : missing(callable.name, p);
  }
  a.done();
  for (n = 0; n < count; ++n) {
    if (!is_tensor(objects[n])) continue;
    f.device = unwrap(objects[n]).device();
    break;
  }
}

// f(*size) with an array of sizes, or with what is none: the tuple made for "*size" holds that alone.
Dims From<Dims>::get(Fetched& f, PyObject* o) {
  PyObject* only = PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == 1 ? PyTuple_GET_ITEM(o, 0) : nullptr;
  const bool inside =
      only && (!PyIndex_Check(only) || PySequence_Check(only)) && !PyTuple_Check(only) && !PyList_Check(only);
  return to_dims(f.op, inside ? only : o);
}

std::vector<Dims> From<std::vector<Dims>>::get(Fetched& f, PyObject* o) {
  std::vector<Dims> shapes;
  const Object list(check(PySequence_Fast(o, "")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    shapes.push_back(to_dims(f.op, PySequence_Fast_GET_ITEM(list.get(), i)));
  return shapes;
}

std::string From<std::string>::get(Fetched& f, PyObject* o) {
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) fail<TypeError>(f.op, "a string is needed, got " + type_name(o), "see help()");
  return text;
}

std::vector<Tensor> From<std::vector<Tensor>>::get(Fetched& f, PyObject* o) {
  std::vector<Tensor> out;
  if (is_tensor(o)) fail<TypeError>(f.op, "a sequence of tensors is needed, got one tensor", "write [a, b]");
  Object list(PySequence_Fast(o, ""));
  if (!list) {
    PyErr_Clear();
    fail<TypeError>(f.op, "a sequence of tensors is needed, got " + type_name(o), "write [a, b]");
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    if (list.get() == o) leave_to_elements(f.op, item);
    out.push_back(tensor_of(f.op, item));
  }
  return out;
}

std::vector<int64_t> From<std::vector<int64_t>>::get(Fetched& f, PyObject* o) {
  std::vector<int64_t> out;
  Object list(PySequence_Fast(o, ""));
  if (!list) {
    PyErr_Clear();
    return {to_int(f.op, o)};
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    if (list.get() == o) leave_to_elements(f.op, item);
    out.push_back(to_int(f.op, item));
  }
  return out;
}

PyObject* to_python(std::pair<Tensor, Tensor> both) {
  Object pair(check(PyStructSequence_New(values_and_indices())));
  PyStructSequence_SetItem(pair.get(), 0, wrap(std::move(both.first)));
  PyStructSequence_SetItem(pair.get(), 1, wrap(std::move(both.second)));
  return pair.release();
}

PyObject* to_python(const std::vector<Tensor>& list) {
  Object tuple(check(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple.release();
}

PyObject* to_python(const std::string& text) {
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

}  // namespace sg::bind
