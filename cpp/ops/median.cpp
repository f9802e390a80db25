// Medians: the lower of the two middle values of a sorted row. Knows no sorting: ops/order.hpp does.
#include <limits>

#include "base/error.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// Where the median of each row of the last dimension is: [...]. A NaN is the median, unless NaN are left out.
Tensor middle(const Tensor& x, bool leave_out_nan) {
  const int last = x.rank() - 1;
  const int64_t size = x.shape()[last];
  const Tensor order = cast(sort_order(x, false), DType::int64);  // NaN come last
  if (!is_float(x.dtype())) return select(order, last, (size - 1) / 2);
  const Tensor nan = x != x;
  if (leave_out_nan) {
    const Tensor numbers = sum(x == x, 1u << last, true);
    const Tensor rank = floor_divide(where(numbers == 0, 0, numbers - 1), Tensor(2));
    return squeeze(gather(order, last, rank), last);
  }
  return where(any(nan, 1u << last), argmax(x, last), select(order, last, (size - 1) / 2));
}

}  // namespace

TensorPair median(const Tensor& x, int64_t dim, bool keepdim, bool leave_out_nan) {
  const int d = normal_axis("median", dim, x.rank());
  if (x.rank() && x.shape()[d] == 0)
    fail<IndexError>("median", "no elements along dimension " + std::to_string(d) + " of " + x.shape().str(),
                     "check the shape first");
  Tensor value, index;
  {
    GradMode off(false);
    index = x.rank() ? unsqueeze(middle(move_dim(x, d, x.rank() - 1), leave_out_nan), d)
                     : full_int({}, 0, DType::int64, x.device());
    value = x.rank() ? gather(x, d, index) : clone(x);
    if (!keepdim && x.rank()) {
      index = squeeze(index, d);
      value = squeeze(value, d);
    }
  }
  record_gradient(ops::Choose, value, {&x, &index}, ChooseAttributes{d});
  return {value, index};
}

// Elements equal to the median share the gradient.
Tensor median(const Tensor& x, bool leave_out_nan) {
  if (x.numel() == 0 && !is_float(x.dtype()))
    fail<ValueError>("median", "no elements in " + x.shape().str(), "check the shape first");
  Tensor value;
  {
    GradMode off(false);
    value = x.numel() ? clone(median(reshape(x, {-1}), 0, false, leave_out_nan).first)
                      : full({}, std::numeric_limits<double>::quiet_NaN(), x.dtype(), x.device());
  }
  record_gradient(ops::Median, value, {&x}, ReduceAttributes{all_axes(x)});
  return value;
}

}  // namespace sg
