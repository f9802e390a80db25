// Attributes of Tensor: each reads or sets one fact of the handle. Records no ops beyond views.
#include "bind/arguments.hpp"
#include "bind/device.hpp"
#include "bind/dispatch.hpp"
#include "bind/numpy.hpp"
#include "bind/signature.hpp"
#include "bind/tensor.hpp"
#include "graph/log.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

PyObject* shape(PyObject* self, void*) {
  return guarded([&] { return dims_tuple(unwrap(self).shape()); });
}
PyObject* dtype(PyObject* self, void*) { return dtype_object(unwrap(self).dtype()); }
PyObject* device(PyObject* self, void*) {
  return guarded([&] { return device_object(unwrap(self).device()); });
}
PyObject* rank(PyObject* self, void*) { return PyLong_FromLong(unwrap(self).rank()); }
PyObject* is_leaf(PyObject* self, void*) {
  return guarded([&] {
    const GradMode off(false);  // as grad_fn
    return PyBool_FromLong(unwrap(self).is_leaf());
  });
}

PyObject* reversed(const Call& call) {
  const Tensor& x = unwrap(call.self);
  Dims order;
  for (int d = x.rank() - 1; d >= 0; --d) order.push(d);
  return wrap(sg::permute(x, order));
}
PyObject* matrix_transpose(const Call& call) {
  const Tensor& x = unwrap(call.self);
  if (x.rank() < 2)
    fail<ValueError>("mT", "a tensor of shape " + x.shape().str() + " has no matrices", "use two dimensions or more");
  return wrap(sg::transpose(x, -2, -1));
}
// For real numbers the adjoint is the transpose.
PyObject* adjoint(const Call& call) {
  const Tensor& x = unwrap(call.self);
  if (x.rank() != 2 && x.rank() != 0)
    fail<ValueError>("H", "a tensor of shape " + x.shape().str() + " is no matrix", "use mH for several");
  return reversed(call);
}

PyObject* itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(unwrap(self).dtype())); }
PyObject* nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(unwrap(self).numel() * static_cast<int64_t>(size_of(unwrap(self).dtype())));
}
PyObject* on_cpu(PyObject* self, void*) { return PyBool_FromLong(!unwrap(self).device().is_gpu()); }
PyObject* never(PyObject*, void*) { Py_RETURN_FALSE; }

PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(unwrap(self).shows_gradient()); });
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (!value) fail<TypeError>("requires_grad", "the attribute cannot be deleted", "set it to False");
    Tensor x = unwrap(self);
    x.requires_grad_(to_bool(value));
    return 0;
  });
}

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor g = unwrap(self).grad();
    if (!g) Py_RETURN_NONE;
    return wrap(g);
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    const Tensor& x = unwrap(self);
    if (!given(value)) {
      Tensor(x).set_grad({});
      return 0;
    }
    const Tensor& g = tensor_of("grad", value);
    if (!(g.shape() == x.shape()) || g.dtype() != x.dtype() || !(g.device() == x.device()))
      fail<ValueError>("grad",
                       "a gradient " + g.shape().str() + " " + name_of(g.dtype()) + " on " + g.device().str() +
                           " for a tensor " + x.shape().str() + " " + name_of(x.dtype()) + " on " + x.device().str(),
                       "they must agree");
    Tensor(x).set_grad(g);
    return 0;
  });
}

PyObject* get_data(PyObject* self, void*) {
  return guarded([&] { return wrap(unwrap(self).data()); });
}
// Every handle on the tensor sees the new values: this is how a model moves to another device.
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    const Tensor& x = unwrap(self);
    const Tensor& from = tensor_of("data", value);
    if (!x.is_leaf())
      fail<ValueError>("data", "the tensor was made by an operation", "replace the data of leaves only");
    const EngineLock lock;
    x->base = {};
    x->storage = from->storage;
    x->shape = from.shape();
    x->strides = from.strides();
    x->offset = from->offset;
    x->dtype = from.dtype();
    x->device = from.device();
    return 0;
  });
}

PyObject* grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Ref<GradNode> fn = [&] {
      const GradMode off(false);  // none, and no error, for a view without a history whose base got one
      const EngineLock lock;
      return unwrap(self).grad_fn();
    }();
    if (!fn) Py_RETURN_NONE;
    return grad_fn_object(fn);
  });
}

PyObject* retains_grad(PyObject* self, void*) { return PyBool_FromLong(bool(unwrap(self)->retained)); }
PyObject* version(PyObject* self, void*) { return PyLong_FromUnsignedLong(unwrap(self)->storage->version); }

using RequiresGrad = Fact<"requires_grad", get_requires_grad, set_requires_grad>;
using Grad = Fact<"grad", get_grad, set_grad>;
using Data = Fact<"data", get_data, set_data>;

}  // namespace

PyGetSetDef tensor_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, "The attributes that a program has set.", nullptr},
    {"shape", Fact<"shape", shape>::read, nullptr, doc("Tensor.shape"), nullptr},
    {"dtype", Fact<"dtype", dtype>::read, nullptr, doc("Tensor.dtype"), nullptr},
    {"device", Fact<"device", device>::read, nullptr, doc("Tensor.device"), nullptr},
    {"ndim", Fact<"ndim", rank>::read, nullptr, doc("Tensor.ndim"), nullptr},
    {"T", Slot<"T", reversed>::attribute, nullptr, doc("Tensor.T"), nullptr},
    {"mT", Slot<"mT", matrix_transpose>::attribute, nullptr, doc("Tensor.mT"), nullptr},
    {"H", Slot<"H", adjoint>::attribute, nullptr, doc("Tensor.H"), nullptr},
    {"mH", Slot<"mH", matrix_transpose>::attribute, nullptr, doc("Tensor.mH"), nullptr},
    {"itemsize", Fact<"itemsize", itemsize>::read, nullptr, doc("Tensor.itemsize"), nullptr},
    {"nbytes", Fact<"nbytes", nbytes>::read, nullptr, doc("Tensor.nbytes"), nullptr},
    {"is_cpu", Fact<"is_cpu", on_cpu>::read, nullptr, doc("Tensor.is_cpu"), nullptr},
    {"is_cuda", Fact<"is_cuda", never>::read, nullptr, doc("Tensor.is_cuda"), nullptr},
    {"is_leaf", Fact<"is_leaf", is_leaf>::read, nullptr, doc("Tensor.is_leaf"), nullptr},
    {"grad_fn", Fact<"grad_fn", grad_fn>::read, nullptr, doc("Tensor.grad_fn"), nullptr},
    {"retains_grad", Fact<"retains_grad", retains_grad>::read, nullptr, doc("Tensor.retains_grad"), nullptr},
    {"_version", Fact<"_version", version>::read, nullptr, doc("Tensor._version"), nullptr},
    {"requires_grad", RequiresGrad::read, RequiresGrad::write, doc("Tensor.requires_grad"), nullptr},
    {"grad", Grad::read, Grad::write, doc("Tensor.grad"), nullptr},
    {"data", Data::read, Data::write, doc("Tensor.data"), nullptr},
    {}};

}  // namespace sg::bind
