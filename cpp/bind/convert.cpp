// Methods that change the type or the device, read values, or write in place. Owns the reading of to()'s arguments.
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// What to() is asked for: to(other), to(device, dtype), to(dtype), and then non_blocking and copy.
PyObject* to(const Call& c) {
  Arguments a("to", c);
  const Tensor& x = unwrap(c.self);
  std::optional<DType> type;
  DeviceId place = x.device();
  auto use = [&](PyObject* o) {
    if (is_tensor(o)) {
      type = unwrap(o).dtype();
      place = unwrap(o).device();
    } else if (is_device_object(o)) {
      place = to_device_id(o);
    } else if (PyUnicode_Check(o)) {
      // A word is a type or a device.
      const char* text = PyUnicode_AsUTF8(o);
      const std::string_view word = text ? text : "";
      bool known = false;
      for (int t = 0; t < kDTypeCount; ++t) known = known || word == name_of(static_cast<DType>(t));
      if (known)
        type = to_dtype("to", o);
      else
        place = to_device_id(o);
    } else {
      type = to_dtype("to", o);
    }
  };
  PyObject* first = c.count > 0 ? a.take("other") : a.keyword("other");
  // The next positions are dtype (unless one was given), non_blocking, copy.
  const bool typed = given(first) && !is_device_object(first) && !PyUnicode_Check(first);
  PyObject* dtype = typed || first == nullptr ? a.keyword("dtype") : a.take("dtype");
  a.flag("non_blocking", false);
  const bool copy = a.flag("copy", false);
  PyObject* device = a.keyword("device");
  a.done();
  if (given(first)) use(first);
  if (given(device)) place = to_device_id(device);
  if (given(dtype)) type = to_dtype("to", dtype);
  if (place == x.device() && (!type || *type == x.dtype())) return copy ? wrap(sg::clone(x)) : Py_NewRef(c.self);
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

PyObject* gpu(const Call& c) {
  Arguments a("gpu", c);
  PyObject* index = a.take("device");
  a.done();
  DeviceId place = to_device_id(Object(check(PyUnicode_FromString("gpu"))).get());
  if (given(index))
    place = PyIndex_Check(index)
                ? to_device_id(Object(check(PyUnicode_FromFormat("gpu:%lld", to_int("gpu", index)))).get())
                : to_device_id(index);
  if (unwrap(c.self).device() == place) return Py_NewRef(c.self);
  return wrap(moved(unwrap(c.self), {}, place));
}

PyObject* cuda(const Call&) {
  fail<DeviceUnavailableError>("cuda", "GPUs are used through Vulkan", "use .to(\"gpu\")");
}

// "spirograd.FloatTensor", or the values in another type.
PyObject* type(const Call& c) {
  Arguments a("type", c);
  PyObject* dtype = a.take("dtype");
  a.done();
  const Tensor& x = unwrap(c.self);
  if (!given(dtype)) {
    static constexpr const char* words[] = {"Bool", "Byte", "Char",     "Short", "Int",
                                            "Long", "Half", "BFloat16", "Float", "Double"};
    return check(PyUnicode_FromFormat("spirograd.%s%sTensor", x.device().is_gpu() ? "gpu." : "",
                                      words[static_cast<int>(x.dtype())]));
  }
  const DType to = to_dtype("type", dtype);
  return to == x.dtype() ? Py_NewRef(c.self) : wrap(cast(x, to));
}

PyObject* type_as(const Call& c) {
  Arguments a("type_as", c);
  const Tensor &x = unwrap(c.self), &other = tensor_of("type_as", a.need("other"));
  a.done();
  if (x.dtype() == other.dtype() && x.device() == other.device()) return Py_NewRef(c.self);
  return wrap(moved(x, other.dtype(), other.device()));
}

const Tensor& readable(const char* op, PyObject* self) {
  const Tensor& x = unwrap(self);
  if (x.shows_gradient())
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
PyObject* numel(const Call& c) { return check(PyLong_FromLongLong(tensor_of("numel", c.self).numel())); }
PyObject* dim(const Call& c) { return check(PyLong_FromLong(unwrap(c.self).rank())); }
PyObject* stride(const Call& c) {
  Arguments a("stride", c);
  const Tensor& x = unwrap(c.self);
  PyObject* dim = a.take("dim", "axis");
  a.done();
  if (!given(dim)) return dims_tuple(x.strides());
  return check(PyLong_FromLongLong(x.strides()[normal_axis("stride", to_int("stride", dim), x.rank())]));
}
PyObject* storage_offset(const Call& c) { return check(PyLong_FromLongLong(unwrap(c.self)->offset)); }
PyObject* data_ptr(const Call& c) {
  const Tensor x = unwrap(c.self);
  uint64_t address;
  {
    WithoutGil unlocked;
    address = address_of(x);
  }
  return check(PyLong_FromUnsignedLongLong(address));
}
PyObject* get_device(const Call& c) {
  const DeviceId id = unwrap(c.self).device();
  return check(PyLong_FromLong(id.is_gpu() ? id.index : -1));
}
PyObject* is_same_size(const Call& c) {
  Arguments a("is_same_size", c);
  const Tensor& other = tensor_of("is_same_size", a.need("other"));
  a.done();
  return PyBool_FromLong(unwrap(c.self).shape() == other.shape());
}
PyObject* is_signed(const Call& c) {
  const DType t = tensor_of("is_signed", c.self).dtype();
  return PyBool_FromLong(t != DType::boolean && t != DType::uint8);
}
PyObject* is_complex(const Call&) { Py_RETURN_FALSE; }

PyObject* is_contiguous_(const Call& c) { return PyBool_FromLong(unwrap(c.self).contiguous()); }
PyObject* is_floating(const Call& c) {
  return PyBool_FromLong(is_float(tensor_of("is_floating_point", c.self).dtype()));
}
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

PyObject* write(const char* op, PyObject* self, PyObject* value) {
  const Tensor& x = unwrap(self);
  Tensor room;
  const Tensor& y = operand_of(op, value, room, x.device());
  sg::copy_(x, y.is_number() ? y : cast(y, x.dtype()));
  return Py_NewRef(self);
}
PyObject* copy_(const Call& c) {
  Arguments a("copy_", c);
  PyObject* source = a.need("src");
  a.flag("non_blocking", false);
  a.done();
  return write("copy_", c.self, source);
}
PyObject* fill_(const Call& c) {
  Arguments a("fill_", c);
  PyObject* value = a.need("value");
  a.done();
  return write("fill_", c.self, value);
}

// ---- copies ----------------------------------------------------------------------------------------------------------
PyObject* reduce(const Call& c) {
  Object module(check(PyImport_ImportModule("spirograd._pickle")));
  return check(PyObject_CallMethod(module.get(), "reduce", "O", c.self));
}

PyObject* shallow_copy(const Call& c) {
  const Tensor& x = unwrap(c.self);
  Tensor t = x.detach();
  return wrap(t.requires_grad_(x.requires_grad()), Py_TYPE(c.self));
}

// Tensors that share a storage share its copy too: `storages` holds the copies by the address of the original.
Tensor deep_copy(const Tensor& x, PyObject* storages) {
  Object key(check(PyLong_FromVoidPtr(x->storage.get())));
  PyObject* known = PyDict_GetItemWithError(storages, key.get());
  if (!known) {
    if (PyErr_Occurred()) throw PythonError();
    Tensor all = x.detach();
    all->shape = {room_of(x)};
    all->strides = {1};
    all->offset = 0;
    Object copy(wrap(sg::clone(all)));
    check(PyDict_SetItem(storages, key.get(), copy.get()));
    known = copy.get();  // the dict holds it
  }
  Tensor t = x.detach();
  t->storage = unwrap(known)->storage;
  t.requires_grad_(x.requires_grad());
  if (x.grad()) t->grad = deep_copy(x.grad().detach(), storages).ref();
  return t;
}

PyObject* deepcopy(const Call& c) {
  Arguments a("__deepcopy__", c);
  PyObject* memo = a.need("memo");
  a.done();
  const Tensor& x = unwrap(c.self);
  if (!x.is_leaf())
    fail<Error>("deepcopy", "only leaves can be copied with their place in the graph", "use clone() or detach()");
  Object fresh(check(PyDict_New())), word(check(PyUnicode_FromString("spirograd")));
  PyObject* storages = check(PyDict_Check(memo) ? PyDict_SetDefault(memo, word.get(), fresh.get()) : fresh.get());
  return wrap(deep_copy(x, storages), Py_TYPE(c.self));
}

PyObject* format(const Call& c) {
  Arguments a("__format__", c);
  PyObject* spec = a.need("format_spec");
  a.done();
  Object module(check(PyImport_ImportModule("spirograd._print")));
  return check(PyObject_CallMethod(module.get(), "tensor_format", "OO", c.self, spec));
}

PyObject* html(const Call& c) {
  Object module(check(PyImport_ImportModule("spirograd._print")));
  return check(PyObject_CallMethod(module.get(), "tensor_html", "O", c.self));
}

constexpr auto kMethod = Scope::method;
#define SG_IN_PLACE_DOC \
  " in place, through the view; part of gradients.\n\nRaises:\n    Error: the tensor is a leaf that requires grad."
const Callable callables[] = {
    {"to", to,
     "other: Tensor | DeviceLike | DTypeLike | None = None, dtype: DTypeLike | None = None, "
     "non_blocking: bool = False, copy: bool = False, *, device: DeviceLike | None = None",
     "Tensor",
     "The same values on another device, in another type, or both; the tensor itself when nothing changes.\n\nArgs:\n"
     "    other: a tensor to take device and type from, a device, or a type.\n    dtype: type of the elements.\n"
     "    non_blocking: accepted; what waits is a read.\n    copy: a copy also when nothing changes.\n    device: "
     "where "
     "to.\n\nExample:\n    >>> sg.ones(2).to(sg.float64).dtype\n    spirograd.float64",
     kMethod},
    {"cpu", cpu, "", "Tensor", "The same values on the CPU.", kMethod},
    {"gpu", gpu, "device: DeviceLike | int | None = None", "Tensor", "The same values on a GPU; None is the first.",
     kMethod},
    {"cuda", cuda, "device: Any = None", "Tensor", "Raises DeviceUnavailableError: use .to(\"gpu\").", kMethod},
    {"type", type, "dtype: DTypeLike | None = None", "Any",
     "The name of the type and device, or the values in another type.\n\nExample:\n    >>> sg.ones(2).type()\n"
     "    'spirograd.FloatTensor'",
     kMethod},
    {"type_as", type_as, "other: Tensor", "Tensor", "The same values in the type and on the device of another tensor.",
     kMethod},
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
    {"numel", numel, "", "int", "The number of elements."},
    {"nelement", numel, "", "int", "The number of elements.", kMethod},
    {"dim", dim, "", "int", "The number of dimensions.", kMethod},
    {"ndimension", dim, "", "int", "The number of dimensions.", kMethod},
    {"stride", stride, "dim: int | None = None", "Any",
     "Elements from one position to the next, for each dimension or for one.", kMethod},
    {"storage_offset", storage_offset, "", "int", "Elements of the memory before the first one.", kMethod},
    {"data_ptr", data_ptr, "", "int",
     "The address of the first element, of the host or of the device. Runs what is pending; the next write in place "
     "may "
     "move it.",
     kMethod},
    {"get_device", get_device, "", "int", "The number of the GPU; -1 on the CPU.", kMethod},
    {"is_same_size", is_same_size, "other: Tensor", "bool", "Whether the shapes are equal.", kMethod},
    {"is_signed", is_signed, "", "bool", "Whether the type has negative numbers."},
    {"is_complex", is_complex, "", "bool", "False: there are no complex types."},
    {"is_contiguous", is_contiguous_, "", "bool", "Whether the elements lie in C order without gaps.", kMethod},
    {"is_floating_point", is_floating, "", "bool", "Whether the type holds fractions."},
    {"element_size", element_size, "", "int", "Bytes of one element.", kMethod},
    {"requires_grad_", requires_grad_, "requires_grad: bool = True", "Tensor",
     "Asks for a gradient; returns the tensor.\n\nRaises:\n    TypeError: integers have none.", kMethod},
    {"zero_", zero_, "", "Tensor", "Writes zeros" SG_IN_PLACE_DOC, kMethod},
    {"copy_", copy_, "src: Tensor | float, non_blocking: bool = False", "Tensor",
     "Writes the values of src; non_blocking is accepted, for what waits is a read" SG_IN_PLACE_DOC, kMethod},
    {"fill_", fill_, "value: Tensor | float", "Tensor", "Writes one value" SG_IN_PLACE_DOC, kMethod},
    {"__reduce_ex__", reduce, "protocol: Any", "Any",
     "For pickle: the values as an array, the device by name, whether a gradient is wanted. Where the device is not "
     "there, the tensor comes back on the CPU, with a warning.",
     kMethod},
    {"__copy__", shallow_copy, "", "Tensor", "For copy.copy: another handle on the same memory.", kMethod},
    {"__format__", format, "format_spec: str", "str",
     "format(x, \".3f\") of a 0-d tensor is that of its number.\n\nExample:\n    >>> f\"{sg.tensor(1.2345):.2f}\"\n"
     "    '1.23'",
     kMethod},
    {"_repr_html_", html, "", "str", "A small table, for notebooks.", kMethod},
    {"__deepcopy__", deepcopy, "memo: Any", "Tensor",
     "For copy.deepcopy: a copy of a leaf and its gradient; tensors that share memory still do among the "
     "copies.\n\nRaises:\n    Error: an operation made the tensor.",
     kMethod},
};

}  // namespace

Tensor moved(const Tensor& x, std::optional<DType> dtype, DeviceId device) {
  Tensor t = dtype ? cast(x, *dtype) : x;
  if (t.device() == device) return t;
  WithoutGil unlocked;
  return to_device(t, device);
}

Tensor fitting(const char* op, const Tensor& x, const Tensor& result) {
  check_write(op, x, result);
  if (kind_of(result.dtype()) > kind_of(x.dtype()))
    fail<TypeError>(op, std::string("the result is ") + name_of(result.dtype()) + ", the tensor " + name_of(x.dtype()),
                    "convert the tensor first");
  if (!(result.shape() == x.shape()))
    fail<ValueError>(op, "the result has shape " + result.shape().str() + ", the tensor " + x.shape().str(),
                     "the other side must broadcast to the tensor");
  return cast(result, x.dtype());
}

void add_conversions(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
