// Methods and functions that look at the same elements in another way.
#include "bind/methods.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

const Tensor& self_of(const char* op, const Call& c, Arguments& a) {
  return tensor_of(op, c.self ? c.self : a.need("input"));
}

PyObject* reshape_as(const char* op, const Call& c, bool copies) {
  Arguments a(op, c);
  const Tensor& x = self_of(op, c, a);
  const Dims shape = a.sizes("shape", "size");
  a.done();
  Tensor out = sg::reshape(x, shape);
  if (!copies && out->storage.get() != x->storage.get())
    fail<ValueError>(op,
                     x.shape().str() + " with strides " + x.strides().str() + " has no view of shape " + shape.str(),
                     "use reshape()");
  return wrap(std::move(out));
}
PyObject* reshape(const Call& c) { return reshape_as("reshape", c, true); }
PyObject* view(const Call& c) { return reshape_as("view", c, false); }

PyObject* permute(const Call& c) {
  Arguments a("permute", c);
  const Tensor& x = self_of("permute", c, a);
  const Dims order = a.sizes("dims", "axes");
  a.done();
  return wrap(sg::permute(x, order));
}

PyObject* transpose(const Call& c) {
  Arguments a("transpose", c);
  const Tensor& x = self_of("transpose", c, a);
  const int64_t dim0 = to_int("transpose", a.need("dim0")), dim1 = to_int("transpose", a.need("dim1"));
  a.done();
  return wrap(sg::transpose(x, dim0, dim1));
}

PyObject* expand(const Call& c) {
  Arguments a("expand", c);
  const Tensor& x = self_of("expand", c, a);
  const Dims shape = a.sizes("size", "shape");
  a.done();
  return wrap(sg::expand(x, shape));
}

PyObject* unsqueeze(const Call& c) {
  Arguments a("unsqueeze", c);
  const Tensor& x = self_of("unsqueeze", c, a);
  const int64_t dim = to_int("unsqueeze", a.need("dim", "axis"));
  a.done();
  return wrap(sg::unsqueeze(x, dim));
}

PyObject* squeeze(const Call& c) {
  Arguments a("squeeze", c);
  const Tensor& x = self_of("squeeze", c, a);
  PyObject* dim = a.take("dim", "axis");
  a.done();
  const uint32_t axes = to_axes("squeeze", dim, x);
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (x.shape()[d] != 1 || !(axes >> d & 1)) shape.push(x.shape()[d]);
  return wrap(sg::reshape(x, shape));
}

PyObject* flatten(const Call& c) {
  Arguments a("flatten", c);
  const Tensor& x = self_of("flatten", c, a);
  PyObject *first = a.take("start_dim"), *last = a.take("end_dim");
  a.done();
  if (x.rank() == 0) return wrap(sg::reshape(x, {1}));
  const int from = normal_axis("flatten", first ? to_int("flatten", first) : 0, x.rank());
  const int to = normal_axis("flatten", last ? to_int("flatten", last) : -1, x.rank());
  if (from > to)
    fail<ValueError>("flatten", "start_dim " + std::to_string(from) + " lies behind end_dim " + std::to_string(to),
                     "swap them");
  Dims shape, middle;
  for (int d = from; d <= to; ++d) middle.push(x.shape()[d]);
  for (int d = 0; d < x.rank(); ++d) {
    if (d == from) shape.push(middle.numel());
    if (d < from || d > to) shape.push(x.shape()[d]);
  }
  return wrap(sg::reshape(x, shape));
}

PyObject* contiguous(const Call& c) {
  Arguments a("contiguous", c);
  const Tensor& x = self_of("contiguous", c, a);
  a.done();
  return wrap(sg::contiguous(x));
}

PyObject* clone(const Call& c) {
  Arguments a("clone", c);
  const Tensor& x = self_of("clone", c, a);
  a.done();
  static const OpInfo& copy = *find_op("contiguous");
  return wrap(apply(copy, x));
}

PyObject* detach(const Call& c) {
  Arguments a("detach", c);
  const Tensor& x = self_of("detach", c, a);
  a.done();
  return wrap(x.detach());
}

#define SG_RESHAPE_DOC                                                                                             \
  "\n\nArgs:\n    shape: sizes, as several ints or one tuple; one of them may be -1.\n\nRaises:\n    ValueError: " \
  "the numbers of elements differ.\n\nExample:\n    >>> sg.arange(6).reshape(2, -1).shape\n    (2, 3)"
const Row rows[] = {
    {"reshape", reshape, "*shape: int | Sequence[int]", "Tensor",
     "The same elements in another shape; a view when the strides allow, else a copy." SG_RESHAPE_DOC},
    {"view", view, "*shape: int | Sequence[int]", "Tensor", "reshape, but never a copy." SG_RESHAPE_DOC, Where::method},
    {"permute", permute, "*dims: int | Sequence[int]", "Tensor",
     "Dimensions in another order.\n\nExample:\n    >>> sg.zeros(2, 3, 4).permute(2, 0, 1).shape\n    (4, 2, 3)"},
    {"transpose", transpose, "dim0: int, dim1: int", "Tensor",
     "Two dimensions swapped.\n\nExample:\n    >>> sg.zeros(2, 3).transpose(0, 1).shape\n    (3, 2)"},
    {"expand", expand, "*size: int | Sequence[int]", "Tensor",
     "Dimensions of size 1 repeated without a copy; -1 keeps a size.\n\nExample:\n"
     "    >>> sg.zeros(1, 3).expand(4, -1).shape\n    (4, 3)"},
    {"unsqueeze", unsqueeze, "dim: int", "Tensor",
     "A dimension of size 1 put in.\n\nExample:\n    >>> sg.zeros(3).unsqueeze(0).shape\n    (1, 3)"},
    {"squeeze", squeeze, "dim: int | Sequence[int] | None = None", "Tensor",
     "Dimensions of size 1 taken out: those named, or all.\n\nExample:\n    >>> sg.zeros(1, 3).squeeze().shape\n"
     "    (3,)"},
    {"flatten", flatten, "start_dim: int = 0, end_dim: int = -1", "Tensor",
     "A range of dimensions joined into one.\n\nExample:\n    >>> sg.zeros(2, 3, 4).flatten(1).shape\n    (2, 12)"},
    {"contiguous", contiguous, "", "Tensor", "The tensor itself when it lies in C order, else a copy that does.",
     Where::method},
    {"clone", clone, "", "Tensor", "A copy with memory of its own; gradients flow through it."},
    {"detach", detach, "", "Tensor", "The same memory without a place in the gradient graph.", Where::method},
};

}  // namespace

void add_movement(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
