// Functions that make tensors.
#include <cmath>

#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// dtype=, device= and requires_grad=, which all of these take.
struct Options {
  std::optional<DType> dtype;
  DeviceId device;
  bool requires_grad = false;
};
Options options(Arguments& a, const Tensor* like = nullptr) {
  Options o;
  if (PyObject* dtype = a.keyword("dtype"); given(dtype)) o.dtype = to_dtype(a.op(), dtype);
  PyObject* device = a.keyword("device");
  o.device = like && !given(device) ? like->device() : device_or_default(device);
  if (PyObject* wants = a.keyword("requires_grad"); given(wants)) o.requires_grad = to_bool(wants);
  a.done();
  return o;
}
PyObject* made(Tensor t, const Options& o) { return wrap(o.requires_grad ? t.requires_grad_() : t); }

Tensor filled(const Dims& shape, const Tensor& value, DType dtype, DeviceId device) {
  if (is_float(value.dtype())) return full(shape, value->number.f, dtype, device);
  return is_float(dtype) ? full(shape, static_cast<double>(value->number.i), dtype, device)
                         : full_int(shape, value->number.i, dtype, device);
}

PyObject* tensor(const Call& c) {
  Arguments a("tensor", c);
  PyObject* data = a.need("data");
  PyObject *dtype = a.take("dtype"), *device = a.take("device"), *wants = a.take("requires_grad");
  a.done();
  Options o;
  if (given(dtype)) o.dtype = to_dtype("tensor", dtype);
  o.requires_grad = given(wants) && to_bool(wants);
  if (is_tensor(data)) {
    static const OpInfo& copy = *find_op("contiguous");
    const Tensor& x = unwrap(data);
    const Tensor fresh = apply(copy, x.detach());
    return made(moved(fresh, o.dtype, given(device) ? to_device_id(device) : x.device()), o);
  }
  return made(from_python("tensor", data, o.dtype, device_or_default(device)), o);
}

PyObject* from_numpy(const Call& c) {
  Arguments a("from_numpy", c);
  PyObject* array = a.need("array", "ndarray");
  a.done();
  if (!PyObject_TypeCheck(array, reinterpret_cast<PyTypeObject*>(numpy().ndarray)))
    fail<TypeError>("from_numpy", std::string("got ") + Py_TYPE(array)->tp_name,
                    "give an array; tensor() copies anything");
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

PyObject* constant(const char* op, int64_t value, const Call& c) {
  Arguments a(op, c);
  const Dims shape = a.sizes("size", "shape");
  const Options o = options(a);
  return made(filled(shape, Tensor(value), o.dtype.value_or(DType::float32), o.device), o);
}
PyObject* zeros(const Call& c) { return constant("zeros", 0, c); }
PyObject* ones(const Call& c) { return constant("ones", 1, c); }

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
  PyObject* value = a.need("fill_value", "value");
  const Options o = options(a);
  Tensor n;
  if (!number(value, n))
    fail<TypeError>("full", "a number is needed, got " + type_name(value), "give a float or an int");
  const DType own = n.dtype() == DType::float64 ? DType::float32 : n.dtype();
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
  auto whole = [](PyObject* v) { return !v || PyIndex_Check(v); };
  const double start = first ? to_real("arange", first) : 0, end = to_real("arange", second);
  const double step = third ? to_real("arange", third) : 1;
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step))
    fail<ValueError>("arange", "step 0 or a bound that is not finite", "use a finite range");
  if ((end - start) / step < 0)
    fail<ValueError>("arange",
                     "the step leads away from the end, " + std::to_string(start) + " to " + std::to_string(end) +
                         " by " + std::to_string(step),
                     "change its sign");
  const bool integers = whole(first) && whole(second) && whole(third);
  const auto count = static_cast<int64_t>(std::ceil((end - start) / step));
  return made(sg::arange(start, step, count, o.dtype.value_or(integers ? DType::int64 : DType::float32), o.device), o);
}

template <Tensor (*op)(const Dims&, DeviceId)>
PyObject* random(const char* name, const Call& c) {
  Arguments a(name, c);
  const Dims shape = c.count == 0 && !c.names ? Dims() : a.sizes("size", "shape");
  const Options o = options(a);
  if (o.dtype && !is_float(*o.dtype))
    fail<TypeError>(name, std::string("dtype ") + name_of(*o.dtype) + " has no such numbers", "use float32 or float64");
  return made(cast(op(shape, o.device), o.dtype.value_or(DType::float32)), o);
}
PyObject* rand(const Call& c) { return random<sg::rand>("rand", c); }
PyObject* randn(const Call& c) { return random<sg::randn>("randn", c); }

PyObject* manual_seed(const Call& c) {
  Arguments a("manual_seed", c);
  const int64_t seed = to_int("manual_seed", a.need("seed"));
  a.done();
  sg::manual_seed(seed);
  Py_RETURN_NONE;
}

#define SG_OPTIONS "dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False"
#define SG_OPTIONS_DOC                                                                                                \
  "    dtype: type of the elements.\n    device: a Device or \"cpu\", \"gpu\", \"gpu:1\"; None is the default one.\n" \
  "    requires_grad: whether backward() reaches the tensor.\n"
constexpr auto kFunction = Where::function;
const Row rows[] = {
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
    {"zeros", zeros, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "A tensor of zeros.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> sg.zeros(2).tolist()\n    [0.0, 0.0]",
     kFunction},
    {"ones", ones, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
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
    {"rand", rand, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "Uniform numbers in [0, 1), the same bits on every device.\n\nArgs:\n    size: several ints or one "
     "tuple.\n" SG_OPTIONS_DOC "\nExample:\n    >>> x = sg.rand(2, 3)",
     kFunction},
    {"randn", randn, "*size: int | Sequence[int], " SG_OPTIONS, "Tensor",
     "Standard normal numbers.\n\nArgs:\n    size: several ints or one tuple.\n" SG_OPTIONS_DOC
     "\nExample:\n    >>> x = sg.randn(2, 3)",
     kFunction},
    {"manual_seed", manual_seed, "seed: int", "None",
     "Starts the random numbers of all devices anew.\n\nExample:\n    >>> sg.manual_seed(0)", kFunction},
};

}  // namespace

void add_creation(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
