// Folds over dimensions, and what is made of them.
#include "base/error.hpp"
#include "ops/list.hpp"
#include "ops/rows.hpp"

namespace sg {
namespace {

// Gives the folded dimensions back as size 1, so that the tensor broadcasts against the input.
Tensor keep(const Tensor& x, const Dims& full, uint32_t axes) {
  Dims shape = full;
  for (int d = 0; d < full.rank; ++d)
    if (axes >> d & 1) shape[d] = 1;
  return reshape(x, shape);
}

void vjp_sum(Vjp& v) { v.result[0] = expand(keep(v.g, v.attributes().a, v.attributes().axes), v.attributes().a); }

// Elements equal to the extreme share the gradient evenly, as in PyTorch's amax.
void vjp_extreme(Vjp& v) {
  const uint32_t axes = v.attributes().axes;
  const Tensor x = v.in(0);
  const Tensor hit = x == keep(v.out(), x.shape(), axes);
  const Tensor share = keep(v.g, x.shape(), axes) / sum(cast(hit, x.dtype()), axes, true);
  v.result[0] = where(hit, share, 0);
}

// Sums of booleans and int32 are int64, as in PyTorch.
Tensor widen(const Tensor& x) { return is_float(x.dtype()) ? x : cast(x, DType::int64); }

}  // namespace

namespace rows {
const OpInfo Sum{.name = "sum",
                 .doc = "The sum over dimensions; 0 when empty.",
                 .kind = Kind::reduce,
                 .arity = 1,
                 .fold = Fold::sum,
                 .vjp = vjp_sum};
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
}  // namespace rows

uint32_t all_axes(const Tensor& x) { return (1u << x.rank()) - 1; }

Tensor sum(const Tensor& x, uint32_t axes, bool keepdim) { return reduce(rows::Sum, widen(x), axes, keepdim); }
Tensor sum(const Tensor& x) { return sum(x, all_axes(x)); }

Tensor mean(const Tensor& x, uint32_t axes, bool keepdim) {
  int64_t count = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (axes >> d & 1) count *= x.shape()[d];
  const Tensor real = is_float(x.dtype()) ? x : cast(x, DType::float32);
  return sum(real, axes, keepdim) / static_cast<double>(count);
}
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }

namespace {
Tensor extreme(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim) {
  for (int d = 0; d < x.rank(); ++d)
    if ((axes >> d & 1) && x.shape()[d] == 0)
      fail<ValueError>(op.name, "no elements along dimension " + std::to_string(d) + " of " + x.shape().str(),
                       "check the shape first");
  if (x.dtype() == DType::boolean) return cast(reduce(op, cast(x, DType::int32), axes, keepdim), DType::boolean);
  return reduce(op, x, axes, keepdim);
}
}  // namespace
Tensor amax(const Tensor& x, uint32_t axes, bool keepdim) { return extreme(rows::Max, x, axes, keepdim); }
Tensor amin(const Tensor& x, uint32_t axes, bool keepdim) { return extreme(rows::Min, x, axes, keepdim); }

// Undoes broadcasting: sums whatever `shape` does not have.
Tensor sum_to(const Tensor& x, const Dims& shape) {
  uint32_t axes = 0;
  const int extra = x.rank() - shape.rank;
  for (int d = 0; d < x.rank(); ++d)
    if (d < extra || (shape[d - extra] == 1 && x.shape()[d] != 1)) axes |= 1u << d;
  return axes ? reshape(sum(x, axes, true), shape) : x;
}

}  // namespace sg
