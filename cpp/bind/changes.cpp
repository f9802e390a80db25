// Sets attributes of Python's objects, and sets them back. Knows no optimiser.
#include "bind/changes.hpp"

namespace sg::bind {

void Changes::make() {
  const Py_ssize_t count = PyList_Size(list_);
  if (count < 0) throw PythonError();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *object, *name, *value;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list_, i), "OOO", &object, &name, &value)) throw PythonError();
    Object before(check(PyObject_GetAttr(object, name)));
    check(PyObject_SetAttr(object, name, value));
    before_.push_back(std::move(before));
  }
}

void Changes::undo() noexcept {
  for (size_t i = before_.size(); i-- > 0;) {
    PyObject* const change = PyList_GET_ITEM(list_, static_cast<Py_ssize_t>(i));
    if (PyObject_SetAttr(PyTuple_GET_ITEM(change, 0), PyTuple_GET_ITEM(change, 1), before_[i].get()) < 0) PyErr_Clear();
  }
  before_.clear();
}

}  // namespace sg::bind
