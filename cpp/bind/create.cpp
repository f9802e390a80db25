// Functions and methods that make tensors from sizes, numbers or Python data. Owns what their keyword arguments mean;
// ops/create.cpp makes the values.
#include "bind/create.hpp"

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

constexpr auto kFunction = Scope::function, kMethod = Scope::method;
const Callable callables[] = {
    {"tensor", makes<tensor>, "data: Any, " SG_OPTIONS, "Tensor",
     "A tensor with a copy of the data: numbers, nested lists, arrays, tensors.\n\nPython floats give float32, ints "
     "int64, bools bool; arrays keep their type.\n\nArgs:\n    data: the values.\n" SG_OPTIONS_DOC
     "\nRaises:\n    TypeError: a type that is not supported, such as float16.\n    OverflowError: an integer beyond "
     "int64.\n\nExample:\n    >>> sg.tensor([[1.0, 2.0]]).shape\n    (1, 2)",
     kFunction},
    {"from_numpy", bound<from_numpy>, "array: Any", "Tensor",
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
    {"zeros_like", makes<sg::zeros_like>, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "Zeros of the shape, type and device of another tensor.\n\nArgs:\n    input: the model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"ones_like", makes<sg::ones_like>, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "Ones of the shape, type and device of another tensor.\n\nArgs:\n    input: the model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"full", makes<full>, "size: int | Sequence[int], fill_value: float, *, " SG_OPTIONS, "Tensor",
     "A tensor of one value; its type is the number's (float32, int64, bool).\n\nArgs:\n    size: an int or a tuple.\n"
     "    fill_value: the number.\n" SG_OPTIONS_DOC "\nExample:\n    >>> sg.full((2,), 7).tolist()\n    [7, 7]",
     kFunction},
    {"arange", makes<arange>, "start: float | None = None, end: float | None = None, step: float = 1, *, " SG_OPTIONS,
     "Tensor",
     "start, start + step, ... up to but without end; int64 when all three are integers, else float32.\n\nArgs:\n"
     "    start: the first value; the end when it is alone.\n    end: the bound.\n    step: the "
     "distance.\n" SG_OPTIONS_DOC "\nExample:\n    >>> sg.arange(3).tolist()\n    [0, 1, 2]",
     kFunction},
    {"empty", makes<sg::empty>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor with undefined contents.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.empty(2, 3).shape\n    (2, 3)",
     kFunction},
    {"empty_like", makes<sg::empty_like>, "input: Tensor, *, " SG_OPTIONS, "Tensor",
     "A tensor of the shape, type and device of another, with undefined contents.\n\nArgs:\n    input: the "
     "model.\n" SG_OPTIONS_DOC,
     kFunction},
    {"full_like", makes<full_like>, "input: Tensor, fill_value: float, *, " SG_OPTIONS, "Tensor",
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
    {"as_tensor", bound<as_tensor>, "data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None",
     "Tensor",
     "The data as a tensor, without a copy where that can be: a tensor itself when nothing changes, an array's own "
     "memory on the CPU.\n\nArgs:\n    data: a tensor, an array, numbers, nested lists.\n    dtype: type of the "
     "elements.\n    device: a Device or its name; None is the tensor's own, or the default one.\n\nExample:\n"
     "    >>> x = sg.ones(2)\n    >>> sg.as_tensor(x) is x\n    True",
     kFunction},
    {"asarray", makes<asarray>,
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
    {"new_full", makes<new_full>, "size: int | Sequence[int], fill_value: float, *, " SG_OPTIONS, "Tensor",
     "One value in the type and device of this tensor.\n\nExample:\n    >>> sg.zeros(3).new_full((2,), 7).tolist()\n"
     "    [7.0, 7.0]",
     kMethod},
    {"new_empty", makes<sg::new_empty>, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor with undefined contents, of the type and device of this one.", kMethod},
    {"new_tensor", makes<new_tensor>, "data: Any, *, " SG_OPTIONS, "Tensor",
     "A tensor with a copy of the data, of the type and device of this one.\n\nExample:\n"
     "    >>> sg.zeros(3).new_tensor([1, 2]).tolist()\n    [1.0, 2.0]",
     kMethod},
};

}  // namespace

void add_creation(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
