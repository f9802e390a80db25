// Owns the conversions between tensors and NumPy arrays, lists and numbers. Memory that both sides see is counted, so
// that neither frees it under the other.
#include "bind/numpy.hpp"

#include <new>

#include "bind/answers.hpp"
#include "bind/arguments.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

NumPy np;

constexpr size_t kLongCopy = 1 << 16;  // bytes; copies beyond give up the GIL

// The bytes of a CPU tensor as Python's buffer protocol hands them out: the base of the arrays on them.
struct PyMemory {
  PyObject_HEAD Escaped escaped;
  size_t bytes;
};
PyTypeObject* memory_type = nullptr;

PyObject* new_memory(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) new (&reinterpret_cast<PyMemory*>(self)->escaped) Escaped();
  return self;
}
void delete_memory(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<PyMemory*>(self)->escaped.~Escaped();
  type->tp_free(self);
  Py_DECREF(type);
}
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* m = reinterpret_cast<PyMemory*>(self);
  return PyBuffer_FillInfo(view, self, m->escaped.data, static_cast<Py_ssize_t>(m->bytes), 0, flags);
}

PyType_Slot memory_slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_memory)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(delete_memory)},
                              {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_tp_doc, const_cast<char*>("The memory of a CPU tensor.")},
                              {0, nullptr}};
PyType_Spec memory_spec{"spirograd._Memory", sizeof(PyMemory), 0, Py_TPFLAGS_DEFAULT, memory_slots};

class Buffer {
 public:
  Buffer(PyObject* o, int flags) { check(PyObject_GetBuffer(o, &view_, flags)); }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return view_.buf; }
  size_t bytes() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

std::string text_of(PyObject* o) {
  Object text(check(PyObject_Str(o)));
  const char* s = PyUnicode_AsUTF8(text.get());
  return s ? s : "?";
}

// Types of numbers that NumPy may convert to ours when the caller asks for it.
bool is_numeric(PyObject* dtype) {
  Object kind(check(PyObject_GetAttrString(dtype, "kind")));
  const char* k = PyUnicode_AsUTF8(kind.get());
  return k && (*k == 'b' || *k == 'i' || *k == 'u' || *k == 'f');
}

Dims shape_of(PyObject* array) {
  Object shape(check(PyObject_GetAttrString(array, "shape")));
  Dims dims;
  for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape.get()); ++d)
    dims.push(PyLong_AsLongLong(PyTuple_GET_ITEM(shape.get(), d)));
  return dims;
}

Tensor from_array(const char* op, PyObject* given, std::optional<DType> dtype, DeviceId device) {
  const Object owner = plain_array(given);
  PyObject* array = owner.get();
  Object theirs(check(PyObject_GetAttrString(array, "dtype")));
  const std::optional<DType> own = known_dtype(theirs.get());
  if (!own && !(dtype && is_numeric(theirs.get())))
    fail<TypeError>(
        op, "dtype " + text_of(theirs.get()) + " is not supported",
        std::string("use ") + supported_dtypes() + (is_numeric(theirs.get()) ? ", or pass dtype= to convert" : ""));
  const DType to = dtype.value_or(own.value_or(DType::float32));
  const Dims shape = shape_of(array);
  if (to == DType::bfloat16 && own != to) return cast(from_array(op, array, DType::float32, device), to);
  Object plain(check(PyObject_CallFunctionObjArgs(np.ascontiguousarray, array, numpy_dtype(op, to), nullptr)));
  Buffer buffer(plain.get(), PyBUF_SIMPLE);
  check_size(op, shape);
  if (buffer.bytes() != static_cast<size_t>(shape.numel()) * size_of(to))
    fail<ValueError>(op, std::to_string(buffer.bytes()) + " bytes for an array of shape " + shape.str(),
                     "give an array of NumPy's own");
  if (buffer.bytes() < kLongCopy) return from_host(buffer.data(), shape, to, device);
  WithoutGil unlocked;
  return from_host(buffer.data(), shape, to, device);
}

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

// The first number of nested lists decides what a Python float in them means. nullptr: no tensor has as many dimensions.
PyObject* first_leaf(PyObject* o) {
  for (int depth = 0; is_list(o) && PySequence_Fast_GET_SIZE(o) > 0; ++depth) {
    if (depth == kMaxRank) return nullptr;
    o = PySequence_Fast_GET_ITEM(o, 0);
  }
  return o;
}

bool has_huge_int(PyObject* o, int depth = 0) {
  if (PyLong_Check(o)) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow != 0;
  }
  if (!is_list(o) || depth == kMaxRank) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (has_huge_int(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return true;
  return false;
}

// Adds the types of what nested lists hold to `type`; a Python float has the default type, whatever NumPy makes of it.
// False where there is something else.
bool add_types(PyObject* o, std::optional<DType>& type, int depth = 0) {
  std::optional<DType> own;
  if (is_list(o)) {
    if (depth == kMaxRank) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      const Object item(Py_NewRef(PySequence_Fast_GET_ITEM(o, i)));
      if (!add_types(item.get(), type, depth + 1)) return false;
    }
    return true;
  }
  if (is_tensor(o)) {
    own = unwrap(o).dtype();
  } else if (PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(np.generic)) ||
             PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(np.ndarray))) {
    own = known_dtype(Object(check(PyObject_GetAttrString(o, "dtype"))).get());
  } else if (PyFloat_Check(o)) {
    own = default_float();
  } else if (PyBool_Check(o)) {
    own = DType::boolean;
  } else if (PyLong_Check(o)) {
    own = DType::int64;
  }
  if (!own) return false;
  type = type ? promote(*type, *own) : own;
  return true;
}

void raise_huge(const char* op) {
  raise(PyExc_OverflowError, std::string(op) + ": an integer does not fit into int64; use a float");
}

// The array of a list that holds only floats, without the several passes of np.array; else nothing.
Object array_of_floats(PyObject* data, PyObject* leaf) {
  if (!PyList_CheckExact(data) || !PyFloat_CheckExact(leaf)) return {};
  const Py_ssize_t n = PyList_GET_SIZE(data);
  Object array(check(PyObject_CallFunction(np.empty, "n", n)));
  const Buffer buffer(array.get(), PyBUF_WRITABLE);
  if (PyList_GET_SIZE(data) != n) return {};  // a collection that came meanwhile changed it
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyList_GET_ITEM(data, i);
    if (!PyFloat_CheckExact(item)) return {};
    static_cast<double*>(buffer.data())[i] = PyFloat_AS_DOUBLE(item);
  }
  return array;
}

// As in PyTorch, a number below 0 wraps in an unsigned type.
void check_fits(const char* op, int64_t least, int64_t most, DType to) {
  if (is_float(to) || to == DType::boolean || size_of(to) == 8) return;
  const bool has_sign = to != DType::uint8;
  const int64_t above = (int64_t{1} << (8 * size_of(to) - has_sign)) - 1, below = has_sign ? -above - 1 : -above;
  if (least >= below && most <= above) return;
  fail<ValueError>(op, std::to_string(most > above ? most : least) + " does not fit into " + name_of(to),
                   "use a wider type, or convert a tensor of int64");
}

Tensor from_list(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId device) {
  const Object leaf(Py_XNewRef(first_leaf(data)));  // what NumPy asks may change the list
  if (!leaf)
    fail<ValueError>(op, "the lists are nested deeper than the " + std::to_string(kMaxRank) + " dimensions of a tensor",
                     "flatten them first");
  Object array = array_of_floats(data, leaf.get());
  const bool only_floats(array);
  if (!array) leave_to_elements(op, data);
  if (!array) array = Object(PyObject_CallOneArg(np.array, data));
  if (!array) {
    if (PyErr_ExceptionMatches(PyExc_ValueError)) {
      PyErr_Clear();
      fail<ValueError>(op, "the nested lists have different lengths", "make them a rectangle");
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      raise_huge(op);
    }
    throw PythonError();
  }
  Object theirs(check(PyObject_GetAttrString(array.get(), "dtype")));
  if (!known_dtype(theirs.get()) && has_huge_int(data)) raise_huge(op);
  if (!dtype && theirs.get() == np.dtypes[static_cast<int>(DType::float64)]) {
    std::optional<DType> found;
    if (only_floats || add_types(data, found)) dtype = found.value_or(default_float());
    if (dtype && !is_float(*dtype)) raise_huge(op);  // integers alone, of which one did not fit
  }
  if (dtype && theirs.get() == np.dtypes[static_cast<int>(DType::int64)] && PyObject_Size(array.get()) > 0) {
    const Object least(check(PyObject_CallMethod(array.get(), "min", nullptr)));
    const Object most(check(PyObject_CallMethod(array.get(), "max", nullptr)));
    check_fits(op, to_int(op, least.get()), to_int(op, most.get()), *dtype);
  }
  return from_array(op, array.get(), dtype, device);
}

Tensor from_number(const Tensor& n, DType to, DeviceId device) {
  const bool real = is_float(n.dtype());
  const double f = real ? n->number.f : static_cast<double>(n->number.i);
  const int64_t i = real ? static_cast<int64_t>(n->number.f) : n->number.i;
  if (is_narrow(to)) return cast(from_number(n, wide_of(to), device), to);
  switch (to) {
    case DType::boolean: {
      const uint8_t v = real ? f != 0 : i != 0;
      return from_host(&v, {}, to, device);
    }
    case DType::int32: {
      const auto v = static_cast<int32_t>(i);
      return from_host(&v, {}, to, device);
    }
    case DType::int64:
      return from_host(&i, {}, to, device);
    case DType::float32: {
      const auto v = static_cast<float>(f);
      return from_host(&v, {}, to, device);
    }
    default:
      return from_host(&f, {}, to, device);
  }
}

}  // namespace

const NumPy& numpy() { return np; }

Object plain_array(PyObject* array) {
  if (Py_TYPE(array) == reinterpret_cast<PyTypeObject*>(np.ndarray)) return Object(Py_NewRef(array));
  return Object(check(PyObject_CallOneArg(np.asarray, array)));
}

PyObject* numpy_dtype(const char* op, DType t) {
  PyObject*& known = np.dtypes[static_cast<int>(t)];
  if (known) return known;
  Object module(PyImport_ImportModule("ml_dtypes"));
  if (!module) {
    PyErr_Clear();
    fail<TypeError>(op, std::string("NumPy has no ") + name_of(t), "install ml_dtypes, or convert with .float()");
  }
  Object scalar(check(PyObject_GetAttrString(module.get(), name_of(t))));
  return known = check(PyObject_CallOneArg(np.dtype, scalar.get()));
}

std::optional<DType> known_dtype(PyObject* dtype) {
  for (int t = 0; t < kDTypeCount; ++t)
    if (dtype == np.dtypes[t]) return static_cast<DType>(t);
  Object name(check(PyObject_GetAttrString(dtype, "name")));
  for (int t = 0; t < kDTypeCount; ++t)
    if (!PyUnicode_CompareWithASCIIString(name.get(), name_of(static_cast<DType>(t)))) return static_cast<DType>(t);
  return {};
}

void load_numpy() {
  memory_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&memory_spec)));
  Object module(check(PyImport_ImportModule("numpy")));
  auto get = [&](const char* name) { return check(PyObject_GetAttrString(module.get(), name)); };
  np = {get("ndarray"),           get("generic"),         get("bool_"), get("integer"),
        get("floating"),          get("complexfloating"), get("array"), get("asarray"),
        get("ascontiguousarray"), get("empty"),           get("dtype"), {}};
  for (int t = 0; t < kDTypeCount; ++t)
    if (static_cast<DType>(t) != DType::bfloat16)
      np.dtypes[t] = check(PyObject_CallFunction(np.dtype, "s", name_of(static_cast<DType>(t))));
}

Tensor from_python(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId device) {
  Tensor n;
  if (number(data, n)) {
    DType own = n.dtype() == DType::float64 ? default_float() : n.dtype();
    if (PyObject_TypeCheck(data, reinterpret_cast<PyTypeObject*>(np.generic)))
      return from_array(op, Object(check(PyObject_CallOneArg(np.asarray, data))).get(), dtype, device);
    if (dtype && !is_float(own)) check_fits(op, n->number.i, n->number.i, *dtype);
    return from_number(n, dtype.value_or(own), device);
  }
  if (is_list(data)) return from_list(op, data, dtype, device);
  if (PyObject_TypeCheck(data, reinterpret_cast<PyTypeObject*>(np.ndarray))) return from_array(op, data, dtype, device);
  Object array(check(PyObject_CallOneArg(np.asarray, data)));
  return from_array(op, array.get(), dtype, device);
}

namespace {
// Releases the array once its memory is no longer needed; called from any thread, with or without the GIL.
void give_back(Py_buffer* view) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = ensure_gil();
  PyBuffer_Release(view);
  PyGILState_Release(state);
  delete view;
}
}  // namespace

std::optional<Tensor> share_array(PyObject* given, DType dtype) {
  const Object owner = plain_array(given);
  PyObject* array = owner.get();
  Object type(check(PyObject_GetAttrString(array, "dtype")));
  if (PyObject_RichCompareBool(type.get(), numpy_dtype("numpy", dtype), Py_EQ) != 1) return {};
  auto view = std::make_unique<Py_buffer>();
  // Without the format: NumPy cannot describe types that came later, and the dtype is known.
  if (PyObject_GetBuffer(array, view.get(), PyBUF_WRITABLE | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return {};
  }
  const auto size = static_cast<int64_t>(size_of(dtype));
  Dims shape, strides;
  bool fits = reinterpret_cast<uintptr_t>(view->buf) % size_of(dtype) == 0;
  for (int d = 0; d < view->ndim; ++d) {
    shape.push(view->shape[d]);
    strides.push(view->strides[d] / size);
    fits = fits && (view->strides[d] >= 0 || view->shape[d] <= 1) && view->strides[d] % size == 0;
    if (view->shape[d] <= 1) strides[d] = 1;
  }
  Py_buffer* held = view.release();
  if (fits) return share_host(held->buf, shape, strides, dtype, [held] { give_back(held); });
  give_back(held);
  return {};
}

PyObject* to_numpy(const Tensor& x, bool copy) {
  Object shape(dims_tuple(x.shape()));
  PyObject* dtype = numpy_dtype("numpy", x.dtype());
  if (!copy && !x.device().is_gpu() && x.numel() > 0) {
    Object memory(check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(memory_type))));
    auto* m = reinterpret_cast<PyMemory*>(memory.get());
    {
      WithoutGil unlocked;
      m->escaped = Escaped(x);
    }
    m->bytes = static_cast<size_t>(span(x.shape(), x.strides())) * size_of(x.dtype());
    if (x.contiguous()) {
      PyObject* arguments[] = {shape.get(), dtype, memory.get()};
      return check(PyObject_Vectorcall(np.ndarray, arguments, 3, nullptr));
    }
    Dims steps = x.strides();
    for (int d = 0; d < steps.rank; ++d) steps[d] *= static_cast<int64_t>(size_of(x.dtype()));
    Object strides(dims_tuple(steps)), zero(check(PyLong_FromLong(0)));
    PyObject* arguments[] = {shape.get(), dtype, memory.get(), zero.get(), strides.get()};
    return check(PyObject_Vectorcall(np.ndarray, arguments, 5, nullptr));
  }
  PyObject* arguments[] = {shape.get(), dtype};
  Object array(check(PyObject_Vectorcall(np.empty, arguments, 2, nullptr)));
  if (x.numel() == 0) return array.release();
  {
    Buffer buffer(array.get(), PyBUF_WRITABLE);
    WithoutGil unlocked;
    read(x, buffer.data());
  }
  return array.release();
}

PyObject* to_number(const char* op, const Tensor& x) {
  if (x.numel() != 1)
    fail<ValueError>(op, "the tensor has " + std::to_string(x.numel()) + " elements, not one",
                     "index or reduce it first, or use tolist()");
  if (is_float(x.dtype())) {
    double v;
    {
      WithoutGil unlocked;
      v = read_item(x);
    }
    return check(PyFloat_FromDouble(v));
  }
  int64_t v;
  {
    WithoutGil unlocked;
    v = read_item_int(x);
  }
  return x.dtype() == DType::boolean ? PyBool_FromLong(v != 0) : check(PyLong_FromLongLong(v));
}

}  // namespace sg::bind
