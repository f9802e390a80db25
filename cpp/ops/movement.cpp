// Views: other strides on the same storage, and writing through them.
#include "base/error.hpp"
#include "ops/list.hpp"
#include "ops/rows.hpp"

namespace sg {
namespace {

void vjp_reshape(Vjp& v) { v.result[0] = reshape(v.g, v.attributes().a); }

void vjp_permute(Vjp& v) {
  const Dims& order = v.attributes().a;
  Dims inverse = order;
  for (int d = 0; d < order.rank; ++d) inverse[static_cast<int>(order[d])] = d;
  v.result[0] = permute(v.g, inverse);
}

void vjp_expand(Vjp& v) { v.result[0] = sum_to(v.g, v.attributes().a); }

// The slice of zeros that takes the gradient. Written in place on a fresh tensor when no graph of it is wanted, else
// scattered by comparison of positions, which has a gradient itself.
void vjp_slice(Vjp& v) {
  const Attributes& s = v.attributes();  // a: shape before; b: {dim, start, step}
  const int dim = static_cast<int>(s.b[0]);
  if (!grad_enabled()) {
    Tensor zeros = full(s.a, 0, v.g.dtype(), v.g.device());
    copy_(slice(zeros, dim, s.b[1], v.g.shape()[dim], s.b[2]), v.g);
    v.result[0] = zeros;
    return;
  }
  // Row i of the result is row (i - start) / step of g: a product with a 0/1 matrix.
  const int64_t rows = s.a[dim], count = v.g.shape()[dim];
  const Tensor i = reshape(arange(0, 1, rows, DType::int64, v.g.device()), {rows, 1});
  const Tensor j = arange(static_cast<double>(s.b[1]), static_cast<double>(s.b[2]), count, DType::int64, v.g.device());
  const Tensor hit = cast(i == j, v.g.dtype());
  const Tensor moved = transpose(v.g, dim, 0);
  int64_t rest = 1;
  for (int d = 1; d < moved.rank(); ++d) rest *= moved.shape()[d];
  Dims shape = moved.shape();
  shape[0] = rows;
  v.result[0] = transpose(reshape(matmul(hit, reshape(moved, {count, rest})), shape), dim, 0);
}

// Strides under which `shape` walks the same elements as x in the same order; false when there are none.
bool strides_for(const Tensor& x, const Dims& shape, Dims& strides) {
  strides = contiguous_strides(shape);
  if (x.contiguous()) return true;
  int from = x.rank() - 1;
  int64_t chunk = 1, stride = 1, inside = 1;
  int to = shape.rank - 1;
  // Groups of old dimensions that are contiguous among themselves are cut anew.
  while (from >= 0) {
    chunk = x.shape()[from];
    stride = x.strides()[from];
    int first = from;
    while (first > 0 && (x.shape()[first - 1] == 1 || x.strides()[first - 1] == stride * chunk)) {
      --first;
      chunk *= x.shape()[first];
    }
    inside = 1;
    while (to >= 0 && (inside < chunk || shape[to] == 1)) {
      strides[to] = stride * inside;
      inside *= shape[to--];
    }
    if (inside != chunk) return false;
    from = first - 1;
  }
  return true;
}

}  // namespace

namespace rows {
const OpInfo Reshape{.name = "reshape",
                     .doc = "The same elements in another shape.",
                     .kind = Kind::view,
                     .arity = 1,
                     .vjp = vjp_reshape};
const OpInfo Permute{
    .name = "permute", .doc = "Dimensions in another order.", .kind = Kind::view, .arity = 1, .vjp = vjp_permute};
const OpInfo Expand{.name = "expand",
                    .doc = "Dimensions of size 1 repeated without a copy.",
                    .kind = Kind::view,
                    .arity = 1,
                    .vjp = vjp_expand};
const OpInfo Slice{.name = "slice",
                   .doc = "Every step-th element of a range along a dimension.",
                   .kind = Kind::view,
                   .arity = 1,
                   .vjp = vjp_slice};
const OpInfo Assign{.name = "assign", .doc = "Writes a value through a view.", .kind = Kind::effect, .arity = 2};
}  // namespace rows

Tensor reshape(const Tensor& x, Dims shape) {
  int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] == -1 && unknown < 0)
      unknown = d;
    else if (shape[d] < 0)
      fail<ValueError>("reshape", "size " + std::to_string(shape[d]) + " in " + shape.str(), "use -1 at most once");
    else
      known *= shape[d];
  }
  if (unknown >= 0) shape[unknown] = known ? x.numel() / known : 0;
  if (shape.numel() != x.numel() || (unknown >= 0 && known == 0))
    fail<ValueError>("reshape",
                     x.shape().str() + " has " + std::to_string(x.numel()) + " elements, " + shape.str() + " does not",
                     "keep the number of elements");
  if (shape == x.shape()) return x;
  Dims strides;
  if (!strides_for(x, shape, strides)) return reshape(contiguous(x), shape);
  Attributes attributes;
  attributes.a = x.shape();
  return view(rows::Reshape, x, shape, strides, x->offset, attributes);
}

Tensor permute(const Tensor& x, const Dims& order) {
  if (order.rank != x.rank())
    fail<ValueError>("permute", "order " + order.str() + " for a tensor of rank " + std::to_string(x.rank()),
                     "name every dimension once");
  Attributes attributes;
  Dims shape, strides;
  uint32_t seen = 0;
  for (int64_t axis : order) {
    const int d = normal_axis("permute", axis, x.rank());
    if (seen >> d & 1)
      fail<ValueError>("permute", "dimension " + std::to_string(d) + " twice in " + order.str(), "name each once");
    seen |= 1u << d;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
    attributes.a.push(d);
  }
  return view(rows::Permute, x, shape, strides, x->offset, attributes);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  const int a = normal_axis("transpose", dim0, x.rank()), b = normal_axis("transpose", dim1, x.rank());
  Dims order;
  for (int d = 0; d < x.rank(); ++d) order.push(d == a ? b : d == b ? a : d);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Dims& to) {
  Dims shape = to;
  const int extra = to.rank - x.rank();
  for (int d = 0; d < to.rank; ++d) {
    const int64_t have = d < extra ? 1 : x.shape()[d - extra];
    if (shape[d] == -1 && d >= extra) shape[d] = have;
    if (have != shape[d] && have != 1)
      fail<ValueError>("expand",
                       x.shape().str() + " does not expand to " + to.str() + " (" + std::to_string(have) + " vs " +
                           std::to_string(shape[d]) + ")",
                       "only sizes of 1 can be repeated");
  }
  if (extra < 0)
    fail<ValueError>("expand", x.shape().str() + " has more dimensions than " + to.str(), "keep or add dimensions");
  Attributes attributes;
  attributes.a = x.shape();
  return view(rows::Expand, x, shape, broadcast_strides(x.shape(), x.strides(), shape), x->offset, attributes);
}

Tensor slice(const Tensor& x, int dim, int64_t start, int64_t count, int64_t step) {
  Dims shape = x.shape(), strides = x.strides();
  if (start == 0 && step == 1 && count == shape[dim]) return x;
  Attributes attributes;
  attributes.a = shape;
  attributes.b = {dim, start, step};
  const int64_t offset = x->offset + (count ? start * strides[dim] : 0);
  shape[dim] = count;
  strides[dim] *= step;
  return view(rows::Slice, x, shape, strides, offset, attributes);
}

Tensor select(const Tensor& x, int dim, int64_t index) {
  const int64_t size = x.shape()[dim];
  if (index < -size || index >= size)
    fail<IndexError>("getitem",
                     "index " + std::to_string(index) + " out of range for dimension " + std::to_string(dim) +
                         " of size " + std::to_string(size),
                     "use " + std::to_string(-size) + " to " + std::to_string(size - 1));
  return squeeze(slice(x, dim, index < 0 ? index + size : index, 1, 1), dim);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  const int at = normal_axis("unsqueeze", dim, x.rank() + 1);
  Dims shape;
  for (int d = 0; d <= x.rank(); ++d) {
    if (d == at) shape.push(1);
    if (d < x.rank()) shape.push(x.shape()[d]);
  }
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  const int at = normal_axis("squeeze", dim, x.rank());
  if (x.rank() == 0 || x.shape()[at] != 1) return x;
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (d != at) shape.push(x.shape()[d]);
  return reshape(x, shape);
}

void copy_(const Tensor& target, const Tensor& value) { assign(rows::Assign, target, value); }

}  // namespace sg
