// Methods that change the type or the device, read values, or write in place. Owns the reading of to()'s arguments.
#include "bind/bound.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// to(other), to(device, dtype), to(dtype), and then non_blocking and copy: what a position means depends on the argument
// before it, so the call is read here.
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
  const bool later = a.flag("non_blocking", false), copy = a.flag("copy", false);
  PyObject* device = a.keyword("device");
  a.done();
  if (given(first)) use(first);
  if (given(device)) place = to_device_id(device);
  if (given(dtype)) type = to_dtype("to", dtype);
  if (place == x.device() && (!type || *type == x.dtype())) return copy ? wrap(sg::clone(x)) : Py_NewRef(c.self);
  return wrap(moved(x, type, place, later));
}

template <DType dtype>
Tensor as(const Tensor& x) {
  return cast(x, dtype);
}
Tensor cpu(const Tensor& x) { return moved(x, {}, {}); }
Tensor gpu(const Tensor& x, PyObject* device) {
  if (given(device) && !PyIndex_Check(device)) return moved(x, {}, to_device_id(device));
  const std::string name = given(device) ? "gpu:" + std::to_string(to_int("gpu", device)) : "gpu";
  return moved(x, {}, to_device_id(Object(check(PyUnicode_FromString(name.c_str()))).get()));
}
Tensor cuda(const Tensor&, PyObject*) {
  fail<DeviceUnavailableError>("cuda", "GPUs are used through Vulkan", "use .to(\"gpu\")");
}
Tensor type_as(const Tensor& x, const Tensor& other) { return moved(x, other.dtype(), other.device()); }

// "spirograd.FloatTensor", or the values in another type.
Object type(PyObject* self, const std::optional<DType>& dtype) {
  const Tensor& x = unwrap(self);
  if (dtype) return Object(*dtype == x.dtype() ? Py_NewRef(self) : wrap(cast(x, *dtype)));
  static constexpr const char* words[] = {"Bool", "Byte", "Char",     "Short", "Int",
                                          "Long", "Half", "BFloat16", "Float", "Double"};
  return Object(check(PyUnicode_FromFormat("spirograd.%s%sTensor", x.device().is_gpu() ? "gpu." : "",
                                           words[static_cast<int>(x.dtype())])));
}

// ---- values as Python's and NumPy's --------------------------------------------------------------------------------
const Tensor& readable(const char* op, const Tensor& x) {
  if (x.shows_gradient())
    fail<Error>(op, "the tensor is part of a gradient graph that NumPy does not see",
                "call detach() first: .detach().numpy()");
  return x;
}

Object numpy_of(const Tensor& x, bool force) { return Object(to_numpy(force ? x : readable("numpy", x))); }

Object array(const Tensor& x, PyObject* dtype, const std::optional<bool>& copy) {
  readable("__array__", x);
  const bool no_copy = copy && !*copy;
  if (no_copy && x.device().is_gpu())
    fail<ValueError>("__array__", "a tensor on " + x.device().str() + " cannot become an array without a copy",
                     "use copy=None");
  Object values(to_numpy(x, copy.value_or(false)));
  if (!given(dtype)) return values;
  Object to(is_dtype_object(dtype) ? check(PyObject_GetAttrString(dtype, "dtype")) : Py_NewRef(dtype));
  Object own(check(PyObject_GetAttrString(values.get(), "dtype")));
  if (PyObject_RichCompareBool(own.get(), to.get(), Py_EQ) == 1) return values;
  if (no_copy)
    fail<ValueError>("__array__", std::string("the tensor is ") + name_of(x.dtype()) + ": another type needs a copy",
                     "use copy=None");
  return Object(check(PyObject_CallMethod(values.get(), "astype", "O", to.get())));
}

Object item(const Tensor& x) { return Object(to_number("item", x)); }

Object tolist(const Tensor& x) {
  const Tensor known = x.dtype() == DType::bfloat16 ? cast(x.detach(), DType::float32) : x;  // NumPy has no bfloat16
  return Object(check(PyObject_CallMethod(Object(to_numpy(known)).get(), "tolist", nullptr)));
}

// ---- shape, place and type -----------------------------------------------------------------------------------------
using OneOrAll = std::variant<int64_t, Dims>;
OneOrAll one_of(const char* op, const Dims& all, const std::optional<int64_t>& dim) {
  if (!dim) return all;
  return all[normal_axis(op, *dim, all.rank)];
}
OneOrAll size(const Tensor& x, const std::optional<int64_t>& dim) { return one_of("size", x.shape(), dim); }
OneOrAll stride(const Tensor& x, const std::optional<int64_t>& dim) { return one_of("stride", x.strides(), dim); }
int64_t storage_offset(const Tensor& x) { return x->offset; }
uint64_t data_ptr(const Tensor& x) {
  WithoutGil unlocked;
  return address_of(x);
}
int get_device(const Tensor& x) { return x.device().is_gpu() ? x.device().index : -1; }
bool is_same_size(const Tensor& x, const Tensor& other) { return x.shape() == other.shape(); }
bool is_signed(const Tensor& x) { return x.dtype() != DType::boolean && x.dtype() != DType::uint8; }
bool is_complex(const Tensor&) { return false; }
bool is_floating_point(const Tensor& x) { return is_float(x.dtype()); }
uint64_t element_size(const Tensor& x) { return size_of(x.dtype()); }

// ---- in place --------------------------------------------------------------------------------------------------------
void requires_grad_(Tensor x, bool on) { x.requires_grad_(on); }
void zero_(const Tensor& x) { sg::copy_(x, Tensor(0)); }
void fill_(const Tensor& x, const Tensor& value) { sg::copy_(x, value.is_number() ? value : cast(value, x.dtype())); }
void copy_(const Tensor& x, const Tensor& source, bool /*non_blocking*/) { fill_(x, source); }

// ---- copies ----------------------------------------------------------------------------------------------------------
Object reduce(PyObject* self, PyObject* /*protocol*/) {
  Object module(check(PyImport_ImportModule("spirograd._pickle")));
  return Object(check(PyObject_CallMethod(module.get(), "reduce", "O", self)));
}

Object shallow_copy(PyObject* self) {
  const Tensor& x = unwrap(self);
  Tensor t = x.detach();
  return Object(wrap(t.requires_grad_(x.requires_grad()), Py_TYPE(self)));
}

// Tensors that share a storage share its copy too: `storages` holds the copies by the address of the original.
// Copies the whole storage, not the view, so that other views of it find their elements in the copy.
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

Object deepcopy(PyObject* self, PyObject* memo) {
  const Tensor& x = unwrap(self);
  if (!x.is_leaf())
    fail<Error>("deepcopy", "only leaves can be copied with their place in the graph", "use clone() or detach()");
  Object fresh(check(PyDict_New())), word(check(PyUnicode_FromString("spirograd")));
  PyObject* storages = check(PyDict_Check(memo) ? PyDict_SetDefault(memo, word.get(), fresh.get()) : fresh.get());
  return Object(wrap(deep_copy(x, storages), Py_TYPE(self)));
}

Object printed(const char* function, PyObject* self, PyObject* argument) {
  Object module(check(PyImport_ImportModule("spirograd._print"))), name(check(PyUnicode_FromString(function)));
  return Object(check(PyObject_CallMethodObjArgs(module.get(), name.get(), self, argument, nullptr)));
}
Object format(PyObject* self, PyObject* spec) { return printed("tensor_format", self, spec); }
Object to_sparse(PyObject* self) {
  Object module(check(PyImport_ImportModule("spirograd.sparse")));
  return Object(check(PyObject_CallMethod(module.get(), "from_dense", "O", self)));
}
Object awaited(const char* function, PyObject* self) {
  Object module(check(PyImport_ImportModule("spirograd._reading")));
  return Object(check(PyObject_CallMethod(module.get(), function, "O", self)));
}
Object numpy_async(PyObject* self) { return awaited("numpy_async", self); }
Object item_async(PyObject* self) { return awaited("item_async", self); }
Object html(PyObject* self) { return printed("tensor_html", self, nullptr); }

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
     "    non_blocking: to the CPU, return at once: whoever looks at the values waits.\n    copy: a copy also when "
     "nothing changes.\n    device: "
     "where "
     "to.\n\nExample:\n    >>> sg.ones(2).to(sg.float64).dtype\n    spirograd.float64",
     kMethod},
    {"cpu", same_or_new<cpu>, "", "Tensor", "The same values on the CPU.", kMethod},
    {"gpu", same_or_new<gpu>, "device: DeviceLike | int | None = None", "Tensor",
     "The same values on a GPU; None is the first.", kMethod},
    {"cuda", bound<cuda>, "device: Any = None", "Tensor", "Raises DeviceUnavailableError: use .to(\"gpu\").", kMethod},
    {"type", bound<type>, "dtype: DTypeLike | None = None", "Any",
     "The name of the type and device, or the values in another type.\n\nExample:\n    >>> sg.ones(2).type()\n"
     "    'spirograd.FloatTensor'",
     kMethod},
    {"type_as", same_or_new<type_as>, "other: Tensor", "Tensor",
     "The same values in the type and on the device of another tensor.", kMethod},
    {"float", same_or_new<as<DType::float32>>, "", "Tensor", "The same values as float32.", kMethod},
    {"double", same_or_new<as<DType::float64>>, "", "Tensor", "The same values as float64.", kMethod},
    {"half", same_or_new<as<DType::float16>>, "", "Tensor", "The same values as float16, rounded to the nearest.",
     kMethod},
    {"bfloat16", same_or_new<as<DType::bfloat16>>, "", "Tensor", "The same values as bfloat16, rounded to the nearest.",
     kMethod},
    {"short", same_or_new<as<DType::int16>>, "", "Tensor", "The same values as int16.", kMethod},
    {"char", same_or_new<as<DType::int8>>, "", "Tensor", "The same values as int8.", kMethod},
    {"byte", same_or_new<as<DType::uint8>>, "", "Tensor", "The same values as uint8.", kMethod},
    {"int", same_or_new<as<DType::int32>>, "", "Tensor", "The same values as int32.", kMethod},
    {"long", same_or_new<as<DType::int64>>, "", "Tensor", "The same values as int64.", kMethod},
    {"bool", same_or_new<as<DType::boolean>>, "", "Tensor", "Whether the values differ from 0.", kMethod},
    {"to_sparse", bound<to_sparse>, "", "Any",
     "A sparse tensor of the elements that are not 0, with their gradient. Reads how many there are.\n\nRaises:\n    "
     "ValueError: the tensor has no dimensions.\n\nExample:\n    >>> sg.eye(2).to_sparse().indices().tolist()\n"
     "    [[0, 1], [0, 1]]",
     kMethod},
    {"numpy", bound<numpy_of>, "*, force: bool = False", "np.ndarray[Any, Any]",
     "A NumPy array on the memory of a CPU tensor: each sees what the other writes. Of a GPU tensor, a copy. Runs what "
     "is pending.\n\nWhile the array lives, whatever reads or writes the tensor runs at once, so it is not fused with "
     "what comes later.\n\nArgs:\n    force: also from a tensor that wants a gradient.\n\nRaises:\n    Error: the "
     "tensor "
     "wants a gradient; use .detach().numpy().\n\nExample:\n    >>> x = sg.zeros(2)\n    >>> x.numpy()[0] = 3\n"
     "    >>> x.tolist()\n    [3.0, 0.0]",
     kMethod},
    {"__array__", bound<array>, "dtype: Any = None, copy: Any = None", "np.ndarray[Any, Any]",
     "For NumPy: np.asarray(x).", kMethod},
    {"item", bound<item>, "", "Any", "The value of a tensor of one element, as a Python number.", kMethod},
    {"tolist", bound<tolist>, "", "Any", "The values as nested lists of Python numbers.", kMethod},
    {"size", bound<size>, "dim: int | None = None", "Any", "The shape, or the size of one dimension.", kMethod},
    {"numel", bound<&Tensor::numel>, "", "int", "The number of elements."},
    {"nelement", bound<&Tensor::numel>, "", "int", "The number of elements.", kMethod},
    {"dim", bound<&Tensor::rank>, "", "int", "The number of dimensions.", kMethod},
    {"ndimension", bound<&Tensor::rank>, "", "int", "The number of dimensions.", kMethod},
    {"stride", bound<stride>, "dim: int | None = None", "Any",
     "Elements from one position to the next, for each dimension or for one.", kMethod},
    {"storage_offset", bound<storage_offset>, "", "int", "Elements of the memory before the first one.", kMethod},
    {"data_ptr", bound<data_ptr>, "", "int",
     "The address of the first element, of the host or of the device. Runs what is pending; the next write in place "
     "may "
     "move it.",
     kMethod},
    {"get_device", bound<get_device>, "", "int", "The number of the GPU; -1 on the CPU.", kMethod},
    {"is_same_size", bound<is_same_size>, "other: Tensor", "bool", "Whether the shapes are equal.", kMethod},
    {"is_signed", bound<is_signed>, "", "bool", "Whether the type has negative numbers."},
    {"is_complex", bound<is_complex>, "", "bool",
     "Whether the elements are complex numbers: of complex(), not of tensors."},
    {"is_contiguous", bound<&Tensor::contiguous>, "", "bool", "Whether the elements lie in C order without gaps.",
     kMethod},
    {"is_floating_point", bound<is_floating_point>, "", "bool", "Whether the type holds fractions."},
    {"element_size", bound<element_size>, "", "int", "Bytes of one element.", kMethod},
    {"requires_grad_", writes<requires_grad_>, "requires_grad: bool = True", "Tensor",
     "Asks for a gradient; returns the tensor.\n\nRaises:\n    TypeError: integers have none.", kMethod},
    {"zero_", writes<zero_>, "", "Tensor", "Writes zeros" SG_IN_PLACE_DOC, kMethod},
    {"copy_", writes<copy_>, "src: Tensor | float, non_blocking: bool = False", "Tensor",
     "Writes the values of src; non_blocking is accepted, for what waits is a read" SG_IN_PLACE_DOC, kMethod},
    {"fill_", writes<fill_>, "value: Tensor | float", "Tensor", "Writes one value" SG_IN_PLACE_DOC, kMethod},
    {"__reduce_ex__", bound<reduce>, "protocol: Any", "Any",
     "For pickle: the values as an array, the device by name, whether a gradient is wanted. Where the device is not "
     "there, the tensor comes back on the CPU, with a warning.",
     kMethod},
    {"__copy__", bound<shallow_copy>, "", "Tensor", "For copy.copy: another handle on the same memory.", kMethod},
    {"__format__", bound<format>, "format_spec: str", "str",
     "format(x, \".3f\") of a 0-d tensor is that of its number.\n\nExample:\n    >>> f\"{sg.tensor(1.2345):.2f}\"\n"
     "    '1.23'",
     kMethod},
    {"_repr_html_", bound<html>, "", "str", "A small table, for notebooks.", kMethod},
    {"numpy_async", bound<numpy_async>, "", "Coroutine[Any, Any, np.ndarray[Any, Any]]",
     "numpy() for `await`: what is pending is started at once, and the event loop goes on until the values are there."
     "\n\nExample:\n    >>> import asyncio\n    >>> async def main():\n    ...     return await "
     "sg.arange(3).numpy_async()\n    >>> asyncio.run(main()).tolist()\n    [0, 1, 2]",
     kMethod},
    {"item_async", bound<item_async>, "", "Coroutine[Any, Any, Any]",
     "item() for `await`, as in a server or a cell of a notebook.\n\nRaises:\n    ValueError: there is not one element."
     "\n\nExample:\n    >>> import asyncio\n    >>> async def main():\n    ...     return await "
     "sg.arange(3).sum().item_async()\n    >>> asyncio.run(main())\n    3",
     kMethod},
    {"__deepcopy__", bound<deepcopy>, "memo: Any", "Tensor",
     "For copy.deepcopy: a copy of a leaf and its gradient; tensors that share memory still do among the "
     "copies.\n\nRaises:\n    Error: an operation made the tensor.",
     kMethod},
};

}  // namespace

Tensor moved(const Tensor& x, std::optional<DType> dtype, DeviceId device, bool later) {
  // A wider type is made on the CPU, which has all of them, from fewer bytes.
  const bool widen_after = dtype && !device.is_gpu() && size_of(*dtype) > size_of(x.dtype());
  Tensor t = dtype && !widen_after ? cast(x, *dtype) : x;
  if (t.device() != device) {
    WithoutGil unlocked;
    t = later && !device.is_gpu() ? to_host_later(t) : to_device(t, device);
  }
  return widen_after ? cast(t, *dtype) : t;
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
