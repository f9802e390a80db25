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

constexpr Callable callables[] = {
    {"to", to},
    {"cpu", same_or_new<cpu>},
    {"gpu", same_or_new<gpu>},
    {"cuda", bound<cuda>},
    {"type", bound<type>},
    {"type_as", same_or_new<type_as>},
    {"float", same_or_new<as<DType::float32>>},
    {"double", same_or_new<as<DType::float64>>},
    {"half", same_or_new<as<DType::float16>>},
    {"bfloat16", same_or_new<as<DType::bfloat16>>},
    {"short", same_or_new<as<DType::int16>>},
    {"char", same_or_new<as<DType::int8>>},
    {"byte", same_or_new<as<DType::uint8>>},
    {"int", same_or_new<as<DType::int32>>},
    {"long", same_or_new<as<DType::int64>>},
    {"bool", same_or_new<as<DType::boolean>>},
    {"to_sparse", bound<to_sparse>},
    {"numpy", bound<numpy_of>},
    {"__array__", bound<array>},
    {"item", bound<item>},
    {"tolist", bound<tolist>},
    {"size", bound<size>},
    {"numel", bound<&Tensor::numel>},
    {"nelement", bound<&Tensor::numel>},
    {"dim", bound<&Tensor::rank>},
    {"ndimension", bound<&Tensor::rank>},
    {"stride", bound<stride>},
    {"storage_offset", bound<storage_offset>},
    {"data_ptr", bound<data_ptr>},
    {"get_device", bound<get_device>},
    {"is_same_size", bound<is_same_size>},
    {"is_signed", bound<is_signed>},
    {"is_complex", bound<is_complex>},
    {"is_contiguous", bound<&Tensor::contiguous>},
    {"is_floating_point", bound<is_floating_point>},
    {"element_size", bound<element_size>},
    {"requires_grad_", writes<requires_grad_>},
    {"zero_", writes<zero_>},
    {"copy_", writes<copy_>},
    {"fill_", writes<fill_>},
    {"__reduce_ex__", bound<reduce>},
    {"__copy__", bound<shallow_copy>},
    {"__format__", bound<format>},
    {"_repr_html_", bound<html>},
    {"numpy_async", bound<numpy_async>},
    {"item_async", bound<item_async>},
    {"__deepcopy__", bound<deepcopy>},
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
