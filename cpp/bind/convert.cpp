// Methods that change type or place, look at values, or write in place.
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

PyObject* to(const Call& c) {
  Arguments a("to", c);
  const Tensor& x = unwrap(c.self);
  PyObject* first = nullptr;
  if (c.count > 0) first = a.take("other");
  PyObject* second = c.count > 1 ? a.take("dtype") : nullptr;
  PyObject *device = a.keyword("device"), *dtype = a.keyword("dtype");
  a.done();
  std::optional<DType> type;
  DeviceId place = x.device();
  auto use = [&](PyObject* o) {
    if (is_tensor(o)) {
      type = unwrap(o).dtype();
      place = unwrap(o).device();
    } else if (is_device_object(o)) {
      place = to_device_id(o);
    } else if (PyUnicode_Check(o)) {
      // A word is a device when it looks like one.
      const char* text = PyUnicode_AsUTF8(o);
      const std::string_view word = text ? text : "";
      if (word.starts_with("cpu") || word.starts_with("gpu"))
        place = to_device_id(o);
      else
        type = to_dtype("to", o);
    } else {
      type = to_dtype("to", o);
    }
  };
  if (given(first)) use(first);
  if (given(second)) use(second);
  if (given(device)) place = to_device_id(device);
  if (given(dtype)) type = to_dtype("to", dtype);
  if (place == x.device() && (!type || *type == x.dtype())) return Py_NewRef(c.self);
  return wrap(moved(x, type, place));
}

template <DType dtype>
PyObject* as(const Call& c) {
  Arguments a(name_of(dtype), c);
  a.done();
  if (unwrap(c.self).dtype() == dtype) return Py_NewRef(c.self);
  return wrap(cast(unwrap(c.self), dtype));
}

PyObject* cpu(const Call& c) {
  Arguments a("cpu", c);
  a.done();
  if (!unwrap(c.self).device().is_gpu()) return Py_NewRef(c.self);
  return wrap(moved(unwrap(c.self), {}, {}));
}

const Tensor& readable(const char* op, PyObject* self) {
  const Tensor& x = unwrap(self);
  if (x.requires_grad())
    fail<Error>(op, "the tensor is part of a gradient graph that NumPy does not see",
                "call detach() first: .detach().numpy()");
  return x;
}

PyObject* numpy_method(const Call& c) {
  Arguments a("numpy", c);
  const bool force = a.flag("force", false);
  a.done();
  return to_numpy(force ? unwrap(c.self) : readable("numpy", c.self));
}

PyObject* array(const Call& c) {
  Arguments a("__array__", c);
  PyObject *dtype = a.take("dtype"), *copy = a.take("copy");
  a.done();
  const Tensor& x = readable("__array__", c.self);
  if (given(copy) && !to_bool(copy) && x.device().is_gpu())
    fail<ValueError>("__array__", "a tensor on " + x.device().str() + " cannot become an array without a copy",
                     "use copy=None");
  Object values(to_numpy(x, given(copy) && to_bool(copy)));
  if (!given(dtype)) return values.release();
  Object to(is_dtype_object(dtype) ? check(PyObject_GetAttrString(dtype, "dtype")) : Py_NewRef(dtype));
  Object own(check(PyObject_GetAttrString(values.get(), "dtype")));
  if (PyObject_RichCompareBool(own.get(), to.get(), Py_EQ) == 1) return values.release();
  if (given(copy) && !to_bool(copy))
    fail<ValueError>("__array__", std::string("the tensor is ") + name_of(x.dtype()) + ": another type needs a copy",
                     "use copy=None");
  return check(PyObject_CallMethod(values.get(), "astype", "O", to.get()));
}

// NumPy has no bfloat16.
Tensor readable_type(const Tensor& x) { return x.dtype() == DType::bfloat16 ? cast(x.detach(), DType::float32) : x; }

PyObject* item(const Call& c) {
  Arguments a("item", c);
  a.done();
  return to_number("item", unwrap(c.self));
}

PyObject* tolist(const Call& c) {
  Arguments a("tolist", c);
  a.done();
  return check(PyObject_CallMethod(Object(to_numpy(readable_type(unwrap(c.self)))).get(), "tolist", nullptr));
}

PyObject* size(const Call& c) {
  Arguments a("size", c);
  const Tensor& x = unwrap(c.self);
  PyObject* dim = a.take("dim", "axis");
  a.done();
  if (!given(dim)) return dims_tuple(x.shape());
  return check(PyLong_FromLongLong(x.shape()[normal_axis("size", to_int("size", dim), x.rank())]));
}
PyObject* numel(const Call& c) { return check(PyLong_FromLongLong(unwrap(c.self).numel())); }
PyObject* dim(const Call& c) { return check(PyLong_FromLong(unwrap(c.self).rank())); }
PyObject* stride(const Call& c) { return dims_tuple(unwrap(c.self).strides()); }
PyObject* is_contiguous_(const Call& c) { return PyBool_FromLong(unwrap(c.self).contiguous()); }
PyObject* is_floating(const Call& c) { return PyBool_FromLong(is_float(unwrap(c.self).dtype())); }
PyObject* element_size(const Call& c) { return check(PyLong_FromSize_t(size_of(unwrap(c.self).dtype()))); }

PyObject* requires_grad_(const Call& c) {
  Arguments a("requires_grad_", c);
  const bool on = a.flag("requires_grad", true);
  a.done();
  Tensor x = unwrap(c.self);
  x.requires_grad_(on);
  return Py_NewRef(c.self);
}

// ---- in place --------------------------------------------------------------------------------------------------------
PyObject* zero_(const Call& c) {
  Arguments a("zero_", c);
  a.done();
  sg::copy_(unwrap(c.self), Tensor(0));
  return Py_NewRef(c.self);
}

PyObject* assign_(const char* op, const char* argument, const Call& c) {
  Arguments a(op, c);
  const Tensor& x = unwrap(c.self);
  Tensor room;
  const Tensor& value = operand_of(op, a.need(argument), room, x.device());
  a.done();
  sg::copy_(x, value.is_number() ? value : cast(value, x.dtype()));
  return Py_NewRef(c.self);
}
PyObject* copy_(const Call& c) { return assign_("copy_", "src", c); }
PyObject* fill_(const Call& c) { return assign_("fill_", "value", c); }

PyObject* no_pickle(const Call&) {
  fail<TypeError>("pickle", "tensors are not pickled", "save .numpy(), or a model's state_dict()");
}

PyObject* deepcopy(const Call& c) {
  static const OpInfo& copy = *find_op("contiguous");
  Tensor t = apply(copy, unwrap(c.self).detach());
  if (unwrap(c.self).requires_grad() && !unwrap(c.self).is_leaf())
    fail<ValueError>("deepcopy", "only leaves can be copied with their place in the graph", "use clone() or detach()");
  return wrap(t.requires_grad_(unwrap(c.self).requires_grad()), Py_TYPE(c.self));
}

PyObject* html(const Call& c) {
  Object module(check(PyImport_ImportModule("spirograd._print")));
  return check(PyObject_CallMethod(module.get(), "tensor_html", "O", c.self));
}

constexpr auto kMethod = Where::method;
#define SG_IN_PLACE_DOC \
  " in place, through the view; part of gradients.\n\nRaises:\n    Error: the tensor is a leaf that requires grad."
const Row rows[] = {
    {"to", to,
     "other: Tensor | DeviceLike | DTypeLike | None = None, dtype: DTypeLike | None = None, "
     "device: DeviceLike | None = None",
     "Tensor",
     "The same values on another device, in another type, or both; the tensor itself when nothing changes.\n\n"
     "Example:\n    >>> sg.ones(2).to(sg.float64).dtype\n    spirograd.float64",
     kMethod},
    {"cpu", cpu, "", "Tensor", "The same values on the CPU.", kMethod},
    {"float", as<DType::float32>, "", "Tensor", "The same values as float32.", kMethod},
    {"double", as<DType::float64>, "", "Tensor", "The same values as float64.", kMethod},
    {"half", as<DType::float16>, "", "Tensor", "The same values as float16, rounded to the nearest.", kMethod},
    {"bfloat16", as<DType::bfloat16>, "", "Tensor", "The same values as bfloat16, rounded to the nearest.", kMethod},
    {"short", as<DType::int16>, "", "Tensor", "The same values as int16.", kMethod},
    {"char", as<DType::int8>, "", "Tensor", "The same values as int8.", kMethod},
    {"byte", as<DType::uint8>, "", "Tensor", "The same values as uint8.", kMethod},
    {"int", as<DType::int32>, "", "Tensor", "The same values as int32.", kMethod},
    {"long", as<DType::int64>, "", "Tensor", "The same values as int64.", kMethod},
    {"bool", as<DType::boolean>, "", "Tensor", "Whether the values differ from 0.", kMethod},
    {"numpy", numpy_method, "*, force: bool = False", "np.ndarray[Any, Any]",
     "A NumPy array on the memory of a CPU tensor: each sees what the other writes. Of a GPU tensor, a copy. Runs what "
     "is pending.\n\nWhile the array lives, whatever reads or writes the tensor runs at once, so it is not fused with "
     "what comes later.\n\nArgs:\n    force: also from a tensor that wants a gradient.\n\nRaises:\n    Error: the "
     "tensor "
     "wants a gradient; use .detach().numpy().\n\nExample:\n    >>> x = sg.zeros(2)\n    >>> x.numpy()[0] = 3\n"
     "    >>> x.tolist()\n    [3.0, 0.0]",
     kMethod},
    {"__array__", array, "dtype: Any = None, copy: Any = None", "np.ndarray[Any, Any]", "For NumPy: np.asarray(x).",
     kMethod},
    {"item", item, "", "Any", "The value of a tensor of one element, as a Python number.", kMethod},
    {"tolist", tolist, "", "Any", "The values as nested lists of Python numbers.", kMethod},
    {"size", size, "dim: int | None = None", "Any", "The shape, or the size of one dimension.", kMethod},
    {"numel", numel, "", "int", "The number of elements.", kMethod},
    {"dim", dim, "", "int", "The number of dimensions.", kMethod},
    {"stride", stride, "", "tuple[int, ...]", "Elements from one position to the next, for each dimension.", kMethod},
    {"is_contiguous", is_contiguous_, "", "bool", "Whether the elements lie in C order without gaps.", kMethod},
    {"is_floating_point", is_floating, "", "bool", "Whether the type is float32 or float64.", kMethod},
    {"element_size", element_size, "", "int", "Bytes of one element.", kMethod},
    {"requires_grad_", requires_grad_, "requires_grad: bool = True", "Tensor",
     "Asks for a gradient; returns the tensor.\n\nRaises:\n    TypeError: integers have none.", kMethod},
    {"zero_", zero_, "", "Tensor", "Writes zeros" SG_IN_PLACE_DOC, kMethod},
    {"copy_", copy_, "src: Tensor | float", "Tensor", "Writes the values of src" SG_IN_PLACE_DOC, kMethod},
    {"fill_", fill_, "value: Tensor | float", "Tensor", "Writes one value" SG_IN_PLACE_DOC, kMethod},
    {"__reduce_ex__", no_pickle, "protocol: Any", "Any", "Tensors are not pickled.", kMethod},
    {"_repr_html_", html, "", "str", "A small table, for notebooks.", kMethod},
    {"__deepcopy__", deepcopy, "memo: Any", "Tensor", "A copy of a leaf, for copy.deepcopy.", kMethod},
};

}  // namespace

Tensor moved(const Tensor& x, std::optional<DType> dtype, DeviceId device) {
  Tensor t = dtype ? cast(x, *dtype) : x;
  if (t.device() == device) return t;
  WithoutGil unlocked;
  return to_device(t, device);
}

void write_result(const char* op, const Tensor& x, const Tensor& result) {
  check_write(op, x);
  if (result.dtype() != x.dtype())
    fail<TypeError>(op, std::string("the result is ") + name_of(result.dtype()) + ", the tensor " + name_of(x.dtype()),
                    "convert the tensor first");
  if (!(result.shape() == x.shape()))
    fail<ValueError>(op, "the result has shape " + result.shape().str() + ", the tensor " + x.shape().str(),
                     "the other side must broadcast to the tensor");
  sg::replace_(x, result);
}

void add_conversions(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
