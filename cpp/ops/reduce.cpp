// Folds over dimensions, their gradients, and where extremes are. How a fold runs is the devices' business.
#include <cstdlib>

#include "base/error.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// Gives the folded dimensions back as size 1, so that the tensor broadcasts against the input.
Tensor keep(const Tensor& x, const Dims& full, uint32_t axes) {
  Dims shape = full;
  for (int d = 0; d < full.rank; ++d)
    if (axes >> d & 1) shape[d] = 1;
  return reshape(x, shape);
}

void vjp_sum(Vjp& v) { v.result[0] = expand(keep(v.g, v.shape(0), v.attributes<ReduceAttributes>().axes), v.shape(0)); }

// Elements equal to the extreme share the gradient evenly, as in PyTorch's amax. NaN share that of a NaN: other results
// left them out, as nanmedian() does.
void vjp_extreme(Vjp& v) {
  const uint32_t axes = v.attributes<ReduceAttributes>().axes;
  const Tensor x = v.in(0), extreme = keep(v.out(), x.shape(), axes);
  const Tensor hit = where(extreme == extreme, x == extreme, x != x);
  const Tensor share = keep(v.g, x.shape(), axes) / sum(cast(hit, x.dtype()), axes, true);
  v.result[0] = where(hit, share, 0);
}

// For each element of a flat dimension, the product of all others: of those before it times those after it, found by
// doubling, in log2(n) steps. Right for zeros and for derivatives of any order; those of a single element are 0, not
// missing.
Tensor product_of_others(const Tensor& x) {
  const int dim = x.rank() - 1;
  const int64_t size = x.shape()[dim];
  if (size == 1) return where(x == x, 1, x);
  auto shifted = [&](const Tensor& t, int64_t by) {
    Dims shape = x.shape();
    shape[dim] = std::abs(by);
    const Tensor ones = full(shape, 1, x.dtype(), x.device());
    if (by > 0) return cat({ones, slice(t, dim, 0, size - by, 1)}, dim);
    return cat({slice(t, dim, -by, size + by, 1), ones}, dim);
  };
  Tensor before = shifted(x, 1), behind = shifted(x, -1);
  for (int64_t by = 1; by < size; by *= 2) {
    before = before * shifted(before, by);
    behind = behind * shifted(behind, -by);
  }
  return before * behind;
}

// The same without a graph: the product divided by the element, where that is not 0; one row kernel.
Tensor product_by_element(const Tensor& x, uint32_t axes) {
  const Tensor zero = x == 0;
  const Tensor others = where(zero, 1, x);
  const Tensor zeros = sum(cast(zero, DType::int64), axes, true);
  const Tensor product = prod(others, axes, true);
  return where(zeros == 0, product / others, where(zero, where(zeros == 1, product, 0), 0));
}

void vjp_product(Vjp& v) {
  const uint32_t axes = v.attributes<ReduceAttributes>().axes;
  const Tensor x = v.in(0);
  const Tensor g = keep(v.g, x.shape(), axes);
  if (!grad_enabled()) {
    v.result[0] = g * product_by_element(x, axes);
    return;
  }
  // The folded dimensions as one, at the end.
  Dims order, folded, back = Dims::filled(x.rank(), 0);
  for (int d = 0; d < x.rank(); ++d)
    if (!(axes >> d & 1)) order.push(d);
  const int kept = order.rank;
  for (int d = 0; d < x.rank(); ++d)
    if (axes >> d & 1) order.push(d);
  for (int d = 0; d < x.rank(); ++d) back[static_cast<int>(order[d])] = d;
  const Tensor permuted = permute(x, order);
  for (int d = 0; d < kept; ++d) folded.push(permuted.shape()[d]);
  folded.push(x.numel() ? -1 : 0);
  if (x.numel() == 0) {
    v.result[0] = x;
    return;
  }
  v.result[0] = g * permute(reshape(product_of_others(reshape(permuted, folded)), permuted.shape()), back);
}

// The gradient of a row's extreme goes to the chosen element.
void vjp_choose(Vjp& v) {
  const int dim = v.attributes<ChooseAttributes>().dim;
  const Dims shape = v.shape(0).rank ? v.shape(0) : Dims{1};
  const Tensor index = keep(v.in(1), shape, 1u << dim);
  v.result[0] = where(positions(shape, dim, v.g.device()) == index, keep(v.g, shape, 1u << dim), 0);
}

// Nothing is computed for no elements: their computation may hold indices that are out of range.
Tensor fold(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim) {
  if (x.numel()) return reduce(op, x, axes, keepdim);
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (!(axes >> d & 1) || keepdim) shape.push(axes >> d & 1 ? 1 : x.shape()[d]);
  const bool one = op.fold == Fold::product || op.fold == Fold::minimum;  // minima and maxima: of booleans
  Tensor out = full(shape, one ? 1 : 0, x.dtype(), x.device());
  record_gradient(op, out, {&x}, ReduceAttributes{axes});
  return out;
}

// Sums of booleans and int32 are int64, as in PyTorch.
Tensor widen(const Tensor& x) { return is_float(x.dtype()) ? x : cast(x, DType::int64); }

}  // namespace

namespace ops {
const OpInfo Sum{.name = "sum",
                 .doc = "The sum over dimensions; 0 when empty.",
                 .kind = Kind::reduce,
                 .arity = 1,
                 .fold = Fold::sum,
                 .vjp = vjp_sum};
const OpInfo Product{.name = "prod",
                     .doc = "The product over dimensions; 1 when empty.",
                     .kind = Kind::reduce,
                     .arity = 1,
                     .saves = kSavesA,
                     .fold = Fold::product,
                     .vjp = vjp_product};
const OpInfo Median{.name = "median",
                    .doc = "The lower of the two middle values of all elements.",
                    .kind = Kind::view,
                    .arity = 1,
                    .saves = kSavesA | kSavesOutput,
                    .vjp = vjp_extreme};
const OpInfo Choose{.name = "max",
                    .doc = "An extreme along a dimension and where it is; the gradient goes there.",
                    .kind = Kind::view,
                    .arity = 2,
                    .saves = kSavesB,
                    .vjp = vjp_choose};
const OpInfo Max{.name = "amax",
                 .doc = "The largest value over dimensions; NaN wins.",
                 .kind = Kind::reduce,
                 .arity = 1,
                 .saves = kSavesA | kSavesOutput,
                 .fold = Fold::maximum,
                 .vjp = vjp_extreme};
const OpInfo Min{.name = "amin",
                 .doc = "The smallest value over dimensions; NaN wins.",
                 .kind = Kind::reduce,
                 .arity = 1,
                 .saves = kSavesA | kSavesOutput,
                 .fold = Fold::minimum,
                 .vjp = vjp_extreme};
}  // namespace ops

uint32_t Axes::of(const char* op, const Tensor& x) const {
  if (bits_) return *bits_;
  if (dims_.rank == 0) return all_axes(x);
  uint32_t axes = 0;
  for (int64_t d : dims_) {
    const uint32_t bit = 1u << normal_axis(op, d, x.rank());
    if (axes & bit) fail<ValueError>(op, "dimension " + std::to_string(d) + " is given twice", "name each once");
    axes |= bit;
  }
  return x.rank() ? axes : 0;  // as PyTorch: a 0-d tensor has a dimension 0 to fold
}

uint32_t all_axes(const Tensor& x) { return (1u << x.rank()) - 1; }

namespace {

Tensor typed(const Tensor& x, std::optional<DType> dtype) { return dtype ? cast(x, *dtype) : x; }

// Folds of integers are wider than a type that was asked for: converted back.
Tensor fold_typed(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim, std::optional<DType> dtype) {
  return typed(fold(op, widen(typed(x, dtype)), axes, keepdim), dtype);
}

Tensor extreme(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim) {
  for (int d = 0; d < x.rank(); ++d)
    if ((axes >> d & 1) && x.shape()[d] == 0)
      fail<ValueError>(op.name, "no elements along dimension " + std::to_string(d) + " of " + x.shape().str(),
                       "check the shape first");
  if (x.dtype() == DType::boolean) return cast(fold(op, cast(x, DType::int32), axes, keepdim), DType::boolean);
  return fold(op, x, axes, keepdim);
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim, std::optional<DType> dtype) {
  return fold_typed(ops::Sum, x, axes.of("sum", x), keepdim, dtype);
}
Tensor nansum(const Tensor& x, const Axes& axes, bool keepdim, std::optional<DType> dtype) {
  return fold_typed(ops::Sum, is_float(x.dtype()) ? where(x == x, x, 0) : x, axes.of("nansum", x), keepdim, dtype);
}
Tensor prod(const Tensor& x, const Axes& axes, bool keepdim, std::optional<DType> dtype) {
  return fold_typed(ops::Product, x, axes.of("prod", x), keepdim, dtype);
}

Tensor amax(const Tensor& x, const Axes& axes, bool keepdim) {
  return extreme(ops::Max, x, axes.of("amax", x), keepdim);
}
Tensor amin(const Tensor& x, const Axes& axes, bool keepdim) {
  return extreme(ops::Min, x, axes.of("amin", x), keepdim);
}
std::vector<Tensor> aminmax(const Tensor& x, const Axes& axes, bool keepdim) {
  const uint32_t bits = axes.of("aminmax", x);
  return {amin(x, bits, keepdim), amax(x, bits, keepdim)};
}

Tensor any(const Tensor& x, const Axes& axes, bool keepdim) {
  return fold(ops::Max, cast(x, DType::boolean), axes.of("any", x), keepdim);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdim) {
  return fold(ops::Min, cast(x, DType::boolean), axes.of("all", x), keepdim);
}
Tensor count_nonzero(const Tensor& x, const Axes& axes) {
  return sum(cast(x, DType::boolean), axes.of("count_nonzero", x));
}

// ---- where extremes are ------------------------------------------------------------------------------------------------
namespace {

// The first position that holds the extreme, by two folds that fuse into one row.
Tensor place_of(const OpInfo& op, const Tensor& x, uint32_t axes, const Tensor& position, bool keepdim) {
  const Tensor best = extreme(op, x, axes, true);
  Tensor place = where(x == best, position, INT64_MAX);
  if (is_float(x.dtype())) place = where(x == x, place, position);  // a NaN is an extreme
  return fold(ops::Min, place, axes, keepdim);
}

Tensor arg_extreme(const OpInfo& op, const char* name, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  GradMode off(false);
  if (!dim) {
    if (x.numel() == 0) fail<IndexError>(name, "no elements in " + x.shape().str(), "check the shape first");
    const Tensor position = reshape(arange(0, 1, x.numel(), DType::int64, x.device()), x.shape());
    return place_of(op, x, all_axes(x), position, keepdim);
  }
  const int d = normal_axis(name, *dim, x.rank());
  if (x.rank() == 0) return full_int({}, 0, DType::int64, x.device());
  if (x.shape()[d] == 0)
    fail<IndexError>(name, "no elements along dimension " + std::to_string(d) + " of " + x.shape().str(),
                     "check the shape first");
  return place_of(op, x, 1u << d, positions(x.shape(), d, x.device()), keepdim);
}

TensorPair extreme_and_place(const OpInfo& op, const char* name, const Tensor& x, int64_t dim, bool keepdim) {
  const int d = normal_axis(name, dim, x.rank());
  const Tensor index = arg_extreme(op, name, x, dim, keepdim);
  Tensor value;
  {
    GradMode off(false);
    value = x.rank() ? extreme(op, x, 1u << d, keepdim) : clone(x);
  }
  record_gradient(ops::Choose, value, {&x, &index}, ChooseAttributes{d});
  return {value, index};
}

}  // namespace

Tensor positions(const Dims& shape, int dim, DeviceId device) {
  Dims along = Dims::filled(shape.rank, 1);
  along[dim] = shape[dim];
  return reshape(arange(0, 1, shape[dim], DType::int64, device), along);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme(ops::Max, "argmax", x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme(ops::Min, "argmin", x, dim, keepdim);
}
TensorPair max(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_and_place(ops::Max, "max", x, dim, keepdim);
}
TensorPair min(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_and_place(ops::Min, "min", x, dim, keepdim);
}

// Undoes broadcasting: sums over the dimensions that `shape` does not have.
Tensor sum_to(const Tensor& x, const Dims& shape) {
  uint32_t axes = 0;
  const int extra = x.rank() - shape.rank;
  for (int d = 0; d < x.rank(); ++d)
    if (d < extra || (shape[d - extra] == 1 && x.shape()[d] != 1)) axes |= 1u << d;
  return axes ? reshape(sum(x, axes, true), shape) : x;
}

}  // namespace sg
