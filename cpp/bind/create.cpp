// Functions and methods that make tensors from sizes, numbers or Python data. Owns what their keyword arguments mean;
// ops/create.cpp makes the values.
#include "bind/bound.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// A number, also as a tensor of one element, which is read.
struct Scalar {
  Tensor number;
};

}  // namespace
template <>
struct From<Scalar> {
  static Scalar get(Fetched& f, PyObject* o) {
    Scalar s;
    if (number(o, s.number)) return s;
    if (!is_tensor(o) || unwrap(o).numel() != 1)
      fail<TypeError>(f.op, "a number is needed, got " + type_name(o), "give a float or an int");
    number(Object(to_number(f.op, unwrap(o))).get(), s.number);
    return s;
  }
};
template <>
struct From<IntOrReal> {
  static IntOrReal get(Fetched& f, PyObject* o) {
    if (PyIndex_Check(o) && !(is_tensor(o) && is_float(unwrap(o).dtype()))) return to_int(f.op, o);
    return to_real(f.op, o);
  }
};
namespace {

// A copy of a tensor's values or of Python data.
Tensor copy_of(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId device) {
  if (!is_tensor(data)) return from_python(op, data, dtype, device);
  const Tensor x = unwrap(data).detach();
  const Tensor t = moved(x, dtype, device);
  return t->storage.get() == x->storage.get() ? sg::clone(x) : t;
}

DeviceId device_for(PyObject* data, const std::optional<DeviceId>& device) {
  return device.value_or(is_tensor(data) ? unwrap(data).device() : device_or_default(nullptr));
}

Tensor tensor(PyObject* data, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return copy_of("tensor", data, dtype, device_for(data, device));
}
Tensor new_tensor(const Tensor& x, PyObject* data, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return copy_of("new_tensor", data, dtype.value_or(x.dtype()), device.value_or(x.device()));
}

Tensor from_numpy(PyObject* given) {
  if (!PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject*>(numpy().ndarray)))
    fail<TypeError>("from_numpy", std::string("got ") + Py_TYPE(given)->tp_name,
                    "give an array; tensor() copies anything");
  const Object plain = plain_array(given);
  PyObject* array = plain.get();
  Object type(check(PyObject_GetAttrString(array, "dtype")));
  const DType dtype = to_dtype("from_numpy", type.get());
  if (std::optional<Tensor> shared = share_array(array, dtype)) return *std::move(shared);
  Object flags(check(PyObject_GetAttrString(array, "flags")));
  Object writable(check(PyObject_GetAttrString(flags.get(), "writeable")));
  if (to_bool(writable.get()))
    fail<ValueError>("from_numpy", "the array has negative strides or another byte order", "make a copy with tensor()");
  check(PyErr_WarnEx(PyExc_UserWarning, "from_numpy: the array is read-only, so the tensor has a copy of it", 1));
  return from_python("from_numpy", array, dtype, {});
}

Tensor full(const Dims& size, const Scalar& value, std::optional<DType> dtype, DeviceId device) {
  return filled(size, value.number, dtype, device);
}
Tensor full_like(const Tensor& x, const Scalar& value, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return sg::full_like(x, value.number, dtype, device);
}
Tensor new_full(const Tensor& x, const Dims& size, const Scalar& value, std::optional<DType> dtype,
                std::optional<DeviceId> device) {
  return sg::new_full(x, size, value.number, dtype, device);
}

// arange(end), arange(start, end)
Tensor arange(std::optional<IntOrReal> start, std::optional<IntOrReal> end, IntOrReal step, std::optional<DType> dtype,
              DeviceId device) {
  if (!end) std::swap(start, end);
  if (!end) fail<TypeError>("arange", "argument end is missing", "write arange(end) or arange(start, end)");
  return arange_to(start.value_or(0), *end, step, dtype, device);
}

// The data itself if nothing changes, a tensor on its memory if it is an array, else a copy.
// Lists and tuples are never arrays of others, so they are copied; anything else may offer its memory to NumPy.
Tensor tensor_on(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId place, bool may_copy) {
  if (is_tensor(data)) return moved(unwrap(data), dtype, place);
  Object array;
  if (!PyList_Check(data) && !PyTuple_Check(data)) {
    Tensor n;
    if (!number(data, n)) array = Object(check(PyObject_CallOneArg(numpy().asarray, data)));
  }
  if (array && !place.is_gpu()) {
    Object type(check(PyObject_GetAttrString(array.get(), "dtype")));
    const std::optional<DType> own = known_dtype(type.get());
    if (own && (!dtype || *dtype == *own))
      if (std::optional<Tensor> shared = share_array(array.get(), *own)) return *std::move(shared);
  }
  if (!may_copy) fail<ValueError>(op, "the data cannot become a tensor without a copy", "use copy=None");
  return from_python(op, array ? array.get() : data, dtype, place);
}

Object as_tensor(PyObject* data, std::optional<DType> dtype, std::optional<DeviceId> device) {
  const Tensor t = tensor_on("as_tensor", data, dtype, device_for(data, device), true);
  return Object(is_tensor(data) && t.impl() == unwrap(data).impl() ? Py_NewRef(data) : wrap(t));
}

Tensor asarray(PyObject* data, std::optional<DType> dtype, std::optional<DeviceId> device, std::optional<bool> copy) {
  const DeviceId place = device_for(data, device);
  if (copy.value_or(false)) return copy_of("asarray", data, dtype, place);
  const Tensor t = tensor_on("asarray", data, dtype, place, !copy);
  if (copy && is_tensor(data) && t->storage.get() != unwrap(data)->storage.get())
    fail<ValueError>("asarray", "another type or device needs a copy", "use copy=None");
  return is_tensor(data) ? t.detach() : t;
}

constexpr Callable callables[] = {
    {"tensor", makes<tensor>},
    {"from_numpy", bound<from_numpy>},
    {"zeros", makes<sg::zeros>},
    {"ones", makes<sg::ones>},
    {"zeros_like", makes<sg::zeros_like>},
    {"ones_like", makes<sg::ones_like>},
    {"full", makes<full>},
    {"arange", makes<arange>},
    {"empty", makes<sg::empty>},
    {"empty_like", makes<sg::empty_like>},
    {"full_like", makes<full_like>},
    {"linspace", makes<sg::linspace>},
    {"logspace", makes<sg::logspace>},
    {"eye", makes<sg::eye>},
    {"as_tensor", bound<as_tensor>},
    {"asarray", makes<asarray>},
    {"new_zeros", makes<sg::new_zeros>},
    {"new_ones", makes<sg::new_ones>},
    {"new_full", makes<new_full>},
    {"new_empty", makes<sg::new_empty>},
    {"new_tensor", makes<new_tensor>},
};

}  // namespace

void add_creation(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
