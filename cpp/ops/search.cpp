// Places in sorted rows, and what is made of them: searching, distinct values, membership, counts. Knows no search: it
// is a launch of ops/order.hpp.
#include <algorithm>

#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"
#include "ops/order.hpp"

namespace sg {
namespace {

struct SearchParameters {
  int64_t n, each;  // keys of a row, values that are looked for in it
  int64_t own_row, behind;
};

void expand_search(const Node& node, bool gpu, Expansion& e) {
  const auto [n, each, own_row, behind] = node.parameters.as<SearchParameters>();
  Keys keys{.dtype = node.in[0].dtype, .rows = node.numel / each, .n = n};
  keys.end = static_cast<int>(8 * size_of(keys.dtype));
  search_launches(e, keys, gpu, each, own_row != 0, behind != 0, 0, 1, e.result());
}

Tensor flat(const Tensor& x) { return reshape(x, {x.numel()}); }
Tensor take_flat(const Tensor& x, const Tensor& at) { return take_rows(x, 1, at); }

DType searchable(DType t) { return t == DType::boolean ? DType::int32 : wide_of(t); }

}  // namespace

namespace ops {
const OpInfo Search{.name = "searchsorted",
                    .doc = "Where values belong in sorted rows.",
                    .kind = Kind::kernel,
                    .arity = 2,
                    .expand = expand_search,
                    .repeats = true};
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values0, bool out_int32, bool right,
                    const std::optional<std::string>& side, const std::optional<Tensor>& sorter) {
  if (sorter) {
    if (!(sorter->shape() == sorted.shape()))
      fail<ValueError>("searchsorted",
                       "sorter " + sorter->shape().str() + " does not fit the sequence " + sorted.shape().str(),
                       "give one place an element, as argsort() does");
    return searchsorted(gather(sorted.detach(), -1, *sorter), values0, out_int32, right, side);
  }
  if (side && *side != "left" && *side != "right")
    fail<ValueError>("searchsorted", "side '" + *side + "' is unknown", "use 'left' or 'right'");
  if (side && *side == "left" && right)
    fail<ValueError>("searchsorted", "side is 'left' and right is True", "give one of them");
  const bool behind = right || (side && *side == "right");
  const DType out = out_int32 ? DType::int32 : DType::int64;
  const DType type = searchable(
      values0.is_number() ? (is_float(values0.dtype()) && !is_float(sorted.dtype()) ? default_float() : sorted.dtype())
                          : promote(sorted.dtype(), values0.dtype()));
  const Tensor values =
      values0.is_number() ? full({}, 0, type, sorted.device()) + values0 : cast(values0.detach(), type);
  const int64_t n = sorted.rank() ? sorted.shape()[sorted.rank() - 1] : 1;
  const bool own_row = sorted.rank() > 1;
  if (own_row) {
    Dims want = sorted.shape();
    if (values.rank() == want.rank) want[want.rank - 1] = values.shape()[want.rank - 1];
    if (!(values.shape() == want))
      fail<ValueError>("searchsorted",
                       "values " + values.shape().str() + " do not fit the sorted rows " + sorted.shape().str(),
                       "give them the same dimensions but the last, or one sorted row");
  }
  if (n > INT32_MAX) fail<LimitError>("searchsorted", "more than 2147483647 elements in a row", "search parts of it");
  if (n == 0 || values.numel() == 0) return full_int(values.shape(), 0, out, sorted.device());
  const int64_t each = own_row ? values.shape()[values.rank() - 1] : values.numel();
  const Tensor at = custom_kernel(ops::Search, {contiguous(cast(sorted.detach(), type)), contiguous(values)},
                                  values.shape(), DType::int32, SearchParameters{n, each, own_row, behind});
  return cast(at, out);
}

Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right) {
  if (boundaries.rank() != 1)
    fail<ValueError>("bucketize", "boundaries have shape " + boundaries.shape().str(), "give one dimension");
  return searchsorted(boundaries, x, out_int32, right, std::nullopt);
}

Tensor isin(const Tensor& elements, const Tensor& test, bool, bool invert) {
  if (elements.is_number() && test.is_number())
    fail<TypeError>("isin", "two numbers", "make one of them a tensor with sg.tensor()");
  if (test.is_number()) return invert ? elements.detach() != test : elements.detach() == test;
  const DType type = searchable(promote(elements.dtype(), test.dtype()));
  const int64_t n = test.numel();
  if (n == 0) return full_int(elements.shape(), invert, DType::boolean, elements.device());
  const Tensor known = sort(cast(flat(test.detach()), type), 0, false, true).first;
  const Tensor x = cast(elements.detach(), type);
  const Tensor at = searchsorted(known, x, false, false, std::nullopt);
  const Tensor found = take_flat(known, minimum(at, Tensor(n - 1)));
  return invert ? found != x : found == x;
}

// ---- distinct values -----------------------------------------------------------------------------------------------------
namespace {

// All distinct elements of x in order, or, not `sorted`, the first of each run of equal ones. The functions take how many
// there are.
struct Distinct {
  Tensor x, order, cuts, count;
  Dims shape;
  Tensor values(int64_t n) const;
  Tensor counts(int64_t n) const;
  Tensor inverse(int64_t n) const;
};

// A cut at each element that differs from the one before; the cuts' places come first in the order of this flag.
Distinct distinct(const Tensor& x0, bool sorted) {
  Distinct d;
  d.shape = x0.shape();
  d.x = flat(x0.detach());
  const int64_t n = d.x.numel();
  if (sorted) {
    d.order = cast(sort_order(d.x, false), DType::int64);
    d.x = take_flat(d.x, d.order);
  }
  if (n == 0) {
    d.cuts = full_int({0}, 0, DType::int64, x0.device());
    d.count = full_int({}, 0, DType::int64, x0.device());
    return d;
  }
  const Tensor differs = slice(d.x, 0, 1, n - 1, 1) != slice(d.x, 0, 0, n - 1, 1);
  const Tensor cut = cat({full_int({1}, 1, DType::boolean, x0.device()), differs});
  d.cuts = cast(sort_order(cut, true), DType::int64);
  d.count = sum(cut);
  return d;
}

Tensor Distinct::values(int64_t n) const { return take_flat(x, slice(cuts, 0, 0, n, 1)); }

Tensor Distinct::counts(int64_t n) const {
  if (n == 0) return cuts;
  const Tensor begin = slice(cuts, 0, 0, n, 1);
  return cat({slice(cuts, 0, 1, n - 1, 1), full_int({1}, x.numel(), DType::int64, x.device())}) - begin;
}

Tensor Distinct::inverse(int64_t n) const {
  if (n == 0) return full_int(shape, 0, DType::int64, x.device());
  const Tensor at = arange(0, 1, x.numel(), DType::int64, x.device());
  const Tensor number = searchsorted(slice(cuts, 0, 0, n, 1), at, false, true, std::nullopt) - Tensor(1);
  return reshape(order ? put_rows(number, 1, order, number) : number, shape);
}

OneOrSeveral with_details(Tensor values, const Distinct& d, int64_t n, bool inverse, bool counts) {
  if (!inverse && !counts) return values;
  std::vector<Tensor> out = {std::move(values)};
  if (inverse) out.push_back(d.inverse(n));
  if (counts) out.push_back(d.counts(n));
  return out;
}

// The place of each element among the distinct ones in order.
Tensor ranks(const Tensor& x) {
  const Distinct d = distinct(x, true);
  return d.inverse(read_now(d.count));
}

// One number for each row, in the order of rows compared element by element: pairs of columns are numbered until one is
// left.
Tensor numbers_of_rows(const Tensor& rows) {
  if (rows.shape()[1] == 0) return full_int({rows.shape()[0]}, 0, DType::int64, rows.device());
  Tensor r = ranks(rows);
  while (r.shape()[1] > 1) {
    const int64_t pairs = r.shape()[1] / 2;
    const Tensor both = slice(r, 1, 0, pairs, 2) * Tensor(r.numel()) + slice(r, 1, 1, pairs, 2);
    r = ranks(r.shape()[1] % 2 ? cat({both, slice(r, 1, 2 * pairs, 1, 1)}, 1) : both);
  }
  return flat(r);
}

OneOrSeveral read_distinct(const char* op, const Tensor& x, bool sorted, bool inverse, bool counts,
                           std::optional<int64_t> dim) {
  if (!dim) {
    const Distinct d = distinct(x, sorted);
    const int64_t n = read_now(d.count);
    return with_details(d.values(n), d, n, inverse, counts);
  }
  const int axis = normal_axis(op, *dim, x.rank());
  const int64_t size = x.rank() ? x.shape()[axis] : 1;
  Dims order = {axis};
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order.push(i);
  const Tensor whole = x.detach(), permuted = x.rank() ? permute(whole, order) : whole;
  const Distinct d = distinct(numbers_of_rows(reshape(permuted, {size, size ? x.numel() / size : 0})), sorted);
  const int64_t n = read_now(d.count);
  const Tensor first = slice(d.cuts, 0, 0, n, 1);
  const Tensor rows = d.order ? take_flat(d.order, first) : first;
  return with_details(x.rank() ? index_select(whole, axis, rows) : whole, d, n, inverse, counts);
}

}  // namespace

OneOrSeveral unique(const Tensor& x, bool, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  return read_distinct("unique", x, true, return_inverse, return_counts, dim);
}

OneOrSeveral unique_consecutive(const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  return read_distinct("unique_consecutive", x, false, return_inverse, return_counts, dim);
}

// ---- counts ----------------------------------------------------------------------------------------------------------------
namespace {

// How long the result is: the largest of the numbers and one, at least `least`.
int64_t bins(const Tensor& x, int64_t least) {
  if (x.numel() == 0) return least;
  const Tensor wide = cast(x.detach(), DType::int64);
  const Tensor lowest = amin(wide, {0}), highest = amax(wide, {0});
  const int64_t low = read_now(lowest);
  if (low < 0) fail<ValueError>("bincount", "the input has " + std::to_string(low), "use numbers of 0 or more");
  return std::max(least, plus("bincount", read_now(highest), 1));
}

}  // namespace

Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights, int64_t minlength) {
  if (x.rank() != 1 || is_float(x.dtype()) || x.dtype() == DType::boolean)
    fail<TypeError>("bincount", std::string("input is ") + name_of(x.dtype()) + " " + x.shape().str(),
                    "give integers of one dimension");
  if (minlength < 0)
    fail<ValueError>("bincount", "minlength " + std::to_string(minlength) + " is negative", "use 0 or more");
  if (weights && !(weights->shape() == x.shape()))
    fail<ValueError>("bincount",
                     "weights " + weights->shape().str() + " and input " + x.shape().str() + " have different shapes",
                     "give one weight an element");
  const int64_t count = bins(x, minlength);
  const Tensor rows = cast(x.detach(), DType::int64);
  if (!weights) return reshape(add_rows(count, rows, full_int({x.numel(), 1}, 1, DType::int64, x.device())), {count});
  const DType type = weights->dtype() == DType::float32 ? DType::float32 : DType::float64;
  return reshape(add_rows(count, rows, reshape(cast(*weights, type).detach(), {x.numel(), 1})), {count});
}

}  // namespace sg
