// Tensors joined, split, repeated and padded, by views and copies. The borders of pad() that continue an image are
// those of ops/border.cpp.
#include "base/error.hpp"
#include "ops/border.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// The dimension is enough: the sizes of the inputs say which part of the gradient is whose.
struct JoinAttributes {
  int dim;
};

// A tensor of shape [0] joins those of any shape, as in PyTorch: it adds nothing.
bool is_nothing(const Dims& shape) { return shape == Dims{0}; }

void vjp_join(Vjp& v) {
  const int dim = v.attributes<JoinAttributes>().dim;
  int64_t begin = 0;
  for (int i = 0; i < v.node.inputs; ++i) {
    const bool nothing = is_nothing(v.shape(i));
    const int64_t size = nothing ? 0 : v.shape(i)[dim];
    if (v.needs(i)) v.result[i] = nothing ? full({0}, 0, v.g.dtype(), v.g.device()) : slice(v.g, dim, begin, size, 1);
    begin += size;
  }
}

void check_list(const char* op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) fail<ValueError>(op, "an empty list of tensors", "give at least one");
  for (const Tensor& t : tensors) common_device(op, {&tensors[0], &t});
}

std::vector<Tensor> at_least(int rank, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(rank == 1 ? atleast_1d(t) : rank == 2 ? atleast_2d(t) : atleast_3d(t));
  return out;
}

// Checks how many tensors a list would have.
void check_parts(const char* op, const char* what, int64_t parts) {
  constexpr int64_t kMostParts = 1 << 20;
  if (parts < 1 || parts > kMostParts)
    fail<ValueError>(op, std::to_string(parts) + what, "use 1 to " + std::to_string(kMostParts));
}

int64_t parts_of(int64_t total, int64_t size) { return total / size + (total % size != 0); }

int64_t size_of_dim(const Tensor& x, int dim) { return x.rank() ? x.shape()[dim] : 1; }

}  // namespace

namespace ops {
const OpInfo Join{.name = "cat",
                  .doc = "Tensors one behind the other along a dimension.",
                  .kind = Kind::view,
                  .arity = 2,
                  .vjp = vjp_join};
}

// Memory of undefined contents, into which each input is copied through a slice. The copies fuse with what made the
// inputs, so joined values are often computed in place. One gradient for all of them, not one a copy.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  check_list("cat", tensors);
  std::vector<Tensor> parts;
  DType dtype = DType::boolean;
  for (const Tensor& t : tensors) {
    dtype = promote(dtype, t.dtype());
    if (t.rank() == 0) fail<ValueError>("cat", "a 0-d tensor has no dimension to join along", "use stack()");
    if (!is_nothing(t.shape())) parts.push_back(t);
  }
  if (parts.empty()) parts.push_back(tensors[0]);
  const int d = normal_axis("cat", dim, parts[0].rank());
  Dims shape = parts[0].shape();
  shape[d] = 0;
  for (const Tensor& t : parts) {
    Dims expected = parts[0].shape();
    if (t.rank() == expected.rank) expected[d] = t.shape()[d];
    if (!(t.shape() == expected))
      fail<ValueError>("cat",
                       "shapes " + parts[0].shape().str() + " and " + t.shape().str() + " differ outside dimension " +
                           std::to_string(d),
                       "only the joined dimension may differ");
    shape[d] = plus("cat", shape[d], t.shape()[d]);
  }
  if (tensors.size() == 1) return clone(cast(parts[0], dtype));
  Tensor out = empty(shape, dtype, parts[0].device());
  {
    GradMode off(false);
    int64_t begin = 0;
    for (const Tensor& t : parts) {
      if (t.numel() != 0) copy_(slice(out, d, begin, t.shape()[d], 1), t);
      begin += t.shape()[d];
    }
  }
  std::vector<const Tensor*> inputs;
  for (const Tensor& t : tensors) inputs.push_back(&t);
  record_gradient(ops::Join, out, inputs, JoinAttributes{d});
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  check_list("stack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    if (!(t.shape() == tensors[0].shape()))
      fail<ValueError>("stack", "shapes " + tensors[0].shape().str() + " and " + t.shape().str() + " differ",
                       "stack tensors of one shape");
    parts.push_back(unsqueeze(t, dim));
  }
  return cat(parts, dim);
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  check_list("hstack", tensors);
  const std::vector<Tensor> parts = at_least(1, tensors);
  return cat(parts, parts[0].rank() == 1 ? 0 : 1);
}
Tensor vstack(const std::vector<Tensor>& tensors) {
  check_list("vstack", tensors);
  return cat(at_least(2, tensors), 0);
}
Tensor dstack(const std::vector<Tensor>& tensors) {
  check_list("dstack", tensors);
  return cat(at_least(3, tensors), 2);
}

Tensor atleast_1d(const Tensor& x) { return x.rank() ? x : reshape(x, {1}); }
Tensor atleast_2d(const Tensor& x) { return x.rank() > 1 ? x : unsqueeze(atleast_1d(x), 0); }
Tensor atleast_3d(const Tensor& x) { return x.rank() > 2 ? x : unsqueeze(atleast_2d(x), -1); }

// ---- taken apart -----------------------------------------------------------------------------------------------------
std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  if (x.rank() == 0) fail<ValueError>("unbind", "a 0-d tensor has no dimension to take apart", "use item()");
  const int d = normal_axis("unbind", dim, x.rank());
  std::vector<Tensor> out;
  for (int64_t i = 0; i < x.shape()[d]; ++i) out.push_back(select(x, d, i));
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<int64_t>& split_sizes, int64_t dim) {
  const int d = normal_axis("split", dim, x.rank());
  int64_t sum = 0;
  for (int64_t n : split_sizes) {
    if (n < 0) fail<ValueError>("split", "a negative size " + std::to_string(n), "use sizes of 0 or more");
    sum = plus("split", sum, n);
  }
  if (x.rank() == 0 || sum != x.shape()[d])
    fail<ValueError>("split",
                     "sizes add up to " + std::to_string(sum) + ", dimension " + std::to_string(d) + " of " +
                         x.shape().str() + " has not as many",
                     "their sum must be the size");
  std::vector<Tensor> out;
  int64_t begin = 0;
  for (int64_t n : split_sizes) {
    out.push_back(slice(x, d, begin, n, 1));
    begin += n;
  }
  return out;
}

std::vector<Tensor> split(const Tensor& x, const IntOrInts& split_size_or_sections, int64_t dim) {
  if (const auto* sizes = std::get_if<std::vector<int64_t>>(&split_size_or_sections))
    return split_with_sizes(x, *sizes, dim);
  const int64_t size = std::get<int64_t>(split_size_or_sections),
                total = size_of_dim(x, normal_axis("split", dim, x.rank()));
  if (size < 0 || (size == 0 && total != 0))
    fail<ValueError>("split", "parts of size " + std::to_string(size), "use 1 or more");
  if (total == 0) return {reshape(x, x.shape())};
  std::vector<int64_t> sizes(static_cast<size_t>(parts_of(total, size)), size);
  sizes.back() = total - size * (static_cast<int64_t>(sizes.size()) - 1);
  return split_with_sizes(x, sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  check_parts("chunk", " chunks", chunks);
  const int64_t total = size_of_dim(x, normal_axis("chunk", dim, x.rank()));
  if (total == 0) return split_with_sizes(x, std::vector<int64_t>(static_cast<size_t>(chunks), 0), dim);
  return split(x, parts_of(total, chunks), dim);
}

std::vector<Tensor> tensor_split(const Tensor& x, const IntOrInts& indices_or_sections, int64_t dim) {
  if (x.rank() == 0) fail<ValueError>("tensor_split", "a 0-d tensor has no dimension to split", "use reshape(1)");
  const int d = normal_axis("tensor_split", dim, x.rank());
  const int64_t total = x.shape()[d];
  std::vector<Tensor> out;
  if (const auto* indices = std::get_if<std::vector<int64_t>>(&indices_or_sections)) {
    int64_t begin = 0;
    auto bounded = [&](int64_t i) { return std::min(std::max<int64_t>(i < 0 ? i + total : i, 0), total); };
    for (size_t i = 0; i <= indices->size(); ++i) {
      const int64_t end = i < indices->size() ? bounded((*indices)[i]) : total;
      out.push_back(slice(x, d, begin, std::max<int64_t>(end - begin, 0), 1));
      begin = end;
    }
    return out;
  }
  const int64_t n = std::get<int64_t>(indices_or_sections);
  check_parts("tensor_split", " sections", n);
  for (int64_t i = 0, begin = 0; i < n; ++i) {
    const int64_t count = total / n + (i < total % n);
    out.push_back(slice(x, d, begin, count, 1));
    begin += count;
  }
  return out;
}

namespace {
std::vector<Tensor> split_evenly(const char* op, const Tensor& x, const IntOrInts& indices_or_sections, int dim) {
  if (const auto* n = std::get_if<int64_t>(&indices_or_sections); n && *n > 0 && x.shape()[dim] % *n != 0)
    fail<ValueError>(op, std::to_string(*n) + " sections of a dimension of size " + std::to_string(x.shape()[dim]),
                     "use a divisor of the size, or tensor_split()");
  return tensor_split(x, indices_or_sections, dim);
}
}  // namespace

std::vector<Tensor> hsplit(const Tensor& x, const IntOrInts& indices_or_sections) {
  if (x.rank() == 0) fail<ValueError>("hsplit", "a 0-d tensor has no columns", "use reshape(1)");
  return split_evenly("hsplit", x, indices_or_sections, x.rank() == 1 ? 0 : 1);
}
std::vector<Tensor> vsplit(const Tensor& x, const IntOrInts& indices_or_sections) {
  if (x.rank() < 2)
    fail<ValueError>("vsplit", "a tensor of shape " + x.shape().str() + " has no rows", "use two dimensions or more");
  return split_evenly("vsplit", x, indices_or_sections, 0);
}

// ---- repeated and moved ------------------------------------------------------------------------------------------------
namespace {

// The tensor as [before, size, behind], for a dimension that is to be repeated.
Dims around(const Dims& shape, int d) {
  Dims three = {1, shape[d], 1};
  for (int i = 0; i < shape.rank; ++i)
    if (i != d) three[i < d ? 0 : 2] *= shape[i];
  return three;
}

// For ranks at which two dimensions for each repeated one would be too many: repeats one dimension after the other.
Tensor repeat_in_turn(Tensor x, const Dims& repeats) {
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (repeats[d] == 1) continue;
    Dims shape = x.shape();
    const Dims three = around(shape, d);
    shape[d] *= repeats[d];
    x = reshape(repeat(reshape(x, three), {1, repeats[d], 1}), shape);
  }
  return x;
}

}  // namespace

// One copy: each repeated dimension becomes two, of which the first has stride 0, and the copy lays them out in memory.
Tensor repeat(const Tensor& x, const Dims& repeats) {
  const int extra = repeats.rank - x.rank();
  if (extra < 0)
    fail<ValueError>("repeat", "repeats " + repeats.str() + " for a tensor of shape " + x.shape().str(),
                     "give one for each dimension, or more");
  Dims whole = Dims::filled(extra, 1), shape;
  for (int64_t size : x.shape()) whole.push(size);
  int parts = 0;
  for (int d = 0; d < repeats.rank; ++d) {
    if (repeats[d] < 0) fail<ValueError>("repeat", "repeats " + repeats.str() + " are negative", "use 0 or more");
    shape.push(times("repeat", repeats[d], whole[d]));
    parts += (repeats[d] != 1) + (whole[d] != 1);
  }
  check_size("repeat", shape);
  if (parts > kMaxRank) return repeat_in_turn(reshape(x, whole), repeats);
  Dims apart, wide;  // each repeated dimension as two: how often, and what
  for (int d = 0; d < repeats.rank; ++d) {
    if (repeats[d] != 1) {
      apart.push(1);
      wide.push(repeats[d]);
    }
    if (whole[d] != 1) {
      apart.push(whole[d]);
      wide.push(whole[d]);
    }
  }
  return reshape(clone(expand(reshape(x, apart), wide)), shape);
}

Tensor tile(const Tensor& x, const Dims& dims) {
  Dims repeats = Dims::filled(std::max(x.rank() - dims.rank, 0), 1);
  for (int64_t n : dims) repeats.push(n);
  return repeat(x, repeats);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  if (repeats < 0) fail<ValueError>("repeat_interleave", "negative repeats", "use 0 or more");
  if (!dim) return repeat_interleave(reshape(x, {-1}), repeats, 0);
  const int d = normal_axis("repeat_interleave", *dim, x.rank());
  if (x.rank() == 0) return repeat(x, {repeats});
  Dims shape = x.shape();
  shape[d] = times("repeat_interleave", shape[d], repeats);
  check_size("repeat_interleave", shape);
  if (x.rank() == kMaxRank) return reshape(repeat_interleave(reshape(x, around(x.shape(), d)), repeats, 1), shape);
  Dims wide;
  for (int i = 0; i < x.rank(); ++i) {
    wide.push(x.shape()[i]);
    if (i == d) wide.push(repeats);
  }
  return reshape(clone(expand(unsqueeze(x, d + 1), wide)), shape);
}

// Two slices change places along each dimension in turn.
Tensor roll(const Tensor& x, const Dims& shifts, const std::optional<Dims>& dims) {
  if (!dims || dims->rank == 0) {
    if (shifts.rank != 1)
      fail<ValueError>("roll", std::to_string(shifts.rank) + " shifts without dims", "name the dimensions");
    return reshape(roll(reshape(x, {-1}), shifts, Dims{0}), x.shape());
  }
  if (shifts.rank != dims->rank)
    fail<ValueError>("roll", "shifts " + shifts.str() + " and dims " + dims->str() + " differ in length",
                     "give one shift a dimension");
  Tensor out = x;
  for (int i = 0; i < shifts.rank; ++i) {
    const int d = normal_axis("roll", (*dims)[i], x.rank());
    const int64_t size = size_of_dim(x, d);
    const int64_t by = size ? (shifts[i] % size + size) % size : 0;
    if (by != 0) out = cat({slice(out, d, size - by, by, 1), slice(out, d, 0, size - by, 1)}, d);
  }
  return copied(out, x);
}

Tensor fliplr(const Tensor& x) {
  if (x.rank() < 2)
    fail<ValueError>("fliplr", "a tensor of shape " + x.shape().str() + " has no columns", "use flip()");
  return flip(x, {1});
}
Tensor flipud(const Tensor& x) {
  if (x.rank() < 1) fail<ValueError>("flipud", "a 0-d tensor has no rows", "use two dimensions or more");
  return flip(x, {0});
}

// Quarter turns from dims[0] towards dims[1]: a reflection and a transposition.
Tensor rot90(const Tensor& x, int64_t k, const Dims& dims) {
  if (dims.rank != 2 || x.rank() < 2)
    fail<ValueError>("rot90", "dims " + dims.str() + " of shape " + x.shape().str() + " span no plane", "name two");
  const int a = normal_axis("rot90", dims[0], x.rank()), b = normal_axis("rot90", dims[1], x.rank());
  if (a == b) fail<ValueError>("rot90", "dims " + dims.str() + " are one", "name two");
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, {b}), a, b);
    case 2:
      return flip(x, {a, b});
    case 3:
      return transpose(flip(x, {a}), a, b);
    default:
      return clone(x);
  }
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.shape());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(expand(t, shape));
  return out;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing) {
  if (indexing != "ij" && indexing != "xy")
    fail<ValueError>("meshgrid", "indexing '" + indexing + "' is unknown", "use 'ij' or 'xy'");
  check_list("meshgrid", tensors);
  const int n = static_cast<int>(tensors.size());
  const bool swapped = indexing == "xy" && n > 1;
  auto place = [&](int i) { return swapped && i < 2 ? 1 - i : i; };
  Dims shape = Dims::filled(n, 1);
  for (int i = 0; i < n; ++i) {
    if (tensors[i].rank() > 1)
      fail<ValueError>("meshgrid", "a tensor of shape " + tensors[i].shape().str() + " is no vector", "flatten it");
    shape[place(i)] = tensors[i].numel();
  }
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) {
    Dims one = Dims::filled(n, 1);
    one[place(i)] = tensors[i].numel();
    out.push_back(expand(reshape(tensors[i], one), shape));
  }
  return out;
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  check_list("cartesian_prod", tensors);
  if (tensors.size() == 1) return tensors[0];
  int64_t rows = 1;
  for (const Tensor& t : tensors) {
    if (t.rank() != 1)
      fail<ValueError>("cartesian_prod", "a tensor of shape " + t.shape().str() + " is no vector", "flatten it");
    rows = times("cartesian_prod", rows, t.numel());
  }
  check_size("cartesian_prod", {rows});
  std::vector<Tensor> columns;
  int64_t before = 1;
  for (const Tensor& t : tensors) {  // each as [before, it, behind]
    const int64_t n = t.numel(), behind = rows ? rows / (before * n) : 0;
    columns.push_back(reshape(expand(reshape(t, {1, n, 1}), {before, n, behind}), {rows}));
    before *= n;
  }
  return stack(columns, 1);
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  check_list("block_diag", tensors);
  int64_t width = 0, left = 0;
  std::vector<Tensor> blocks;
  for (const Tensor& t : tensors) {
    if (t.rank() > 2)
      fail<ValueError>("block_diag", "a tensor of shape " + t.shape().str() + " is no matrix", "use two dimensions");
    blocks.push_back(atleast_2d(t));
    width += blocks.back().shape()[1];
  }
  const DType type = result_type(tensors);
  for (Tensor& t : blocks) {
    const int64_t columns = t.shape()[1];
    t = embed(cast(t, type), {t.shape()[0], width}, {width, 1}, left, 0);
    left += columns;
  }
  return cat(blocks, 0);
}

// ---- padding ---------------------------------------------------------------------------------------------------------
Tensor pad(const Tensor& x, const std::vector<int64_t>& pad, const std::string& mode, std::optional<double> value) {
  const int pairs = static_cast<int>(pad.size() / 2);
  if (pad.size() % 2 != 0 || pairs > x.rank())
    fail<ValueError>("pad", std::to_string(pad.size()) + " widths for a tensor of shape " + x.shape().str(),
                     "give two for each of the last dimensions, the last first");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    fail<ValueError>("pad", "mode '" + mode + "' is unknown", "use constant, reflect, replicate or circular");
  if (mode != "constant" && value.value_or(0) != 0)
    fail<ValueError>("pad", "a value for mode '" + mode + "'", "values are for mode 'constant'");
  // Negative widths are cut off first.
  Tensor out = x;
  Dims into = x.shape();
  std::vector<int64_t> widths;
  for (int i = 0; i < pairs; ++i) {
    const int d = x.rank() - 1 - i;
    int64_t cut = std::max<int64_t>(times("pad", -1, pad[2 * i]), 0),
            cut_end = std::max<int64_t>(times("pad", -1, pad[2 * i + 1]), 0), before = std::max<int64_t>(pad[2 * i], 0),
            after = std::max<int64_t>(pad[2 * i + 1], 0);
    if (plus("pad", cut, cut_end) > x.shape()[d])
      fail<ValueError>("pad", "widths cut off more than dimension " + std::to_string(d) + " has", "use smaller ones");
    // One element stays where it is to be repeated.
    if (mode == "replicate" && x.shape()[d] > 0 && cut == x.shape()[d] && after > 0) --cut, --after;
    if (mode == "replicate" && x.shape()[d] > 0 && cut_end == x.shape()[d] && before > 0) --cut_end, --before;
    out = slice(out, d, cut, x.shape()[d] - cut - cut_end, 1);
    into[d] = plus("pad", plus("pad", before, out.shape()[d]), after);
    check_size("pad", into);
    widths.insert(widths.end(), {before, after});
  }
  if (mode != "constant") out = with_borders(out, widths, mode);
  if (into == out.shape()) return copied(out, x);
  const Dims strides = contiguous_strides(into);
  int64_t offset = 0;
  for (int i = 0; i < pairs; ++i) offset += std::max<int64_t>(pad[2 * i], 0) * strides[x.rank() - 1 - i];
  return embed(out, into, strides, offset, value.value_or(0));
}

}  // namespace sg
