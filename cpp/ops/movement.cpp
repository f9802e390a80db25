// Views: other strides on the same storage, and writing through them.
#include <algorithm>

#include "base/error.hpp"
#include "graph/lock.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

void vjp_reshape(Vjp& v) { v.result[0] = reshape(v.g, v.shape(0)); }

// Of permute: for each dimension of the result, that of the input.
struct PermuteAttributes {
  Dims order;
};

void vjp_permute(Vjp& v) {
  const Dims& order = v.attributes<PermuteAttributes>().order;
  Dims inverse = order;
  for (int d = 0; d < order.rank; ++d) inverse[static_cast<int>(order[d])] = d;
  v.result[0] = permute(v.g, inverse);
}

struct FlipAttributes {
  Dims dims;
};
void vjp_flip(Vjp& v) { v.result[0] = flip(v.g, v.attributes<FlipAttributes>().dims); }

void vjp_expand(Vjp& v) { v.result[0] = sum_to(v.g, v.shape(0)); }

Tensor strided(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset) {
  return view(ops::Strided, x, shape, strides, x->offset + offset, StridedAttributes{strides, offset});
}

// Memory laid out like the input `like`, so that views of `like` are views of it: of the same shape, or flat where
// `like` has gaps or another order.
Dims memory_of(const GradInput& like) {
  return is_contiguous(like.shape, like.strides) ? like.shape : Dims{span(like.shape, like.strides)};
}
Tensor laid_out(const GradInput& like, const Tensor& memory) {
  return memory.shape() == like.shape ? memory : strided(memory, like.shape, like.strides, 0);
}

void vjp_strided(Vjp& v) {
  const auto& at = v.attributes<StridedAttributes>();
  const GradInput& in = v.node.in[0];
  v.result[0] = laid_out(in, embed(v.g, memory_of(in), at.strides, at.offset, 0));
}

// Input 0 is the tensor before the write, input 1 what was written.
void vjp_assign(Vjp& v) {
  const auto& at = v.attributes<AssignAttributes>();
  if (at.all) {
    v.result[1] = v.g;
    return;
  }
  const GradInput& in = v.node.in[0];
  const bool flat = is_contiguous(in.shape, in.strides);
  const Tensor memory = flat ? clone(v.g) : full(memory_of(in), 0, v.g.dtype(), v.g.device());
  const Tensor all = laid_out(in, memory), place = strided(memory, at.shape, at.strides, at.offset);
  if (!flat) copy_(all, v.g);
  if (v.needs(1)) v.result[1] = v.needs(0) ? snapshot(place) : place;
  if (!v.needs(0)) return;
  copy_(place, Tensor(0));
  v.result[0] = all;
}

// Strides under which `shape` walks the same elements as x in the same order; false when there are none.
bool strides_for(const Tensor& x, const Dims& shape, Dims& strides) {
  strides = shape == x.shape() ? x.strides() : contiguous_strides(shape);
  if (shape == x.shape() || x.contiguous()) return true;
  int from = x.rank() - 1;
  int64_t chunk = 1, stride = 1, inside = 1;
  int to = shape.rank - 1;
  // Each group of old dimensions that is contiguous in itself is cut into new ones.
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

namespace ops {
const OpInfo Reshape{.name = "reshape",
                     .doc = "The same elements in another shape.",
                     .kind = Kind::view,
                     .arity = 1,
                     .vjp = vjp_reshape,
                     .hands_on = true};
const OpInfo Permute{.name = "permute",
                     .doc = "Dimensions in another order.",
                     .kind = Kind::view,
                     .arity = 1,
                     .vjp = vjp_permute,
                     .hands_on = true};
const OpInfo Flip{.name = "flip",
                  .doc = "Dimensions read from their ends.",
                  .kind = Kind::view,
                  .arity = 1,
                  .vjp = vjp_flip,
                  .hands_on = true};
const OpInfo Expand{.name = "expand",
                    .doc = "Dimensions of size 1 repeated without a copy.",
                    .kind = Kind::view,
                    .arity = 1,
                    .vjp = vjp_expand,
                    .hands_on = true};
const OpInfo Strided{.name = "strided",
                     .doc = "Any elements of the same memory, by shape, strides and offset.",
                     .kind = Kind::view,
                     .arity = 1,
                     .vjp = vjp_strided};
const OpInfo Assign{
    .name = "assign", .doc = "Writes a value through a view.", .kind = Kind::effect, .arity = 2, .vjp = vjp_assign};
}  // namespace ops

Tensor reshape(const Tensor& x, Dims shape) {
  int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] == -1 && unknown < 0)
      unknown = d;
    else if (shape[d] < 0)
      fail<ValueError>("reshape", "size " + std::to_string(shape[d]) + " in " + shape.str(), "use -1 at most once");
    else
      known = times("reshape", known, shape[d]);
  }
  if (unknown >= 0) shape[unknown] = known ? x.numel() / known : 0;
  check_size("reshape", shape);
  if (shape.numel() != x.numel() || (unknown >= 0 && known == 0))
    fail<ValueError>("reshape",
                     x.shape().str() + " has " + std::to_string(x.numel()) + " elements, " + shape.str() + " does not",
                     "keep the number of elements");
  Dims strides;
  if (!strides_for(x, shape, strides)) return reshape(contiguous(x), shape);
  return view(ops::Reshape, x, shape, strides, x->offset);
}

Tensor permute(const Tensor& x, const Dims& order) {
  if (order.rank != x.rank())
    fail<ValueError>("permute", "order " + order.str() + " for a tensor of rank " + std::to_string(x.rank()),
                     "name every dimension once");
  Dims dims, shape, strides;
  uint32_t seen = 0;
  for (int64_t axis : order) {
    const int d = normal_axis("permute", axis, x.rank());
    if (seen >> d & 1)
      fail<ValueError>("permute", "dimension " + std::to_string(d) + " twice in " + order.str(), "name each once");
    seen |= 1u << d;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
    dims.push(d);
  }
  return view(ops::Permute, x, shape, strides, x->offset, PermuteAttributes{dims});
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
    if (shape[d] < 0 || (have != shape[d] && have != 1))
      fail<ValueError>("expand",
                       x.shape().str() + " does not expand to " + to.str() + " (" + std::to_string(have) + " vs " +
                           std::to_string(shape[d]) + ")",
                       "only sizes of 1 can be repeated");
  }
  if (extra < 0)
    fail<ValueError>("expand", x.shape().str() + " has more dimensions than " + to.str(), "keep or add dimensions");
  return view(ops::Expand, x, shape, broadcast_strides(x.shape(), x.strides(), shape), x->offset);
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  if (x.rank() == 0) fail<IndexError>("select", "a 0-d tensor has no elements to choose from", "use item()");
  const int d = normal_axis("select", dim, x.rank());
  const int64_t size = x.shape()[d];
  if (index < -size || index >= size)
    fail<IndexError>("getitem",
                     "index " + std::to_string(index) + " out of range for dimension " + std::to_string(d) +
                         " of size " + std::to_string(size),
                     "use " + std::to_string(-size) + " to " + std::to_string(size - 1));
  const int64_t at = index < 0 ? index + size : index;
  if (grad_enabled() && x.requires_grad()) return squeeze(slice(x, d, at, 1, 1), d);
  Dims shape, strides;  // a view that needs no gradient is one step
  for (int i = 0; i < x.rank(); ++i) {
    if (i == d) continue;
    shape.push(x.shape()[i]);
    strides.push(x.strides()[i]);
  }
  return view(ops::Strided, x, shape, strides, x->offset + (x.numel() ? at * x.strides()[d] : 0));
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  if (x.rank() == 0) fail<IndexError>("narrow", "a 0-d tensor has no dimension to narrow", "use reshape(1)");
  const int d = normal_axis("narrow", dim, x.rank());
  const int64_t size = x.shape()[d], first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first)
    fail<IndexError>("narrow",
                     std::to_string(length) + " elements from " + std::to_string(start) +
                         " on of a dimension of size " + std::to_string(size),
                     "stay inside it");
  return slice(x, d, first, length, 1);
}

// The view with negative strides never leaves this function: the copy reads it, and fuses with its own readers.
Tensor reversed(const Tensor& x, const Dims& dims) {
  Dims strides = x.strides();
  int64_t offset = x->offset;
  uint32_t seen = 0;
  for (int64_t axis : dims) {
    const int d = normal_axis("flip", axis, x.rank());
    if (seen >> d & 1)
      fail<ValueError>("flip", "dimension " + std::to_string(d) + " twice in " + dims.str(), "name each once");
    seen |= 1u << d;
    if (x.rank() == 0 || x.shape()[d] < 2) continue;
    offset += (x.shape()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  if (x.numel() == 0) offset = x->offset;
  return view(ops::Flip, x, x.shape(), strides, offset, FlipAttributes{dims});
}
Tensor flip(const Tensor& x, const Dims& dims) { return clone(reversed(x, dims)); }

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int from = normal_axis("flatten", start_dim, x.rank()), to = normal_axis("flatten", end_dim, x.rank());
  if (x.rank() == 0) return reshape(x, {1});
  if (from > to)
    fail<ValueError>("flatten", "start_dim " + std::to_string(from) + " lies behind end_dim " + std::to_string(to),
                     "swap them");
  Dims shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (d <= from || d > to)
      shape.push(x.shape()[d]);
    else
      shape[from] *= x.shape()[d];
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes) {
  const int at = normal_axis("unflatten", dim, x.rank());
  const int64_t size = x.rank() ? x.shape()[at] : 1;
  int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < sizes.rank; ++d) {
    if (sizes[d] == -1 && unknown < 0)
      unknown = d;
    else
      known = times("unflatten", known, sizes[d]);
  }
  Dims parts = sizes;
  if (unknown >= 0) parts[unknown] = known > 0 ? size / known : 0;
  if (sizes.rank == 0 || parts.numel() != size || (unknown >= 0 && known < 1))
    fail<ValueError>("unflatten", "sizes " + sizes.str() + " do not make up a dimension of " + std::to_string(size),
                     "their product must be the size");
  Dims shape;
  for (int d = 0; d < std::max(x.rank(), 1); ++d) {
    if (d != at)
      shape.push(x.shape()[d]);
    else
      for (int64_t part : parts) shape.push(part);
  }
  return reshape(x, shape);
}

Tensor moveaxis(const Tensor& x, const Dims& source, const Dims& destination) {
  if (source.rank != destination.rank)
    fail<ValueError>("moveaxis", "source " + source.str() + " and destination " + destination.str() + " differ",
                     "give as many places as dimensions");
  Dims order = Dims::filled(x.rank(), -1);
  uint32_t moved = 0;
  for (int i = 0; i < source.rank; ++i) {
    const int from = normal_axis("moveaxis", source[i], x.rank());
    const int to = normal_axis("moveaxis", destination[i], x.rank());
    if (x.rank() == 0) continue;
    if ((moved >> from & 1) || order[to] >= 0)
      fail<ValueError>("moveaxis", "a dimension twice in " + source.str() + " to " + destination.str(),
                       "name each once");
    moved |= 1u << from;
    order[to] = from;
  }
  for (int d = 0, to = 0; d < x.rank(); ++d) {
    if (moved >> d & 1) continue;
    while (order[to] >= 0) ++to;
    order[to] = d;
  }
  return permute(x, order);
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
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (d != at || x.shape()[d] != 1) shape.push(x.shape()[d]);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, const std::optional<Dims>& dims) {
  uint32_t axes = dims ? 0 : all_axes(x);
  if (dims)
    for (int64_t d : *dims) {
      const uint32_t bit = 1u << normal_axis("squeeze", d, x.rank());
      if (axes & bit)
        fail<ValueError>("squeeze", "dimension " + std::to_string(d) + " is given twice", "name each once");
      axes |= bit;
    }
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (x.shape()[d] != 1 || !(axes >> d & 1)) shape.push(x.shape()[d]);
  return reshape(x, shape);
}

const OpInfo& strided_row() { return ops::Strided; }
const OpInfo& assign_row() { return ops::Assign; }

namespace {
// Whether a write of several elements reads other places of the memory that it writes to.
bool moves_within(const Tensor& target, const Tensor& value) {
  if (value.is_number() || !(value->storage == target->storage)) return false;
  if (target.numel() < 2 || target.numel() == target->storage->node->numel) return false;
  return value->offset != target->offset || !(value.strides() == target.strides());
}
}  // namespace

void copy_(const Tensor& target, const Tensor& value) {
  const EngineLock lock;  // what is copied is what is written
  assign(ops::Assign, target, moves_within(target, value) ? clone(value) : value);
}
bool replace_(const Tensor& target, const Tensor& before, const Tensor& result) {
  return replace(ops::Assign, target, before, result);
}

Tensor view(const Tensor& x, const Dims& shape) {
  Tensor out = reshape(x, shape);
  if (out->storage.get() != x->storage.get())
    fail<ValueError>("view",
                     x.shape().str() + " with strides " + x.strides().str() + " has no view of shape " + shape.str(),
                     "use reshape()");
  return out;
}
Tensor view_as(const Tensor& x, const Tensor& other) { return view(x, other.shape()); }
Tensor reshape_as(const Tensor& x, const Tensor& other) { return reshape(x, other.shape()); }
Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.shape()); }
Tensor ravel(const Tensor& x) { return reshape(contiguous(x), {-1}); }
Tensor t(const Tensor& x) {
  if (x.rank() > 2)
    fail<ValueError>("t", "a tensor of shape " + x.shape().str() + " has more than two dimensions", "use transpose()");
  return transpose(x, 0, x.rank() == 2 ? 1 : 0);
}

}  // namespace sg
