// Owns the half type of this thread for each kind of device, and converts the tensors of a call to what its callable
// asks for. Which callables ask is said in the callables alone.
#include "bind/autocast.hpp"

#include <optional>
#include <vector>

#include "bind/bound.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

thread_local HalfTypes types;

DType type_for(const Tensor& x, Autocast wanted) {
  const std::optional<DType>& half = types[x.device().is_gpu()];
  if (!half || x.is_number() || !is_float(x.dtype()) || x.dtype() == DType::float64) return x.dtype();
  return wanted == Autocast::narrow ? *half : DType::float32;
}

Tensor autocast(const Tensor& x, Autocast wanted) {
  const DType to = type_for(x, wanted);
  // A weight, or a view of one: many products read it before it changes.
  const TensorImpl& base = x->base ? *x->base : *x.impl();
  const bool weight = x.dtype() == DType::float32 && base.requires_grad && !base.grad_fn;
  return weight ? sg::cast_once(x, to) : sg::cast(x, to);
}

// A new reference.
PyObject* converted(PyObject* o, Autocast wanted) {
  if (is_tensor(o)) {
    const Tensor& x = unwrap(o);
    return x.dtype() == type_for(x, wanted) ? Py_NewRef(o) : wrap(autocast(x, wanted));
  }
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return Py_NewRef(o);
  Object list(check(PySequence_List(o)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    check(PyList_SetItem(list.get(), i, converted(PyList_GET_ITEM(list.get(), i), wanted)));
  return PyTuple_CheckExact(o) ? check(PyList_AsTuple(list.get())) : list.release();
}

// An array is read as a tensor where the first tensor is.
bool is_array(PyObject* o) {
  return PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(numpy().ndarray)) && !is_complex(o);
}
DeviceId device_of(const Call& call) {
  if (call.self && is_tensor(call.self)) return unwrap(call.self).device();
  for (Py_ssize_t i = 0; i < call.count; ++i)
    if (is_tensor(call.values[i])) return unwrap(call.values[i]).device();
  return {};
}

PyObject* none_or(const std::optional<DType>& t) { return t ? dtype_object(*t) : Py_NewRef(Py_None); }

}  // namespace

HalfTypes& half_types() { return types; }

bool autocast_is_on() { return types[0] || types[1]; }

PyObject* call_autocast(const Call& call) {
  const Py_ssize_t count = call.count + (call.names ? PyTuple_GET_SIZE(call.names) : 0);
  std::vector<Object> owned;
  std::vector<PyObject*> values;
  auto convert = [&](PyObject* o) {
    if (is_array(o)) owned.emplace_back(wrap(from_python(call.callable->name, o, {}, device_of(call))));
    return owned.emplace_back(converted(is_array(o) ? owned.back().get() : o, call.callable->autocast)).get();
  };
  Call inside = call;
  if (call.self) inside.self = convert(call.self);
  for (Py_ssize_t i = 0; i < count; ++i) values.push_back(convert(call.values[i]));
  inside.values = values.data();
  return call.callable->body.run(inside);
}

namespace {

Object get_types() {
  return Object(check(PyTuple_Pack(2, Object(none_or(types[0])).get(), Object(none_or(types[1])).get())));
}

void set_types(std::optional<DType> cpu, std::optional<DType> gpu) {
  types[0] = cpu;
  types[1] = gpu;
}

// Of a function written in Python, as of a callable.
Object arguments_of(PyObject* positional, PyObject* keywords, bool narrow) {
  if (!autocast_is_on()) return Object(check(PyTuple_Pack(2, positional, keywords)));
  const Autocast wanted = narrow ? Autocast::narrow : Autocast::wide;
  const Object values(converted(positional, wanted)), named(check(PyDict_New()));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t i = 0; PyDict_Next(keywords, &i, &key, &value);)
    check(PyDict_SetItem(named.get(), key, Object(converted(value, wanted)).get()));
  return Object(check(PyTuple_Pack(2, values.get(), named.get())));
}

constexpr Callable callables[] = {
    {"_autocast_arguments", bound<arguments_of>},
    {"_autocast", bound<get_types>},
    {"_set_autocast", bound<set_types>},
};

}  // namespace

void add_autocast(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
