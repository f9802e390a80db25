// Views whose elements lie at a stride in each dimension: slices, diagonals, windows. They share one gradient: zeros
// into which it is written through the same view; gradients of slices are joined (parts.cpp).
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "graph/parts.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// `change` turns the strides of x into those of the result and returns the offset; called for the memory, and for the
// gradient as if x were row-major.
template <class Change>
Tensor strided(const OpInfo& op, const Tensor& x, const Dims& shape, Change change) {
  Dims memory = x.strides(), logical = contiguous_strides(x.shape());
  const int64_t offset = change(memory), place = change(logical);
  return view(op, x, shape, memory, x->offset + (shape.numel() ? offset : 0), StridedAttributes{logical, place});
}

// Where elements of the view share a place (overlapping windows), it is split into views that each have none, which are
// added one after the other: a fixed order, so the same bits each time.
void add_through(const Tensor& target, const Tensor& g) {
  const Goes goes = goes_of(target.shape(), target.strides());
  if (goes.count == 1) {
    copy_(target, target + g);
    return;
  }
  const int64_t size = g.shape()[goes.dim];
  for (int64_t first = 0; first < goes.count; ++first) {
    const int64_t count = (size - first + goes.count - 1) / goes.count;
    add_through(slice(target, goes.dim, first, count, goes.count), slice(g, goes.dim, first, count, goes.count));
  }
}

// Writes g through a view of zeros; elements that share a place are added up.
void spread(const Tensor& target, const Tensor& g) {
  uint32_t repeated = 0;
  Tensor first = target;
  for (int d = 0; d < target.rank(); ++d) {
    if (target.strides()[d] != 0 || target.shape()[d] < 2) continue;
    repeated |= 1u << d;
    first = slice(first, d, 0, 1, 1);
  }
  if (repeated) return spread(first, sum(g, repeated, true));
  if (goes_of(target.shape(), target.strides()).count == 1)
    copy_(target, g);
  else
    add_through(target, g);
}

Tensor window(const Tensor& x, const Dims& shape, const StridedAttributes& at) {
  return view(ops::AsStrided, x, shape, at.strides, x->offset + at.offset, at);
}

Tensor embedded(const Tensor& x, const Dims& into, const StridedAttributes& at, double fill) {
  Tensor out = full(into, fill, x.dtype(), x.device());
  if (x.numel() != 0) {
    GradMode off(false);
    spread(window(out, x.shape(), at), x);
  }
  record_gradient(ops::Embed, out, {&x}, at);
  return out;
}

void vjp_strided(Vjp& v) { v.result[0] = embedded(v.g, v.shape(0), v.attributes<StridedAttributes>(), 0); }
void vjp_embed(Vjp& v) { v.result[0] = window(contiguous(v.g), v.shape(0), v.attributes<StridedAttributes>()); }

constexpr OpInfo strided_row(const char* name, const char* doc) {
  return {.name = name, .doc = doc, .kind = Kind::view, .arity = 1, .vjp = vjp_strided};
}

}  // namespace

namespace ops {
const OpInfo Slice = strided_row("slice", "Every step-th element of a range along a dimension.");
const OpInfo Diagonal = strided_row("diagonal", "The diagonal of two dimensions, as the last one.");
const OpInfo Unfold = strided_row("unfold", "Windows along a dimension; they may overlap.");
const OpInfo AsStrided = strided_row("as_strided", "A view with given sizes and strides.");
const OpInfo Embed{.name = "embed",
                   .doc = "A tensor written through a strided view of a larger one: padding, a diagonal.",
                   .kind = Kind::view,
                   .arity = 1,
                   .vjp = vjp_embed};
}  // namespace ops

const OpInfo& slice_row() { return ops::Slice; }

Tensor embed(const Tensor& x, const Dims& into, const Dims& strides, int64_t offset, double fill) {
  return embedded(x, into, StridedAttributes{strides, offset}, fill);
}

Tensor slice(const Tensor& x, int dim, int64_t start, int64_t count, int64_t step) {
  Dims shape = x.shape();
  if (start == 0 && step == 1 && count == shape[dim]) return reshape(x, shape);
  shape[dim] = count;
  return strided(ops::Slice, x, shape, [&](Dims& strides) {
    const int64_t offset = count ? start * strides[dim] : 0;
    if (count > 1) strides[dim] *= step;
    return offset;
  });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = normal_axis("diagonal", dim1, x.rank()), b = normal_axis("diagonal", dim2, x.rank());
  if (a == b || x.rank() < 2)
    fail<ValueError>("diagonal",
                     "dimensions " + std::to_string(dim1) + " and " + std::to_string(dim2) + " of shape " +
                         x.shape().str() + " span no matrix",
                     "name two dimensions");
  const int64_t across = std::clamp(offset, -x.shape()[a], x.shape()[b]);
  const int64_t down = std::max<int64_t>(-across, 0), right = std::max<int64_t>(across, 0);
  const int64_t count = std::max<int64_t>(std::min(x.shape()[a] - down, x.shape()[b] - right), 0);
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (d != a && d != b) shape.push(x.shape()[d]);
  shape.push(count);
  return strided(ops::Diagonal, x, shape, [&](Dims& strides) {
    const int64_t at = count ? down * strides[a] + right * strides[b] : 0;
    Dims out;
    for (int d = 0; d < strides.rank; ++d)
      if (d != a && d != b) out.push(strides[d]);
    out.push(strides[a] + strides[b]);
    strides = out;
    return at;
  });
}

Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step) {
  const int dim = normal_axis("unfold", dimension, x.rank());
  const int64_t length = x.rank() ? x.shape()[dim] : 1;
  if (size < 0 || size > length)
    fail<ValueError>("unfold",
                     "windows of " + std::to_string(size) + " along a dimension of size " + std::to_string(length),
                     "use at most the size");
  if (step < 1) fail<ValueError>("unfold", "a step of " + std::to_string(step), "use steps of 1 or more");
  if (x.rank() == 0) return slice(reshape(x, {1}), 0, 0, size, 1);
  Dims shape = x.shape();
  shape[dim] = (length - size) / step + 1;
  shape.push(size);
  return strided(ops::Unfold, x, shape, [&](Dims& strides) {
    strides.push(strides[dim]);
    if (shape[dim] > 1) strides[dim] *= step;
    return int64_t{0};
  });
}

namespace {
// The same elements with the dimensions in another order: a permuted tensor as the one that was permuted.
Tensor in_order_of_memory(const Tensor& x) {
  std::vector<int> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x.strides()[a] > x.strides()[b]; });
  Dims dims;
  for (int d : order) dims.push(d);
  return permute(x, dims);
}
}  // namespace

Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
  if (size.rank != stride.rank)
    fail<ValueError>("as_strided", "size " + size.str() + " and stride " + stride.str() + " differ in length",
                     "give one stride a dimension");
  const int64_t room = room_of(x), offset = storage_offset.value_or(x->offset);
  check_size("as_strided", size);
  Dims steps = stride;
  int64_t last = offset;
  for (int d = 0; d < size.rank; ++d) {
    if (stride[d] < 0) fail<ValueError>("as_strided", "stride " + stride.str() + " is negative", "use 0 or more");
    if (size[d] > 1)
      last = plus("as_strided", last, times("as_strided", size[d] - 1, stride[d]));
    else
      steps[d] = std::min(stride[d], room);  // says nothing
  }
  if (offset < 0 || (size.numel() == 0 ? offset > room : last >= room))
    fail<ValueError>("as_strided",
                     "size " + size.str() + " with stride " + stride.str() + " from " + std::to_string(offset) +
                         " on reaches element " + std::to_string(last) + " of memory of " + std::to_string(room),
                     "stay inside it");
  const int64_t begin = offset - x->offset;
  const bool inside = x.contiguous() && begin >= 0 && last - x->offset < x.numel();
  if (grad_enabled() && x.requires_grad() && size.numel() != 0 && !inside) {
    const Tensor ordered = in_order_of_memory(x);
    if (!x.contiguous() && ordered.contiguous()) return as_strided(ordered, size, stride, offset);
    fail<ValueError>("as_strided", "the gradient of elements that are not the tensor's own is not known",
                     "call contiguous() first and stay inside the tensor");
  }
  return view(ops::AsStrided, x, size, steps, offset, StridedAttributes{steps, begin});
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int rank = x.rank() + 1;
  if (x.rank() == 0) fail<ValueError>("diag_embed", "a 0-d tensor has no diagonal", "use reshape(1)");
  const int a = normal_axis("diag_embed", dim1, rank), b = normal_axis("diag_embed", dim2, rank);
  if (a == b) fail<ValueError>("diag_embed", "dimension " + std::to_string(dim1) + " twice", "name two dimensions");
  const int64_t away = offset < 0 ? times("diag_embed", -1, offset) : offset;
  const int64_t n = plus("diag_embed", x.shape()[x.rank() - 1], away);
  Dims into;
  for (int d = 0, from = 0; d < rank; ++d) into.push(d == a || d == b ? n : x.shape()[from++]);
  check_size("diag_embed", into);
  const Dims full_strides = contiguous_strides(into);
  Dims strides;
  for (int d = 0; d < rank; ++d)
    if (d != a && d != b) strides.push(full_strides[d]);
  strides.push(full_strides[a] + full_strides[b]);
  return embed(x, into, strides, away * full_strides[offset < 0 ? a : b], 0);
}

Tensor diag(const Tensor& x, int64_t diagonal) {
  if (x.rank() != 1 && x.rank() != 2)
    fail<ValueError>("diag", "a tensor of shape " + x.shape().str() + " is no vector and no matrix",
                     "use diagonal() or diag_embed()");
  return x.rank() == 1 ? diag_embed(x, diagonal, 0, 1) : clone(sg::diagonal(x, diagonal, 0, 1));
}

}  // namespace sg
