// Reading and writing at computed places. Everything is rows: the first dimensions of a tensor are counted as one row
// number, the others are the row. An index is checked on the device, where it is used; nothing waits for it.
#include "ops/index.hpp"

#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"
#include "ops/order.hpp"

namespace sg {

Expr emit_check(ProgramBuilder& builder, const Node&, const Expr* in) {
  return builder.alu(Code::check_index, DType::int64, in[0], in[1]);
}

namespace {

const OpInfo kGather = check_row("gather"), kScatter = check_row("scatter"), kScatterAdd = check_row("scatter_add"),
             kScatterReduce = check_row("scatter_reduce"), kIndexSelect = check_row("index_select"),
             kIndexAdd = check_row("index_add"), kTake = check_row("take"), kIndexCopy = check_row("index_copy"),
             kIndexFill = check_row("index_fill"), kGetitem = check_row("getitem"), kIndexPut = check_row("index_put"),
             kTakeAlongDim = check_row("take_along_dim"), kEmbedding = check_row("embedding"),
             kMaskedScatter = check_row("masked_scatter");

// An index as int64 in [0, size); with `wraps`, negative ones count from the end.
Tensor checked(const OpInfo& row, const Tensor& index, int64_t size, bool wraps) {
  if (is_float(index.dtype()) || index.dtype() == DType::boolean)
    fail<TypeError>(row.name, std::string("an index of ") + name_of(index.dtype()), "use int64");
  if (size == 0 && index.numel() != 0)
    fail<IndexError>(row.name, "an index into a dimension of size 0", "give no index, or a tensor with elements");
  const Tensor i = cast(index.detach(), DType::int64);
  return pointwise(row, {wraps ? where(i < 0, i + Tensor(size), i) : i, Tensor(size)});
}

int64_t product(const Dims& shape, int first, int last) {
  int64_t n = 1;
  for (int d = first; d < last; ++d) n *= shape[d];
  return n;
}
Dims joined(const Dims& a, const Dims& b, int from) {
  Dims out = a;
  for (int d = from; d < b.rank; ++d) out.push(b[d]);
  return out;
}
Tensor flat(const Tensor& x) { return reshape(x, {x.numel()}); }
Tensor with_ones(Tensor x, int count) {
  for (int i = 0; i < count; ++i) x = unsqueeze(x, -1);
  return x;
}
// 0, stride, 2 * stride ... along dimension `dim` of a tensor of rank `rank`.
Tensor steps_along(int64_t count, int64_t stride, int dim, int rank, DeviceId device) {
  Dims shape = Dims::filled(rank, 1);
  shape[dim] = count;
  return reshape(arange(0, static_cast<double>(stride), count, DType::int64, device), shape);
}

// ---- rows --------------------------------------------------------------------------------------------------------------
struct RowsAttributes {
  int dims;       // how many dimensions a row number is for
  bool distinct;  // no row is named twice
};

void vjp_take(Vjp& v) {
  const Dims& shape = v.shape(0);
  const auto [dims, distinct] = v.attributes<RowsAttributes>();
  const Tensor rows = v.in(1);
  if (distinct) {
    v.result[0] = put_rows(full(shape, 0, v.g.dtype(), v.g.device()), dims, rows, v.g, true);
    return;
  }
  const Tensor g = reshape(v.g, {rows.numel(), product(shape, dims, shape.rank)});
  v.result[0] = reshape(add_rows(product(shape, 0, dims), flat(rows), g), shape);
}

void vjp_put(Vjp& v) {
  const auto [dims, distinct] = v.attributes<RowsAttributes>();
  const Tensor rows = v.in(2);
  if (v.needs(0)) v.result[0] = put_rows(v.g, dims, rows, Tensor(0), distinct);
  if (v.needs(1)) v.result[1] = take_rows(v.g, dims, rows, distinct);
}

}  // namespace

namespace ops {
const OpInfo Take{.name = "take_rows",
                  .doc = "Rows of a tensor, by number.",
                  .kind = Kind::indexed,
                  .arity = 2,
                  .saves = kSavesB,
                  .vjp = vjp_take};
const OpInfo Put{.name = "put_rows",
                 .doc = "A tensor with some rows replaced.",
                 .kind = Kind::effect,
                 .arity = 3,
                 .saves = kSavesC,
                 .vjp = vjp_put};
}  // namespace ops

Tensor take_rows(const Tensor& x0, int dims, const Tensor& rows, bool distinct) {
  // The rows have one common stride, or x is copied.
  Tensor x = x0;
  const auto uniform = [&] {
    int64_t covered = 0;
    bool first = true;
    for (int d = dims - 1; d >= 0; --d) {
      if (x.shape()[d] == 1) continue;
      if (!first && x.strides()[d] != covered) return false;
      covered = x.strides()[d] * x.shape()[d];
      first = false;
    }
    return true;
  };
  if (!uniform()) x = contiguous(x0);
  int64_t stride = 0;
  for (int d = 0; d < dims; ++d)
    if (x.shape()[d] != 1) stride = x.strides()[d];
  Dims strides = Dims::filled(rows.rank(), 0);
  for (int d = dims; d < x.rank(); ++d) strides.push(x.strides()[d]);
  const Dims shape = joined(rows.shape(), x.shape(), dims);
  const Tensor offset = with_ones(stride == 1 ? rows : rows * Tensor(stride), x.rank() - dims);
  Tensor out = indexed(ops::Take, x, shape, strides, offset);
  record_gradient(ops::Take, out, {&x, &rows}, RowsAttributes{dims, distinct});
  return out;
}

Tensor put_rows(const Tensor& x, int dims, const Tensor& rows, const Tensor& values, bool distinct) {
  const Tensor value = values.is_number() ? values : cast(values, x.dtype());
  Tensor out;
  {
    GradMode off(false);
    out = empty_like(x, {}, {});
    copy_(out, x);
    const int64_t width = product(x.shape(), dims, x.rank());
    Tensor at = with_ones(rows * Tensor(width), x.rank() - dims);
    const Dims strides = contiguous_strides(x.shape());
    for (int d = dims; d < x.rank(); ++d)
      at =
          at + steps_along(x.shape()[d], strides[d], rows.rank() + d - dims, rows.rank() + x.rank() - dims, x.device());
    assign_at(ops::Put, out, value, at);
  }
  record_gradient(ops::Put, out, {&x, &value, &rows}, RowsAttributes{dims, distinct});
  return out;
}

// ---- along one dimension -------------------------------------------------------------------------------------------------
namespace {

// The numbers of the named elements in memory with these strides: the index along `dim`, an element's own position
// along the others.
Tensor element_numbers(const Dims& strides, int dim, const Tensor& index) {
  Tensor at = strides[dim] == 1 ? index : index * Tensor(strides[dim]);
  for (int d = 0; d < strides.rank; ++d)
    if (d != dim) at = at + steps_along(index.shape()[d], strides[d], d, strides.rank, index.device());
  return at;
}

struct ElementIndex {
  Tensor x, index;
  int dim;
};
// x and the index as tensors of the same rank, at least 1; the index no longer than x but along dim.
ElementIndex element_index(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  ElementIndex a{x, index, normal_axis(op, dim, x.rank())};
  if (x.rank() == 0) a.x = reshape(x, {1});
  if (index.rank() == 0 && x.rank() <= 1) a.index = reshape(index, {1});
  if (a.index.rank() != a.x.rank())
    fail<ValueError>(op, "index " + index.shape().str() + " has another rank than " + x.shape().str(),
                     "give both the same number of dimensions");
  for (int d = 0; d < a.x.rank(); ++d)
    if (d != a.dim && a.index.shape()[d] > a.x.shape()[d])
      fail<ValueError>(op,
                       "index " + index.shape().str() + " is longer than " + x.shape().str() + " along dimension " +
                           std::to_string(d),
                       "only dimension " + std::to_string(a.dim) + " may be longer");
  return a;
}

// x with `dim` in front, how to move it back, and a 1-d index into it.
struct RowIndex {
  Tensor x, index;
  int dim;
  Tensor back(const Tensor& y) const { return move_dim(y, 0, dim); }
  int64_t width() const { return product(x.shape(), 1, x.rank()); }
  // The values for the index as [n, width], and the rows of x, [rows, width], in the shape of x.
  Tensor rows(const Tensor& y) const { return reshape(move_dim(y, dim, 0), {y.shape()[dim], width()}); }
  Tensor whole(const Tensor& rows) const { return back(reshape(rows, x.shape())); }
};

// An index that names whole slices, because it is the same along all other dimensions: [n, 1] expanded to [n, width].
std::optional<RowIndex> slices(const OpInfo& row, const ElementIndex& a, bool wraps) {
  if (a.index.numel() == 0) return {};
  Tensor index = a.index;
  for (int d = a.x.rank() - 1; d >= 0; --d) {
    if (d == a.dim) continue;
    const int64_t size = index.shape()[d];
    if (size != a.x.shape()[d] || (size != 1 && index.strides()[d] != 0)) return {};
    index = select(index, d, 0);
  }
  return RowIndex{move_dim(a.x, a.dim, 0), checked(row, index, a.x.shape()[a.dim], wraps), a.dim};
}

Tensor gathered(const OpInfo& row, const Tensor& x, int64_t dim, const Tensor& index, bool wraps) {
  if (index.numel() == 0 && index.rank() != std::max(x.rank(), 1))
    return reshape(slice(reshape(x, {-1}), 0, 0, 0, 1), index.shape());
  const ElementIndex a = element_index(row.name, x, dim, index);
  if (const auto f = slices(row, a, wraps)) return reshape(f->back(take_rows(f->x, 1, f->index)), index.shape());
  const Tensor source = contiguous(a.x);
  const Tensor at =
      element_numbers(contiguous_strides(source.shape()), a.dim, checked(row, a.index, a.x.shape()[a.dim], wraps));
  return reshape(take_rows(source, source.rank(), at), index.shape());
}

// The part of `source` that has the shape of the index.
Tensor reached(const char* op, const Tensor& source, const Tensor& index) {
  if (source.is_number()) return source;
  Tensor part = source.rank() == 0 && index.rank() == 1 ? reshape(source, {1}) : source;
  if (part.rank() != index.rank())
    fail<ValueError>(op, "source " + source.shape().str() + " has another rank than the index " + index.shape().str(),
                     "give both the same number of dimensions");
  for (int d = 0; d < part.rank(); ++d) {
    if (index.shape()[d] > part.shape()[d])
      fail<ValueError>(op, "index " + index.shape().str() + " is longer than the source " + source.shape().str(),
                       "give a value for each index");
    part = slice(part, d, 0, index.shape()[d], 1);
  }
  return part;
}

RowIndex row_index(const OpInfo& row, const Tensor& x0, int64_t dim, const Tensor& index) {
  const Tensor x = x0.rank() ? x0 : reshape(x0, {1});
  if (index.rank() > 1)
    fail<ValueError>(row.name, "index " + index.shape().str() + " has more than one dimension", "flatten it");
  const int d = normal_axis(row.name, dim, x.rank());
  return {move_dim(x, d, 0), checked(row, reshape(index, {index.numel()}), x.shape()[d], false), d};
}

}  // namespace

Tensor move_dim(const Tensor& x, int from, int to) {
  if (from == to) return x;
  Dims order, rest;
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) rest.push(d);
  for (int d = 0, r = 0; d < x.rank(); ++d) order.push(d == to ? from : rest[r++]);
  return permute(x, order);
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) { return gathered(kGather, x, dim, index, false); }

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  if (!dim) return gathered(kTakeAlongDim, flat(x), 0, flat(index), true);
  const int d = normal_axis("take_along_dim", *dim, x.rank());
  if (x.rank() != index.rank())
    fail<ValueError>("take_along_dim", "index " + index.shape().str() + " has another rank than " + x.shape().str(),
                     "give both the same number of dimensions");
  Dims mine = x.shape(), theirs = index.shape();
  mine[d] = theirs[d] = 1;
  mine = broadcast_shapes("take_along_dim", mine, theirs);
  theirs = mine;
  mine[d] = x.shape()[d];
  theirs[d] = index.shape()[d];
  return gathered(kTakeAlongDim, expand(x, mine), d, expand(index, theirs), true);
}

Tensor take(const Tensor& x, const Tensor& index) {
  const Tensor source = flat(x);
  return take_rows(source, 1, checked(kTake, index, source.numel(), true));
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  const RowIndex f = row_index(kIndexSelect, x, dim, index);
  const Tensor out = f.back(take_rows(f.x, 1, f.index));
  return x.rank() ? out : reshape(out, {});
}

Tensor embedding(const Tensor& index, const Tensor& weight) {
  if (weight.rank() != 2)
    fail<ValueError>("embedding", "weight has shape " + weight.shape().str(), "give a matrix, one row an entry");
  return take_rows(weight, 1, checked(kEmbedding, index, weight.shape()[0], false));
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const ElementIndex a = element_index("scatter", x, dim, index);
  const Tensor values = reached("scatter", source, a.index);
  const Tensor at =
      element_numbers(contiguous_strides(a.x.shape()), a.dim, checked(kScatter, a.index, a.x.shape()[a.dim], false));
  return reshape(put_rows(a.x, a.x.rank(), at, values), x.shape());
}

namespace {
bool is_recorded_write(const Tensor& x, const Tensor& value) {
  return grad_enabled() && (x.requires_grad() || value.requires_grad());
}

// Values, or one, in x's memory: value i at place `at[i]`, counted from its first element.
void put_in_place(const Tensor& x, const Tensor& values, const Tensor& at) {
  if (at.numel() == 0) return;
  assign_at(ops::Put, x, values.is_number() ? values : expand(cast(values, x.dtype()), at.shape()), at);
}
}  // namespace

void scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  if (is_recorded_write(x, source)) {
    check_write("scatter_", x, source);
    return rewrite_(x, [&](const Tensor& before) { return scatter(before, dim, index, source); });
  }
  const ElementIndex a = element_index("scatter", x, dim, index);
  const Tensor values = reached("scatter", source, a.index);
  const Tensor at = checked(kScatter, a.index, a.x.shape()[a.dim], false);
  put_in_place(a.x, values, element_numbers(a.x.strides(), a.dim, at));
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const ElementIndex a = element_index("scatter_add", x, dim, index);
  const Tensor values = reached("scatter_add", source, a.index);
  if (const auto f = slices(kScatterAdd, a, false)) {
    const Tensor sums = add_rows(f->x.shape()[0], f->index, f->rows(cast(values, x.dtype())));
    return x + reshape(f->whole(sums), x.shape());
  }
  const Tensor at =
      element_numbers(contiguous_strides(a.x.shape()), a.dim, checked(kScatterAdd, a.index, a.x.shape()[a.dim], false));
  const Tensor sums = add_rows(x.numel(), flat(at), reshape(cast(values, x.dtype()), {values.numel(), 1}));
  return x + reshape(sums, x.shape());
}

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      const std::string& reduce, bool include_self) {
  const ElementIndex a = element_index("scatter_reduce", x, dim, index);
  const Tensor values = reached("scatter_reduce", source, a.index);
  if (const auto f = slices(kScatterReduce, a, false)) {
    const Tensor y =
        reduce_into("scatter_reduce", reduce, f->rows(a.x), f->index, f->rows(cast(values, x.dtype())), include_self);
    return reshape(f->whole(y), x.shape());
  }
  const Tensor at = element_numbers(contiguous_strides(a.x.shape()), a.dim,
                                    checked(kScatterReduce, a.index, a.x.shape()[a.dim], false));
  const auto column = [](const Tensor& y) { return reshape(y, {y.numel(), 1}); };
  const Tensor y =
      reduce_into("scatter_reduce", reduce, column(x), flat(at), column(cast(values, x.dtype())), include_self);
  return reshape(y, x.shape());
}

namespace {
Tensor rows_of(const OpInfo& row, const Tensor& source, const RowIndex& f) {
  Tensor values = move_dim(source.rank() ? source : reshape(source, {1}), f.dim, 0);
  Dims want = f.x.shape();
  want[0] = f.index.numel();
  if (!(values.shape() == want))
    fail<ValueError>(row.name, "source " + source.shape().str() + " does not fit the index and " + f.x.shape().str(),
                     "give one slice for each index");
  return values;
}
}  // namespace

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const Tensor& alpha) {
  const RowIndex f = row_index(kIndexAdd, x, dim, index);
  const Tensor values = cast(rows_of(kIndexAdd, source, f), x.dtype());
  const bool unscaled = is_float(x.dtype()) && alpha.is_number() && value_of(alpha) == 1;
  const Tensor scaled = reshape(unscaled ? values : values * alpha, {f.index.numel(), f.width()});
  const Tensor sums = add_rows(f.x.shape()[0], f.index, scaled);
  return cast(x + reshape(f.whole(sums), x.shape()),
              x.dtype() == DType::boolean ? x.dtype() : promote(x.dtype(), sums.dtype()));
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const RowIndex f = row_index(kIndexCopy, x, dim, index);
  return reshape(f.back(put_rows(f.x, 1, f.index, rows_of(kIndexCopy, source, f))), x.shape());
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  const RowIndex f = row_index(kIndexFill, x, dim, index);
  const auto filled = [&](const Tensor& y) { return reshape(f.back(y), x.shape()); };
  if (!value.requires_grad()) return filled(put_rows(f.x, 1, f.index, value));
  // The value is in each row once, however often the index names it; so is its gradient.
  const Tensor none = full_int({f.x.shape()[0]}, 0, DType::boolean, x.device());
  const Tensor named = with_ones(put_rows(none, 1, f.index, Tensor(1)), f.x.rank() - 1);
  return filled(where(named, cast(value, x.dtype()), f.x));
}

namespace {
void put_slices(const RowIndex& f, const Tensor& values) {
  Dims shape = f.x.shape();
  shape[0] = f.index.numel();
  const Tensor at = element_numbers(f.x.strides(), 0, expand(with_ones(f.index, f.x.rank() - 1), shape));
  put_in_place(f.x, values, at);
}
}  // namespace

void index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  if (is_recorded_write(x, source)) {
    check_write("index_copy_", x, source);
    return rewrite_(x, [&](const Tensor& before) { return index_copy(before, dim, index, source); });
  }
  const RowIndex f = row_index(kIndexCopy, x, dim, index);
  put_slices(f, rows_of(kIndexCopy, source, f));
}

void index_fill_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  if (is_recorded_write(x, value)) {
    check_write("index_fill_", x, value);
    return rewrite_(x, [&](const Tensor& before) { return index_fill(before, dim, index, value); });
  }
  put_slices(row_index(kIndexFill, x, dim, index), value);
}

// ---- several dimensions ----------------------------------------------------------------------------------------------
namespace {

// x with its indexed dimensions in front, their row numbers, and where the index's dimensions go in the result.
struct MultiIndex {
  Tensor x, rows;
  int dims = 0, to = 0;
  Dims order;
};
MultiIndex multi_index(const OpInfo& row, const Tensor& x, const std::vector<Tensor>& indices) {
  MultiIndex s;
  Dims shape, rest;
  int first = -1, last = -1;
  bool adjacent = true;
  for (int d = 0; d < x.rank(); ++d) {
    if (d >= static_cast<int>(indices.size()) || !indices[d]) {
      rest.push(d);
      continue;
    }
    if (first < 0) first = d;
    adjacent = adjacent && (last < 0 || d == last + 1);
    last = d;
    ++s.dims;
    s.order.push(d);
    shape = broadcast_shapes(row.name, shape, indices[d].shape());
  }
  for (int64_t d : rest) s.order.push(d);
  s.to = adjacent ? first : 0;
  s.x = permute(x, s.order);
  for (int d = 0; d < s.dims; ++d) {
    const Tensor i = checked(row, indices[static_cast<size_t>(s.order[d])], s.x.shape()[d], true);
    s.rows = d == 0 ? i : s.rows * Tensor(s.x.shape()[d]) + i;
  }
  s.rows = expand(s.rows, shape);
  return s;
}

// Moves the dimensions of the index from the front to where the indexed ones were, or back.
Tensor place(const MultiIndex& s, const Tensor& y, bool back) {
  const int count = s.rows.rank();
  Dims order;
  if (back) {
    for (int d = 0; d < count; ++d) order.push(s.to + d);
    for (int d = 0; d < y.rank(); ++d)
      if (d < s.to || d >= s.to + count) order.push(d);
  } else {
    for (int d = 0; d < s.to; ++d) order.push(count + d);
    for (int d = 0; d < count; ++d) order.push(d);
    for (int d = count + s.to; d < y.rank(); ++d) order.push(d);
  }
  return permute(y, order);
}

Tensor in_order(const MultiIndex& s, const Tensor& y) {
  Dims inverse = s.order;
  for (int d = 0; d < s.order.rank; ++d) inverse[static_cast<int>(s.order[d])] = d;
  return permute(y, inverse);
}

}  // namespace

Tensor index(const Tensor& x, const std::vector<Tensor>& indices) {
  const MultiIndex s = multi_index(kGetitem, x, indices);
  return place(s, take_rows(s.x, s.dims, s.rows), false);
}

Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate) {
  const MultiIndex s = multi_index(kIndexPut, x, indices);
  if (s.rows.numel() == 0 && !values.requires_grad()) return clone(x);
  const Dims front_shape = joined(s.rows.shape(), s.x.shape(), s.dims);
  Tensor v = values;
  if (!v.is_number()) {
    // Broadcast in the shape that x[indices] has.
    Dims shape;
    for (int d = 0; d < s.to; ++d) shape.push(front_shape[s.rows.rank() + d]);
    for (int d = 0; d < s.rows.rank(); ++d) shape.push(front_shape[d]);
    for (int d = s.rows.rank() + s.to; d < front_shape.rank; ++d) shape.push(front_shape[d]);
    v = place(s, expand(cast(v, x.dtype()), shape), true);
  } else if (accumulate) {
    v = full(front_shape, 0, x.dtype(), x.device()) + v;
  }
  if (!accumulate) return in_order(s, put_rows(s.x, s.dims, s.rows, v));
  const int64_t width = product(s.x.shape(), s.dims, s.x.rank());
  const Tensor sums = add_rows(product(s.x.shape(), 0, s.dims), flat(s.rows), reshape(v, {s.rows.numel(), width}));
  return x + in_order(s, reshape(sums, s.x.shape()));
}

void index_put_(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values) {
  if (grad_enabled() && (x.requires_grad() || values.requires_grad())) {
    check_write("index_put_", x, values);
    return rewrite_(x, [&](const Tensor& before) { return index_put(before, indices, values, false); });
  }
  const MultiIndex s = multi_index(kIndexPut, x, indices);
  if (s.rows.numel() == 0) return;
  const Dims shape = joined(s.rows.shape(), s.x.shape(), s.dims);
  Tensor at;
  for (int d = 0; d < s.dims; ++d) {
    const Tensor i = checked(kIndexPut, indices[static_cast<size_t>(s.order[d])], s.x.shape()[d], true);
    const Tensor part = with_ones(i, s.x.rank() - s.dims) * Tensor(s.x.strides()[d]);
    at = at ? at + part : part;
  }
  const int rank = shape.rank, count = s.rows.rank();
  for (int d = s.dims; d < s.x.rank(); ++d)
    at = at + steps_along(s.x.shape()[d], s.x.strides()[d], count + d - s.dims, rank, x.device());
  at = expand(at, shape);
  Tensor v = values;
  if (!v.is_number()) v = expand(cast(v, x.dtype()), place(s, at, false).shape());
  assign_at(ops::Put, x, v.is_number() ? v : place(s, v, true), at);
}

// ---- chosen by a mask --------------------------------------------------------------------------------------------------
namespace {
// No place is written twice.
const OpInfo kPlaces{
    .name = "put_rows", .doc = "The places of the chosen elements.", .kind = Kind::effect, .arity = 3, .repeats = true};

Tensor as_mask(const Tensor& x) { return x.dtype() == DType::boolean ? x : x.detach() != Tensor(0); }
}  // namespace

Tensor running_count(const Tensor& mask) { return cumsum(flat(as_mask(mask.detach())), 0, DType::int64); }

Tensor places(const Tensor& mask, const Tensor& running, int64_t count) {
  GradMode off(false);
  const Tensor out = empty({count}, DType::int64, mask.device());
  if (count == 0) return out;
  const Tensor at = where(flat(as_mask(mask.detach())), running - Tensor(1), Tensor(-1));
  assign_at(kPlaces, out, arange(0, 1, running.numel(), DType::int64, mask.device()), at);
  return out;
}

std::vector<Tensor> coordinates(const Tensor& places, const Dims& shape) {
  std::vector<Tensor> out;
  const Dims strides = contiguous_strides(shape);
  for (int d = 0; d < shape.rank; ++d) {
    Tensor i = strides[d] == 1 ? places : floor_divide(places, Tensor(strides[d]));
    if (d > 0) i = remainder(i, Tensor(shape[d]));
    out.push_back(i);
  }
  return out;
}

Tensor take_places(const Tensor& x, int dim, int dims, const Tensor& places) {
  Dims order;
  for (int d = dim; d < dim + dims; ++d) order.push(d);
  for (int d = 0; d < x.rank(); ++d)
    if (d < dim || d >= dim + dims) order.push(d);
  return move_dim(take_rows(permute(x, order), dims, places, true), 0, dim);
}

Tensor masked_scatter(const Tensor& x0, const Tensor& mask0, const Tensor& source) {
  if (mask0.dtype() != DType::boolean)
    fail<TypeError>("masked_scatter", std::string("a mask of ") + name_of(mask0.dtype()), "use bool");
  if (source.dtype() != x0.dtype())
    fail<TypeError>("masked_scatter",
                    std::string("the source is ") + name_of(source.dtype()) + ", the tensor " + name_of(x0.dtype()),
                    "convert one of them");
  const Dims shape = broadcast_shapes("masked_scatter", x0.shape(), mask0.shape());
  const Tensor x = expand(x0, shape), mask = contiguous(expand(mask0, shape));
  const Tensor running = reshape(running_count(mask), shape);
  // An empty source counts as one element that no index may name.
  const bool none = source.numel() == 0;
  const Tensor from = none ? full({1}, 0, x.dtype(), x.device()) : flat(source);
  const Tensor at =
      checked(kMaskedScatter, where(mask, none ? running : running - Tensor(1), Tensor(0)), from.numel(), false);
  return where(mask, take_rows(from, 1, at), x);
}

}  // namespace sg
