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

std::optional<DType>& type_on(DeviceId device) { return types[device.is_gpu()]; }

// A new reference.
PyObject* converted(PyObject* o, Autocast wanted) {
  if (is_tensor(o)) {
    const Tensor& x = unwrap(o);
    const Tensor y = autocast(x, wanted);
    return y.impl() == x.impl() ? Py_NewRef(o) : wrap(y);
  }
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return Py_NewRef(o);
  Object list(check(PySequence_List(o)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    check(PyList_SetItem(list.get(), i, converted(PyList_GET_ITEM(list.get(), i), wanted)));
  return PyTuple_CheckExact(o) ? check(PyList_AsTuple(list.get())) : list.release();
}

PyObject* none_or(const std::optional<DType>& t) { return t ? dtype_object(*t) : Py_NewRef(Py_None); }

}  // namespace

HalfTypes& half_types() { return types; }

bool autocast_is_on() { return types[0] || types[1]; }

Tensor autocast(const Tensor& x, Autocast wanted) {
  if (x.is_number() || !is_float(x.dtype()) || x.dtype() == DType::float64) return x;
  const std::optional<DType>& half = type_on(x.device());
  if (!half) return x;
  const DType to = wanted == Autocast::narrow ? *half : DType::float32;
  if (x.dtype() == to) return x;
  // A weight, or a view of one: many products read it before it changes.
  const TensorImpl& base = x->base ? *x->base : *x.impl();
  const bool weight = x.dtype() == DType::float32 && base.requires_grad && !base.grad_fn;
  return weight ? sg::cast_once(x, to) : sg::cast(x, to);
}

PyObject* call_autocast(const Call& call) {
  const Py_ssize_t count = call.count + (call.names ? PyTuple_GET_SIZE(call.names) : 0);
  std::vector<Object> owned;
  std::vector<PyObject*> values;
  auto convert = [&](PyObject* o) { return owned.emplace_back(converted(o, call.callable->autocast)).get(); };
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

Tensor to_type(const Tensor& x, bool narrow) { return autocast(x, narrow ? Autocast::narrow : Autocast::wide); }

constexpr Callable callables[] = {
    {"_autocast_to", bound<to_type>},
    {"_autocast", bound<get_types>},
    {"_set_autocast", bound<set_types>},
};

}  // namespace

void add_autocast(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
