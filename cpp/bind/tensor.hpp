// The Python type Tensor, written against CPython itself: a call through it costs a tenth of a microsecond.
// `wrap` and `unwrap` go between Python objects and sg::Tensor; `operand` takes whatever may stand beside an operator.
// Threads: the GIL is held.
#pragma once
#include "bind/errors.hpp"
#include "graph/tensor.hpp"

namespace sg::bind {

struct Call;

struct PyTensor {
  PyObject_HEAD Tensor value;
  PyObject* weak_references;
  PyObject* attributes;  // __dict__, once a program asks for it
};

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* o) { return Py_IS_TYPE(o, tensor_type) || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
inline const Tensor& unwrap(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->value; }
// TypeError naming the operation when it is no tensor.
const Tensor& tensor_of(const char* op, PyObject* o);
// The object by which Python knows the tensor already, so that `p.grad is g` holds, or a new one.
PyObject* wrap(Tensor t, PyTypeObject* type = tensor_type);

// The tensor, the Python or NumPy number, or the NumPy array as a tensor on `device`. Numbers and arrays are put into
// `room`. nullptr for other objects.
const Tensor* operand(PyObject* o, Tensor& room, DeviceId device);
// The same; TypeError for any other object.
const Tensor& operand_of(const char* op, PyObject* o, Tensor& room, DeviceId device);
// A Python or NumPy number; false: it is something else. OverflowError beyond int64.
bool number(PyObject* o, Tensor& out);

void add_tensor_type(PyObject* module);
// Slots of the type, by file.
extern PyGetSetDef tensor_attributes[];  // attributes.cpp
PyObject* get_item(const Call& call);    // index.cpp
PyObject* set_item(const Call& call);
void set_legacy_keys(bool on);
Tensor legacy_mask(const Tensor& index);  // an index of uint8 as bool, where keys are legacy ones
Py_ssize_t length(PyObject* self);
PyObject* grad_fn_object(const Ref<GradNode>& fn);  // autograd.cpp

}  // namespace sg::bind
