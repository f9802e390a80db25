// Functions and methods that make tensors from sizes, numbers or Python data. Owns what their keyword arguments mean;
// ops/create.cpp makes the values.
#include "bind/create.hpp"

#include <cmath>

#include "bind/bound.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

Tensor number_of(const char* op, PyObject* o) {
  Tensor n;
  if (!number(o, n)) {
    if (!is_tensor(o) || unwrap(o).numel() != 1)
      fail<TypeError>(op, "a number is needed, got " + type_name(o), "give a float or an int");
    number(Object(to_number(op, unwrap(o))).get(), n);
  }
  return n;
}

// A copy of a tensor's values or of Python data.
Tensor copy_of(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId device) {
  if (!is_tensor(data)) return from_python(op, data, dtype, device);
  const Tensor x = unwrap(data).detach();
  const Tensor t = moved(x, dtype, device);
  return t->storage.get() == x->storage.get() ? sg::clone(x) : t;
}

PyObject* tensor(const Call& c) {
  Arguments a("tensor", c);
  PyObject* data = a.need("data");
  PyObject *dtype = a.take("dtype"), *device = a.take("device"), *wants = a.take("requires_grad");
  a.done();
  Options o;
  if (given(dtype)) o.dtype = to_dtype("tensor", dtype);
  o.requires_grad = given(wants) && to_bool(wants);
  o.device = is_tensor(data) && !given(device) ? unwrap(data).device() : device_or_default(device);
  return made(copy_of("tensor", data, o.dtype, o.device), o);
}

PyObject* from_numpy(const Call& c) {
  Arguments a("from_numpy", c);
  PyObject* given = a.need("array", "ndarray");
  a.done();
  if (!PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject*>(numpy().ndarray)))
    fail<TypeError>("from_numpy", std::string("got ") + Py_TYPE(given)->tp_name,
                    "give an array; tensor() copies anything");
  const Object plain = plain_array(given);
  PyObject* array = plain.get();
  Object type(check(PyObject_GetAttrString(array, "dtype")));
  const DType dtype = to_dtype("from_numpy", type.get());
  if (std::optional<Tensor> shared = share_array(array, dtype)) return wrap(*std::move(shared));
  Object flags(check(PyObject_GetAttrString(array, "flags")));
  Object writable(check(PyObject_GetAttrString(flags.get(), "writeable")));
  if (to_bool(writable.get()))
    fail<ValueError>("from_numpy", "the array has negative strides or another byte order", "make a copy with tensor()");
  check(PyErr_WarnEx(PyExc_UserWarning, "from_numpy: the array is read-only, so the tensor has a copy of it", 1));
  return wrap(from_python("from_numpy", array, dtype, {}));
}

PyObject* constant_like(const char* op, int64_t value, const Call& c) {
  Arguments a(op, c);
  const Tensor& x = tensor_of(op, c.self ? c.self : a.need("input"));
  const Options o = options(a, &x);
  return made(filled(x.shape(), Tensor(value), o.dtype.value_or(x.dtype()), o.device), o);
}
PyObject* zeros_like(const Call& c) { return constant_like("zeros_like", 0, c); }
PyObject* ones_like(const Call& c) { return constant_like("ones_like", 1, c); }

PyObject* full(const Call& c) {
  Arguments a("full", c);
  const Dims shape = to_dims("full", a.need("size", "shape"));
  const Tensor n = number_of("full", a.need("fill_value", "value"));
  const Options o = options(a);
  const DType own = n.dtype() == DType::float64 ? default_float() : n.dtype();
  return made(filled(shape, n, o.dtype.value_or(own), o.device), o);
}

PyObject* arange(const Call& c) {
  Arguments a("arange", c);
  PyObject* first = a.take("start");
  PyObject* second = a.take("end", "stop");
  PyObject* third = a.take("step");
  const Options o = options(a);
  if (!second) std::swap(first, second);
  if (!second) fail<TypeError>("arange", "argument end is missing", "write arange(end) or arange(start, end)");
  auto whole = [](PyObject* v) { return !v || (PyIndex_Check(v) && !(is_tensor(v) && is_float(unwrap(v).dtype()))); };
  const bool integers = whole(first) && whole(second) && whole(third);
  const DType dtype = o.dtype.value_or(integers ? DType::int64 : default_float());
  if (integers && !is_float(dtype)) {
    const auto or_else = [](PyObject* v, int64_t fallback) { return v ? to_int("arange", v) : fallback; };
    const int64_t start = or_else(first, 0), end = or_else(second, 0), step = or_else(third, 1);
    return made(sg::arange_int_to(start, end, step, dtype, o.device), o);
  }
  double start = first ? to_real("arange", first) : 0, end = to_real("arange", second);
  double step = third ? to_real("arange", third) : 1;
  if (o.dtype == DType::int64) start = std::trunc(start), end = std::trunc(end), step = std::trunc(step);
  return made(sg::arange_to(start, end, step, dtype, o.device), o);
}

PyObject* empty_like(const Call& c) {
  Arguments a("empty_like", c);
  const Tensor& x = tensor_of("empty_like", c.self ? c.self : a.need("input"));
  const Options o = options(a, &x);
  return made(sg::empty(x.shape(), o.dtype.value_or(x.dtype()), o.device), o);
}
PyObject* full_like(const Call& c) {
  Arguments a("full_like", c);
  const Tensor& x = tensor_of("full_like", c.self ? c.self : a.need("input"));
  const Tensor n = number_of("full_like", a.need("fill_value"));
  const Options o = options(a, &x);
  return made(filled(x.shape(), n, o.dtype.value_or(x.dtype()), o.device), o);
}

PyObject* new_full(const Call& c) {
  Arguments a("new_full", c);
  const Tensor& x = unwrap(c.self);
  const Dims shape = to_dims("new_full", a.need("size", "shape"));
  const Tensor n = number_of("new_full", a.need("fill_value"));
  const Options o = options(a, &x);
  return made(filled(shape, n, o.dtype.value_or(x.dtype()), o.device), o);
}
PyObject* new_tensor(const Call& c) {
  Arguments a("new_tensor", c);
  const Tensor& x = unwrap(c.self);
  PyObject* data = a.need("data");
  const Options o = options(a, &x);
  return made(copy_of("new_tensor", data, o.dtype.value_or(x.dtype()), o.device), o);
}

// The data itself if nothing changes, a tensor on its memory if it is an array, else a copy.
Tensor tensor_on(const char* op, PyObject* data, std::optional<DType> dtype, PyObject* device, bool may_copy) {
  if (is_tensor(data)) {
    const Tensor& x = unwrap(data);
    return moved(x, dtype, given(device) ? to_device_id(device) : x.device());
  }
  const DeviceId place = device_or_default(device);
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

PyObject* as_tensor(const Call& c) {
  Arguments a("as_tensor", c);
  PyObject* data = a.need("data");
  PyObject *dtype = a.take("dtype"), *device = a.take("device");
  a.done();
  std::optional<DType> type;
  if (given(dtype)) type = to_dtype("as_tensor", dtype);
  if (is_tensor(data)) {
    const Tensor& x = unwrap(data);
    if ((!type || *type == x.dtype()) && (!given(device) || to_device_id(device) == x.device())) return Py_NewRef(data);
  }
  return wrap(tensor_on("as_tensor", data, type, device, true));
}

PyObject* asarray(const Call& c) {
  Arguments a("asarray", c);
  PyObject* data = a.need("obj");
  PyObject *dtype = a.keyword("dtype"), *device = a.keyword("device"), *copy = a.keyword("copy");
  PyObject* wants = a.keyword("requires_grad");
  a.done();
  Options o;
  if (given(dtype)) o.dtype = to_dtype("asarray", dtype);
  o.requires_grad = given(wants) && to_bool(wants);
  if (given(copy) && to_bool(copy)) {
    o.device = is_tensor(data) && !given(device) ? unwrap(data).device() : device_or_default(device);
    return made(copy_of("asarray", data, o.dtype, o.device), o);
  }
  Tensor t = tensor_on("asarray", data, o.dtype, device, !given(copy));
  if (given(copy) && is_tensor(data) && t->storage.get() != unwrap(data)->storage.get())
    fail<ValueError>("asarray", "another type or device needs a copy", "use copy=None");
  return made(is_tensor(data) ? t.detach() : t, o);
}

constexpr auto kFunction = Scope::function, kMethod = Scope::method;
const Callable callables[] = {
    {"tensor", tensor, "data: Any, " SG_OPTIONS, "Tensor",
     "A tensor with a copy of the data: numbers, nested lists, arrays, tensors.\n\nPython floats give float32, ints "
     "int64, bools bool; arrays keep their type.\n\nArgs:\n    data: the values.\n" SG_OPTIONS_DOC
     "\nRaises:\n    TypeError: a type that is not supported, such as float16.\n    OverflowError: an integer beyond "
     "int64.\n\nExample:\n    >>> sg.tensor([[1.0, 2.0]]).shape\n    (1, 2)",
     kFunction},
    {"from_numpy", from_numpy, "array: Any", "Tensor",
     "A CPU tensor on the array's own memory: each sees what the other writes.\n\nWhatever reads or writes such a "
     "tensor runs at once, so it is not fused with what comes later. A read-only array is copied, with a "
     "warning.\n\nArgs:\n    array: writable, of a supported "
     "type.\n\nRaises:\n    TypeError: not an array, or a type that is not supported.\n    ValueError: "
     "negative strides, another byte order.\n\nExample:\n    >>> import numpy as np\n    >>> a = np.zeros(2, "
     "np.float32)\n"
     "    >>> x = sg.from_numpy(a)\n    >>> a[0] = 3\n    >>> x.tolist()\n    [3.0, 0.0]",
     kFunction},
    {"zeros", makes<sg::zeros>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor of zeros.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.zeros(2).tolist()\n    [0.0, 0.0]",
     kFunction},
    {"ones", makes<sg::ones>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor of ones.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.ones(2).tolist()\n    [1.0, 1.0]",
     kFunction},
    {"zeros_like", zeros_like, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "Zeros of the shape, type and device of another tensor.\n\nArgs:\n    input: the model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"ones_like", ones_like, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "Ones of the shape, type and device of another tensor.\n\nArgs:\n    input: the model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"full", full, "size: int | Sequence[int], fill_value: float, *, " SG_OPTIONS, "Tensor",
     "A tensor of one value; its type is the number's (float32, int64, bool).\n\nArgs:\n    size: an int or a tuple.\n"
     "    fill_value: the number.\n" SG_OPTIONS_DOC "\nExample:\n    >>> sg.full((2,), 7).tolist()\n    [7, 7]",
     kFunction},
    {"arange", arange, "start: float, end: float | None = None, step: float = 1, *, " SG_OPTIONS, "Tensor",
     "start, start + step, ... up to but without end; int64 when all three are integers, else float32.\n\nArgs:\n"
     "    start: the first value; the end when it is alone.\n    end: the bound.\n    step: the "
     "distance.\n" SG_OPTIONS_DOC "\nExample:\n    >>> sg.arange(3).tolist()\n    [0, 1, 2]",
     kFunction},
    {"empty", makes<sg::empty>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor with undefined contents.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.empty(2, 3).shape\n    (2, 3)",
     kFunction},
    {"empty_like", empty_like, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "A tensor of the shape, type and device of another, with undefined contents.\n\nArgs:\n    input: the "
     "model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"full_like", full_like, "input: Tensor, fill_value: float, *, " SG_OPTIONS, "Tensor",
     "One value in the shape, type and device of another tensor.\n\nArgs:\n    input: the model.\n    fill_value: the "
     "number.\n" SG_OPTIONS_DOC "\nExample:\n    >>> sg.full_like(sg.zeros(2), 7).tolist()\n    [7.0, 7.0]",
     kFunction},
    {"linspace", makes<sg::linspace>, "start: float, end: float, steps: int, *, " SG_OPTIONS, "Tensor",
     "Evenly spaced values from start to end, both included.\n\nArgs:\n    start: the first value.\n    end: the last "
     "one.\n    steps: how many.\n" SG_OPTIONS_DOC
     "\nRaises:\n    ValueError: negative steps, a bound that is not finite.\n\nExample:\n"
     "    >>> sg.linspace(0, 1, 5).tolist()\n    [0.0, 0.25, 0.5, 0.75, 1.0]",
     kFunction},
    {"logspace", makes<sg::logspace>, "start: float, end: float, steps: int, base: float = 10, *, " SG_OPTIONS,
     "Tensor",
     "base to the power of evenly spaced exponents.\n\nArgs:\n    start: the first exponent.\n    end: the last one.\n"
     "    steps: how many.\n    base: of the power.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.logspace(0, 3, 4, base=2).tolist()\n    [1.0, 2.0, 4.0, 8.0]",
     kFunction},
    {"eye", makes<sg::eye>, "n: int, m: int | None = None, *, " SG_OPTIONS, "Tensor",
     "Ones on the diagonal, [n, m].\n\nArgs:\n    n: rows.\n    m: columns; None is n.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.eye(2).tolist()\n    [[1.0, 0.0], [0.0, 1.0]]",
     kFunction},
    {"as_tensor", as_tensor, "data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None", "Tensor",
     "The data as a tensor, without a copy where that can be: a tensor itself when nothing changes, an array's own "
     "memory on the CPU.\n\nArgs:\n    data: a tensor, an array, numbers, nested lists.\n    dtype: type of the "
     "elements.\n    device: a Device or its name; None is the tensor's own, or the default one.\n\nExample:\n"
     "    >>> x = sg.ones(2)\n    >>> sg.as_tensor(x) is x\n    True",
     kFunction},
    {"asarray", asarray,
     "obj: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None, "
     "requires_grad: bool = False",
     "Tensor",
     "The data as a tensor that shares its memory where that can be.\n\nArgs:\n    obj: a tensor, an array, numbers, "
     "nested lists.\n    dtype: type of the elements.\n    device: a Device or its name.\n    copy: True always "
     "copies, "
     "False never, None when it must.\n    requires_grad: whether backward() reaches the tensor.\n\nRaises:\n"
     "    ValueError: a copy would be needed and is not allowed.\n\nExample:\n    >>> sg.asarray([1, 2]).tolist()\n"
     "    [1, 2]",
     kFunction},
    {"new_zeros", makes<sg::new_zeros>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "Zeros of the type and device of this tensor.\n\nExample:\n    >>> sg.arange(3).new_zeros(2).tolist()\n    [0, 0]",
     kMethod},
    {"new_ones", makes<sg::new_ones>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "Ones of the type and device of this tensor.\n\nExample:\n    >>> sg.arange(3).new_ones(2).tolist()\n    [1, 1]",
     kMethod},
    {"new_full", new_full, "size: int | Sequence[int], fill_value: float, *, " SG_OPTIONS, "Tensor",
     "One value in the type and device of this tensor.\n\nExample:\n    >>> sg.zeros(3).new_full((2,), 7).tolist()\n"
     "    [7.0, 7.0]",
     kMethod},
    {"new_empty", makes<sg::new_empty>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor with undefined contents, of the type and device of this one.", kMethod},
    {"new_tensor", new_tensor, "data: Any, *, " SG_OPTIONS, "Tensor",
     "A tensor with a copy of the data, of the type and device of this one.\n\nExample:\n"
     "    >>> sg.zeros(3).new_tensor([1, 2]).tolist()\n    [1.0, 2.0]",
     kMethod},
};

}  // namespace

Options options(Arguments& a, const Tensor* like) {
  Options o;
  if (PyObject* dtype = a.keyword("dtype"); given(dtype)) o.dtype = to_dtype(a.op(), dtype);
  PyObject* device = a.keyword("device");
  o.device = like && !given(device) ? like->device() : device_or_default(device);
  if (PyObject* wants = a.keyword("requires_grad"); given(wants)) o.requires_grad = to_bool(wants);
  a.done();
  return o;
}
PyObject* made(Tensor t, const Options& o) { return wrap(o.requires_grad ? t.requires_grad_() : t); }

void add_creation(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
