// x[...] and x[...] = value: integers, slices, None, Ellipsis and tuples of them, as views.
#include "bind/arguments.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// A tensor on the way through a key: `dim` is the next dimension to be indexed.
struct Cursor {
  Tensor x;
  int dim = 0;
};

void take_slice(Cursor& at, PyObject* key) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
    PyErr_Clear();
    auto* parts = reinterpret_cast<PySliceObject*>(key);
    if (PyLong_Check(parts->step) && PyObject_IsTrue(parts->step) == 0)
      fail<ValueError>("getitem", "a slice step of 0", "use steps of 1 or more");
    fail<TypeError>("getitem", "a slice needs integers or None", "write x[1:3]");
  }
  if (step < 1) fail<ValueError>("getitem", "a slice step of " + std::to_string(step), "use steps of 1 or more");
  const Py_ssize_t count = PySlice_AdjustIndices(at.x.shape()[at.dim], &start, &stop, step);
  at.x = slice(at.x, at.dim++, start, count, step);
}

void take(Cursor& at, PyObject* key) {
  if (key == Py_None) {
    at.x = unsqueeze(at.x, at.dim++);
    return;
  }
  const bool index = PyIndex_Check(key) && !PyBool_Check(key) && !PySequence_Check(key);
  const bool tensor_index = is_tensor(key) && unwrap(key).numel() == 1 && !is_float(unwrap(key).dtype()) &&
                            unwrap(key).dtype() != DType::boolean && unwrap(key).rank() == 0;
  if (!PySlice_Check(key) && !index && !tensor_index)
    fail<TypeError>("getitem", "an index of type " + type_name(key) + " is not supported",
                    "use integers, slices, None and ...");
  if (at.dim >= at.x.rank())
    fail<IndexError>("getitem", "too many indices for shape " + at.x.shape().str(), "use at most one a dimension");
  if (PySlice_Check(key))
    take_slice(at, key);
  else
    at.x = select(at.x, at.dim, to_int("getitem", key));
}

bool is_whole(PyObject* key) {
  if (!PySlice_Check(key)) return false;
  auto* s = reinterpret_cast<PySliceObject*>(key);
  return s->start == Py_None && s->stop == Py_None && s->step == Py_None;
}

Tensor index(const Tensor& x, PyObject* key) {
  Cursor at{x};
  if (!PyTuple_Check(key)) {
    if (key != Py_Ellipsis) take(at, key);
    return at.x;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(key);
  int named = 0, dots = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* k = PyTuple_GET_ITEM(key, i);
    dots += k == Py_Ellipsis;
    named += k != Py_Ellipsis && k != Py_None;
  }
  if (dots > 1) fail<IndexError>("getitem", "more than one ... in an index", "use it once");
  if (named > x.rank())
    fail<IndexError>("getitem", std::to_string(named) + " indices for shape " + x.shape().str(),
                     "use at most one a dimension");
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* k = PyTuple_GET_ITEM(key, i);
    if (k == Py_Ellipsis)
      at.dim += x.rank() - named;
    else if (is_whole(k))
      ++at.dim;
    else
      take(at, k);
  }
  return at.x;
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&] { return wrap(index(unwrap(self), key)); });
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded([&] {
    if (!value) fail<TypeError>("delitem", "elements of a tensor cannot be deleted", "slice what you want to keep");
    const Tensor& x = unwrap(self);
    Tensor room;
    const Tensor target = index(x, key);
    const Tensor* v = operand(value, room, x.device());
    if (!v)
      fail<TypeError>("setitem", "a tensor, an array or a number is needed, got " + type_name(value),
                      "make a tensor with tensor()");
    copy_(target, v->is_number() ? *v : cast(*v, x.dtype()));
    return 0;
  });
}

PyObject* get_row(PyObject* self, Py_ssize_t row) {
  return guarded([&] {
    const Tensor& x = unwrap(self);
    if (x.rank() == 0) fail<IndexError>("getitem", "a 0-d tensor has no rows", "use item()");
    return wrap(select(x, 0, row));
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Tensor& x = unwrap(self);
    if (x.rank() == 0) fail<TypeError>("len", "a 0-d tensor has no length", "use numel()");
    return x.shape()[0];
  });
}

}  // namespace sg::bind
