// Sorting, and what is made of it. The order is a kernel (ops/order.hpp); values are gathered through it, so gradients
// of any order go to the chosen elements.
#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"
#include "ops/order.hpp"

namespace sg {
namespace {

struct OrderParameters {
  int64_t n;           // elements of a row
  int32_t begin, end;  // the bits that count
  int64_t descending;
};

void expand_order(const Node& node, bool gpu, Expansion& e) {
  const auto [n, begin, end, descending] = node.parameters.as<OrderParameters>();
  order_launches(e,
                 {.dtype = node.in[0].dtype,
                  .rows = node.numel / n,
                  .n = n,
                  .begin = begin,
                  .end = end,
                  .descending = descending != 0},
                 gpu, 0, e.result());
}

struct SelectParameters {
  int64_t n, k;  // elements of a row, and how many of them are selected
  int64_t end;   // the bits that count
  int64_t descending;
};

void expand_select(const Node& node, bool gpu, Expansion& e) {
  const auto [n, k, end, descending] = node.parameters.as<SelectParameters>();
  select_launches(e,
                  {.dtype = node.in[0].dtype,
                   .rows = node.numel / k,
                   .n = n,
                   .end = static_cast<int>(end),
                   .descending = descending != 0},
                  gpu, k, 0, e.result());
}

// A tensor in a type that can be sorted, and which of its bits count.
struct Sortable {
  Tensor x;
  int begin = 0, end = 32;
};
Sortable sortable(const char* op, const Tensor& x0) {
  const Tensor x = x0.detach();
  if (x.rank() && x.shape()[x.rank() - 1] > INT32_MAX)
    fail<LimitError>(op, "more than 2147483647 elements in a row", "sort parts of it");
  const auto as = [&](DType type, int64_t bias) {
    const Tensor y = cast(x, type);
    return contiguous(bias ? y + Tensor(bias) : y);
  };
  switch (x.dtype()) {
    case DType::boolean:
      return {as(DType::int32, 0), 0, 1};
    case DType::uint8:
      return {as(DType::int32, 0), 0, 8};
    case DType::int8:
      return {as(DType::int32, 1 << 7), 0, 8};
    case DType::int16:
      return {as(DType::int32, 1 << 15), 0, 16};
    case DType::float16:
      return {as(DType::float32, 0), 13, 32};
    case DType::bfloat16:
      return {as(DType::float32, 0), 16, 32};
    default:
      return {contiguous(x), 0, static_cast<int>(8 * size_of(x.dtype()))};
  }
}

}  // namespace

namespace ops {
const OpInfo Order{.name = "sort",
                   .doc = "The stable order of each row.",
                   .kind = Kind::kernel,
                   .arity = 1,
                   .expand = expand_order,
                   .repeats = true};
const OpInfo Select{.name = "topk",
                    .doc = "The places of the first elements of each row's order.",
                    .kind = Kind::kernel,
                    .arity = 1,
                    .expand = expand_select};
}  // namespace ops

Tensor sort_order(const Tensor& x, bool descending) {
  if (x.numel() == 0) return full_int(x.shape(), 0, DType::int32, x.device());
  const Sortable s = sortable("sort", x);
  const int64_t n = x.rank() ? x.shape()[x.rank() - 1] : 1;
  return custom_kernel_once(ops::Order, s.x, x.shape(), DType::int32, OrderParameters{n, s.begin, s.end, descending});
}

namespace {

// x with dimension `dim` last; a 0-d tensor as [1].
struct Last {
  Tensor x;
  int dim;
  Last(const char* op, const Tensor& x0, int64_t dim0) : x(x0.rank() ? x0 : reshape(x0, {1})) {
    dim = normal_axis(op, dim0, x.rank());
    x = move_dim(x, dim, x.rank() - 1);
  }
  int64_t n() const { return x.shape()[x.rank() - 1]; }
  // The elements at `places` (of the last dimension) with where they are, in the order of dimensions of x0.
  TensorPair chosen(const Tensor& x0, const Tensor& places, bool keepdim = true) const {
    Tensor index = move_dim(cast(places, DType::int64), x.rank() - 1, dim);
    Tensor values = gather(x0.rank() ? x0 : reshape(x0, {1}), dim, index);
    if (x0.rank() == 0 && places.numel() == 0) return {clone(x0), full_int({}, 0, DType::int64, x0.device())};
    if (x0.rank() == 0) return {reshape(values, {}), reshape(index, {})};
    if (!keepdim) return {squeeze(values, dim), squeeze(index, dim)};
    return {values, index};
  }
};

// The places of the first k in the order of the last dimension.
Tensor first_places(const Tensor& x, int64_t k, bool descending, bool sorted) {
  const int last = x.rank() - 1;
  const int64_t n = x.shape()[last];
  constexpr int64_t kShort = 4096;  // sorted in one launch
  if (n <= kShort || k > n / 8 || x.numel() == 0 || k == 0) return slice(sort_order(x, descending), last, 0, k, 1);
  const Sortable s = sortable("topk", x);
  Dims shape = x.shape();
  shape[last] = k;
  const Tensor places =
      custom_kernel(ops::Select, {s.x}, shape, DType::int32, SelectParameters{n, k, s.end, descending});
  if (!sorted) return places;
  const Tensor at = cast(places, DType::int64);
  return gather(places, last, cast(sort_order(gather(x.detach(), last, at), descending), DType::int64));
}

void check_not_empty(const char* op, int64_t n) {
  if (n == 0) fail<IndexError>(op, "the dimension has no elements", "check the shape first");
}

}  // namespace

TensorPair sort(const Tensor& x, int64_t dim, bool descending, bool) {
  const Last l("sort", x, dim);
  return l.chosen(x, sort_order(l.x, descending));
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool) {
  const Last l("argsort", x, dim);
  const Tensor order = cast(move_dim(sort_order(l.x, descending), l.x.rank() - 1, l.dim), DType::int64);
  return x.rank() ? order : reshape(order, {});
}

Tensor msort(const Tensor& x) { return sort(x, 0, false, true).first; }

TensorPair topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) {
  const Last l("topk", x, dim);
  if (k < 0 || k > l.n())
    fail<ValueError>("topk", "k = " + std::to_string(k) + " of " + std::to_string(l.n()) + " elements",
                     "give a k from 0 to the size of the dimension");
  return l.chosen(x, first_places(l.x, k, largest, sorted));
}

TensorPair kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  const Last l("kthvalue", x, dim);
  check_not_empty("kthvalue", l.n());
  if (k < 1 || k > l.n())
    fail<ValueError>("kthvalue", "k = " + std::to_string(k) + " of " + std::to_string(l.n()) + " elements",
                     "give a k from 1 to the size of the dimension");
  return l.chosen(x, slice(first_places(l.x, k, false, true), l.x.rank() - 1, k - 1, 1, 1), keepdim);
}

namespace {

Tensor quantile_of(const char* op, const Tensor& x0, const Tensor& q0, const std::optional<int64_t>& dim, bool keepdim,
                   const std::string& how, bool leave_out_nan) {
  if (x0.dtype() != DType::float32 && x0.dtype() != DType::float64)
    fail<TypeError>(op, std::string("input is ") + name_of(x0.dtype()), "use float32 or float64");
  if (!q0.is_number() && q0.rank() > 1)
    fail<ValueError>(op, "q has shape " + q0.shape().str(), "give a number or one dimension");
  if (how != "linear" && how != "lower" && how != "higher" && how != "nearest" && how != "midpoint")
    fail<ValueError>(op, "interpolation '" + how + "' is unknown", "use linear, lower, higher, nearest or midpoint");
  const Tensor q =
      q0.is_number() ? full({}, 0, x0.dtype(), x0.device()) + q0 : cast(how == "linear" ? q0 : q0.detach(), x0.dtype());
  if (x0.numel() == 0) fail<ValueError>(op, "no elements in " + x0.shape().str(), "check the shape first");
  if (q0.is_number() && !(value_of(q0) >= 0 && value_of(q0) <= 1))
    fail<ValueError>(op, "q is " + std::to_string(value_of(q0)), "give a number from 0 to 1");
  const Tensor x = dim ? x0 : reshape(x0, {x0.numel()});
  const Last l(op, x, dim.value_or(0));
  const int last = l.x.rank() - 1;
  const Tensor order = cast(sort_order(l.x, false), DType::int64);  // NaN come last
  const Tensor sorted = gather(l.x, last, order), nan = isnan(l.x.detach());
  // Among n elements without NaN: element q * (n - 1).
  const Tensor numbers = cast(sum(Tensor(1) - cast(nan, DType::int64), 1u << last, true), x.dtype());
  Tensor rank =
      reshape(q, {q.numel()}) * (leave_out_nan ? maximum(numbers - 1, Tensor(0)) : numbers * 0 + Tensor(l.n() - 1));
  if (!leave_out_nan) rank = where(numbers < Tensor(l.n()), Tensor(l.n() - 1), rank);
  if (how == "lower") rank = floor(rank);
  if (how == "higher") rank = ceil(rank);
  if (how == "nearest") rank = round(rank);
  const Tensor below = floor(rank.detach());
  const Tensor places = cast(cat({below, ceil(rank.detach())}, last), DType::int64),
               both = gather(sorted, last, places);
  const Tensor low = slice(both, last, 0, q.numel(), 1), high = slice(both, last, q.numel(), q.numel(), 1);
  Tensor out = how == "midpoint" ? where(below == rank, low, lerp(low, high, 0.5))
                                 : where(below == rank, low, lerp(low, high, rank - below));
  const bool kept = keepdim && x0.rank() != 0;
  if (q.rank()) {  // [..., q] -> [q, ...]
    out = move_dim(out, last, 0);
    if (kept) out = unsqueeze(out, l.dim + 1);
  } else {  // [..., 1], the folded dimension
    out = move_dim(out, last, l.dim);
    if (!kept) out = squeeze(out, l.dim);
  }
  if (!keepdim || dim) return out;
  Dims shape;
  if (q.rank()) shape.push(q.numel());
  for (int d = 0; d < x0.rank(); ++d) shape.push(1);
  return reshape(out, shape);
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, const std::optional<int64_t>& dim, bool keepdim,
                const std::string& how) {
  return quantile_of("quantile", x, q, dim, keepdim, how, false);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, const std::optional<int64_t>& dim, bool keepdim,
                   const std::string& how) {
  return quantile_of("nanquantile", x, q, dim, keepdim, how, true);
}

}  // namespace sg
