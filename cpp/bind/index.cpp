// x[...] and x[...] = value. Integers, slices, None and Ellipsis make a view; then tensors, masks, lists and arrays
// index the dimensions at which they stand.
#include "bind/arguments.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// One subscript of a key, and the tensor made from it if it is a list or an array.
struct Subscript {
  PyObject* key;
  Tensor tensor;
  bool is_mask() const { return tensor && tensor.dtype() == DType::boolean; }
  // How many dimensions it stands for.
  int dims() const { return is_mask() ? tensor.rank() : key == Py_None || key == Py_Ellipsis ? 0 : 1; }
};

// A view while a key is read: `dim` is the next dimension to index; `indices` are the tensors that index afterwards.
struct Cursor {
  struct Index {
    int dim;
    Tensor tensor;
  };
  Tensor x;
  int dim = 0;
  std::vector<Index> indices;

  bool is_one_mask() const { return indices.size() == 1 && indices[0].tensor.dtype() == DType::boolean; }
};

// Keys that PyTorch deprecates and still reads in another way than NumPy (spirograd.torch).
bool legacy_keys = false;

bool is_integer(PyObject* key) { return PyIndex_Check(key) && !PyBool_Check(key) && !PySequence_Check(key); }

Tensor as_index(PyObject* key, DeviceId device) {
  Tensor t;
  if (is_tensor(key)) {
    t = unwrap(key);
  } else {
    t = from_python("getitem", key, {}, DeviceId{});
    if (t.numel() == 0 && PyList_Check(key)) t = cast(t, DType::int64);
  }
  if (is_float(t.dtype()))
    fail<IndexError>("getitem", std::string("an index of ") + name_of(t.dtype()), "use integers or bool");
  t = legacy_mask(t);
  if (!(t.device() == device)) t = moved(t, {}, device);
  return t;
}

Subscript subscript_of(PyObject* key, DeviceId device) {
  if (key == Py_None || key == Py_Ellipsis || PySlice_Check(key)) return {key, {}};
  if (is_integer(key) && !is_tensor(key)) return {key, {}};
  const bool array = PyObject_HasAttrString(key, "__array__") != 0;
  if (!is_tensor(key) && !PyBool_Check(key) && !array && (!PySequence_Check(key) || PyUnicode_Check(key)))
    fail<TypeError>("getitem", "an index of type " + type_name(key) + " is not supported",
                    "use integers, slices, None, ..., tensors, arrays and lists");
  Tensor t = as_index(key, device);
  if (t.rank() > 0 || t.dtype() == DType::boolean) return {key, std::move(t)};
  return {key, {}};  // one integer, in a tensor or an array
}

void take_slice(Cursor& at, PyObject* key) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
    PyErr_Clear();
    auto* parts = reinterpret_cast<PySliceObject*>(key);
    if (PyLong_Check(parts->step) && PyObject_IsTrue(parts->step) == 0)
      fail<ValueError>("getitem", "a slice step of 0", "use steps of 1 or more");
    fail<TypeError>("getitem", "a slice needs integers or None", "write x[1:3]");
  }
  if (step < 1)
    fail<ValueError>("getitem", "a slice step of " + std::to_string(step),
                     step == -1 ? "use .flip(" + std::to_string(at.dim) + ")" : "use .flip() and a step above 0");
  const Py_ssize_t count = PySlice_AdjustIndices(at.x.shape()[at.dim], &start, &stop, step);
  at.x = slice(at.x, at.dim++, start, count, step);
}

void take_mask(Cursor& at, const Tensor& mask) {
  if (mask.rank() == 0) {  // a new dimension, of one element or none
    Object truth(to_number("getitem", mask));
    at.x = unsqueeze(at.x, at.dim);
    at.indices.push_back({at.dim++, arange(0, 1, to_bool(truth.get()), DType::int64, at.x.device())});
    return;
  }
  for (int d = 0; d < mask.rank(); ++d)
    if (mask.shape()[d] != at.x.shape()[at.dim + d])
      fail<IndexError>("getitem",
                       "a mask of shape " + mask.shape().str() + " at dimension " + std::to_string(at.dim) + " of " +
                           at.x.shape().str(),
                       "give the mask the sizes of the dimensions it stands for");
  at.indices.push_back({at.dim, mask});
  at.dim += mask.rank();
}

void take(Cursor& at, const Subscript& subscript) {
  if (subscript.key == Py_None) {
    at.x = unsqueeze(at.x, at.dim++);
    return;
  }
  if (at.dim + subscript.dims() > at.x.rank())
    fail<IndexError>("getitem", "too many indices for shape " + at.x.shape().str(), "use at most one a dimension");
  if (subscript.is_mask())
    take_mask(at, subscript.tensor);
  else if (subscript.tensor)
    at.indices.push_back({at.dim++, subscript.tensor});
  else if (PySlice_Check(subscript.key))
    take_slice(at, subscript.key);
  else
    at.x = select(at.x, at.dim, to_int("getitem", subscript.key));
}

void warn(const char* message) { check(PyErr_WarnEx(PyExc_UserWarning, message, 1)); }

// A short list of anything but numbers.
bool is_legacy_tuple(PyObject* key) {
  if (!legacy_keys || !PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* part = PyList_GET_ITEM(key, i);
    if (part == Py_None || part == Py_Ellipsis || PySlice_Check(part) || PySequence_Check(part)) return true;
  }
  return false;
}

bool is_whole(PyObject* key) {
  if (!PySlice_Check(key)) return false;
  auto* s = reinterpret_cast<PySliceObject*>(key);
  return s->start == Py_None && s->stop == Py_None && s->step == Py_None;
}

// Left to right: each part of the key makes a view of the tensor so far, or leaves an index for later. Nothing is
// copied before all parts are known to be right.
Cursor follow(const Tensor& x, PyObject* key) {
  if (is_legacy_tuple(key)) {
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated: it counts as a tuple; use "
        "x[tuple(key)]");
    return follow(x, Object(check(PyList_AsTuple(key))).get());
  }
  Cursor at{x, 0, {}};
  if (!PyTuple_Check(key)) {
    if (key != Py_Ellipsis) take(at, subscript_of(key, x.device()));
    return at;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(key);
  std::vector<Subscript> subscripts;
  int named = 0, dots = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    subscripts.push_back(subscript_of(PyTuple_GET_ITEM(key, i), x.device()));
    dots += subscripts.back().key == Py_Ellipsis;
    named += subscripts.back().dims();
  }
  if (dots > 1) fail<IndexError>("getitem", "more than one ... in an index", "use it once");
  if (named > x.rank())
    fail<IndexError>("getitem", std::to_string(named) + " indices for shape " + x.shape().str(),
                     "use at most one a dimension");
  for (const Subscript& subscript : subscripts) {
    if (subscript.key == Py_Ellipsis)
      at.dim += x.rank() - named;
    else if (is_whole(subscript.key))
      ++at.dim;
    else
      take(at, subscript);
  }
  return at;
}

// One index a dimension, masks as the coordinates of what they choose.
// Masks are read here, which runs what is pending: how many elements they choose decides the shape of the result.
std::vector<Tensor> by_dimension(const Cursor& at) {
  std::vector<Tensor> out(static_cast<size_t>(at.x.rank()));
  for (const Cursor::Index& index : at.indices) {
    auto to = static_cast<size_t>(index.dim);
    if (index.tensor.dtype() != DType::boolean) {
      out[to] = index.tensor;
      continue;
    }
    for (const Tensor& i : coordinates_of(index.tensor)) out[to++] = i;
  }
  return out;
}

Tensor read(const Cursor& at) {
  if (at.indices.empty()) return at.x;
  if (!at.is_one_mask()) return sg::index(at.x, by_dimension(at));
  const Cursor::Index& mask = at.indices[0];
  return take_places(at.x, mask.dim, mask.tensor.rank(), places_of(mask.tensor));
}

// The value, shaped to broadcast against the masked dimensions, if it is the same for all elements that the mask
// chooses: then their number need not be read. Else nothing.
std::optional<Tensor> same_for_all(const Cursor& at, const Tensor& value) {
  if (value.is_number()) return value;
  const int masked = at.indices[0].tensor.rank(), behind = at.x.rank() - at.indices[0].dim - masked;
  const int counted = value.rank() - 1 - behind;  // which dimension of the value meets the number of chosen ones
  if (counted < 0) return value;
  if (value.shape()[counted] != 1) return {};
  Dims shape;
  for (int d = 0; d < value.rank(); ++d) {
    shape.push(value.shape()[d]);
    for (int i = 1; d == counted && i < masked; ++i) shape.push(1);
  }
  return reshape(value, shape);
}

// The end of x[i] += 1: the element has been written already.
bool is_itself(const Tensor& x, const Tensor& value) {
  return !value.is_number() && value->storage == x->storage && value->offset == x->offset &&
         value.shape() == x.shape() && value.strides() == x.strides() && value.dtype() == x.dtype();
}

// A view is written through. A mask with one value for all becomes `where`, which need not know how many elements it
// chooses. Everything else goes through computed places.
void write(const Cursor& at, const Tensor& value0) {
  Tensor value = converted(value0, at.x.dtype());
  if (at.indices.empty()) {
    if (is_itself(at.x, value)) return;
    while (value.rank() > at.x.rank() && value.shape()[0] == 1) value = squeeze(value, 0);
    copy_(at.x, value);
    return run_small(at.x);
  }
  if (at.is_one_mask()) {
    if (const auto same = same_for_all(at, value)) {
      const Cursor::Index& index = at.indices[0];
      Tensor mask = index.tensor;
      while (mask.rank() < at.x.rank() - index.dim) mask = unsqueeze(mask, -1);
      return rewrite_(at.x, [&](const Tensor& before) {
        const Tensor v = where(mask, *same, before);
        // A number takes the type of the tensor.
        return fitting("setitem", at.x, same->is_number() ? cast(v, before.dtype()) : v);
      });
    }
  }
  index_put_(at.x, by_dimension(at), value);
}

}  // namespace

void set_legacy_keys(bool on) { legacy_keys = on; }

Tensor legacy_mask(const Tensor& index) {
  if (!legacy_keys || index.dtype() != DType::uint8) return index;
  warn("indexing with dtype torch.uint8 is deprecated: it counts as a mask; use torch.bool");
  return cast(index, DType::boolean);
}

PyObject* get_item(const Call& call) {
  const Tensor& x = unwrap(call.self);
  const Tensor out = read(follow(x, call.values[0]));
  return wrap(out.ref() == x.ref() ? reshape(x, x.shape()) : out);  // x[...] is another tensor
}

PyObject* set_item(const Call& call) {
  const Tensor& x = unwrap(call.self);
  Tensor room;
  const Cursor at = follow(x, call.values[0]);
  const Tensor* v = operand(call.values[1], room, x.device());
  if (!v)
    fail<TypeError>("setitem", "a tensor, an array or a number is needed, got " + type_name(call.values[1]),
                    "make a tensor with tensor()");
  write(at, *v);
  Py_RETURN_NONE;
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Tensor& x = unwrap(self);
    if (x.rank() == 0) fail<TypeError>("len", "a 0-d tensor has no length", "use numel()");
    return x.shape()[0];
  });
}

}  // namespace sg::bind
