// Rows of one tensor folded into numbered rows of another: sums, products, extremes. On a GPU, numbers are sorted and
// runs of equal ones folded (shaders/fold_runs.glsl). Always in the order of the values, so results are the same in
// every run.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"
#include "ops/order.hpp"

namespace sg {
namespace {

template <Fold fold, class T>
constexpr T nothing() {
  using Limits = std::numeric_limits<T>;
  if (fold == Fold::sum) return 0;
  if (fold == Fold::product) return 1;
  if (Limits::has_infinity) return fold == Fold::maximum ? -Limits::infinity() : Limits::infinity();
  return fold == Fold::maximum ? Limits::lowest() : Limits::max();
}

// Twin of `combine` in shaders/fold_runs.glsl: NaN wins; integers wrap.
template <Fold fold, class T>
T combine(T a, T b) {
  if constexpr (fold == Fold::maximum) return a > b || a != a ? a : b;
  if constexpr (fold == Fold::minimum) return a < b || a != a ? a : b;
  if constexpr (std::is_integral_v<T>) {
    const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
    return static_cast<T>(fold == Fold::sum ? u + v : u * v);
  }
  return fold == Fold::sum ? a + b : a * b;
}

template <Fold fold, class T>
void fold_row(T* __restrict result, const T* __restrict x, int64_t n) {
  constexpr int64_t kTogether = 16;  // a loop of known length becomes vectors
  int64_t c = 0;
  for (; c + kTogether <= n; c += kTogether)
    for (int64_t j = c; j < c + kTogether; ++j) result[j] = combine<fold>(result[j], x[j]);
  for (; c < n; ++c) result[c] = combine<fold>(result[c], x[c]);
}

// Each thread has its own columns; where there are few columns, one thread does everything.
template <Fold fold, class T>
void fold_on_cpu(const CpuArgs& args) {
  const int64_t *row = args.as<const int64_t>(0), count = args.words[0], values = args.words[1], width = args.words[2];
  const T* from = args.as<const T>(1);
  T* to = args.as<T>(2);
  args.parallel(count * width, 1 << 18,
                [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, nothing<fold, T>()); });
  const int64_t grain = std::max<int64_t>(64, (width + 7) / 8);
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T)), kAhead = 8;
  if (width == 1) {
    for (int64_t i = 0; i < values; ++i) to[row[i]] = combine<fold>(to[row[i]], from[i]);
    return;
  }
  args.parallel(width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < values; ++i) {
      if (i + kAhead < values)  // no processor foresees where rows lie
        for (int64_t c = begin; c < end; c += kLine) {
          __builtin_prefetch(to + row[i + kAhead] * width + c, 1);
          __builtin_prefetch(from + (i + kAhead) * width + c);
        }
      fold_row<fold>(to + row[i] * width + begin, from + i * width + begin, end - begin);
    }
  });
}

// On a GPU: rows [m] -> [2, m], int32: their order, and the rows in it.
void expand_order(const Node& node, bool gpu, Expansion& e) {
  const auto end = static_cast<int>(node.parameters.words[0]);
  order_launches(e, {.dtype = DType::int64, .rows = 1, .n = node.domain.numel(), .end = end}, gpu, 0, e.result(), true);
}
const OpInfo kRowOrder{.name = "row_order",
                       .doc = "The stable order of row numbers.",
                       .kind = Kind::kernel,
                       .arity = 1,
                       .expand = expand_order,
                       .repeats = true};

Tensor row_order(const Tensor& rows, int64_t count) {
  const int64_t bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1))));
  return custom_kernel_once(kRowOrder, rows, {2, rows.numel()}, DType::int32, bits);
}

struct FoldParameters {
  int64_t count, values, width;  // rows of the result, rows that are folded, elements of a row
};

template <Fold fold>
void expand_fold(const Node& node, bool gpu, Expansion& e) {
  const auto [count, values, width] = node.parameters.as<FoldParameters>();
  if (gpu) return fold_rows_launches(e, node.op->name, fold, node.dtype, count, values, width, 0, 1, e.result());
  CustomKernel& custom = e.launch(node.op->name);
  custom.tensors = {{0, DType::int64}, {1, node.dtype}, {e.result(), node.dtype, true}};
  custom.words = {count, values, width};
  custom.cpu = node.dtype == DType::float32   ? fold_on_cpu<fold, float>
               : node.dtype == DType::float64 ? fold_on_cpu<fold, double>
               : node.dtype == DType::int32   ? fold_on_cpu<fold, int32_t>
                                              : fold_on_cpu<fold, int64_t>;
}

// rows [m], values [m, width] of a wide type -> [count, width]: the fold of what came to a row. Records nothing.
Tensor folded(const OpInfo& op, int64_t count, const Tensor& rows, const Tensor& values) {
  const GradMode off(false);
  const int64_t width = values.shape()[1];
  const DType dtype = values.dtype();
  if (rows.device().is_gpu() && (rows.numel() > INT32_MAX || count >= UINT32_MAX))
    fail<LimitError>(op.name, std::to_string(rows.numel()) + " rows folded into " + std::to_string(count),
                     "use parts of it: at most 2147483647 rows into 4294967294");
  const Tensor places = rows.device().is_gpu() ? row_order(contiguous(rows), count) : contiguous(rows);
  return custom_kernel(op, {places, contiguous(values.detach())}, {count, width}, dtype,
                       FoldParameters{count, rows.numel(), width});
}

Tensor multiply_rows(int64_t count, const Tensor& rows, const Tensor& values) {
  Tensor out = folded(ops::MultiplyRows, count, rows, values);
  record_gradient(ops::MultiplyRows, out, {&values, &rows});
  return out;
}

Tensor at_rows(const Tensor& x, const Tensor& rows) { return take_rows(x, 1, rows); }

// For each of the values [m, width], the product of the others of its row, by doubling along the values in order of
// their rows: right for zeros and for derivatives of any order.
Tensor product_of_others(const Tensor& x, const Tensor& rows) {
  const Tensor order = cast(sort_order(rows, false), DType::int64);
  const Tensor number = take_rows(rows, 1, order, true), sorted = take_rows(x, 1, order, true);
  const int64_t m = x.shape()[0];
  // The value `by` places before, or behind, of the same row; else 1.
  const auto shifted = [&](const Tensor& t, int64_t by) {
    const int64_t kept = m - std::abs(by);
    const auto cut = [&](const Tensor& y, bool from_end) { return slice(y, 0, from_end ? m - kept : 0, kept, 1); };
    const Tensor same = unsqueeze(cut(number, false) == cut(number, true), 1);
    const Tensor inside = where(same, cut(t, by < 0), 1);
    const Tensor ones = full({m - kept, x.shape()[1]}, 1, x.dtype(), x.device());
    return by > 0 ? cat({ones, inside}, 0) : cat({inside, ones}, 0);
  };
  Tensor before = shifted(sorted, 1), behind = shifted(sorted, -1);
  for (int64_t by = 1; by < m; by *= 2) {
    before = before * shifted(before, by);
    behind = behind * shifted(behind, -by);
  }
  return put_rows(full(x.shape(), 0, x.dtype(), x.device()), 1, order, before * behind, true);
}

// The product of the other elements: without a graph, that of all divided by the element where it is not 0; also right
// for a single zero.
void vjp_multiply(Vjp& v) {
  const Tensor x = v.in(0), rows = v.in(1), zero = x == 0;
  if (grad_enabled()) {
    v.result[0] = at_rows(v.g, rows) * product_of_others(x, rows);
    return;
  }
  const int64_t count = v.g.shape()[0];
  const Tensor rest = where(zero, 1, x), is_zero = cast(zero, DType::int32);
  const Tensor other_zeros = at_rows(add_rows(count, rows, is_zero), rows) - is_zero;
  const Tensor others = at_rows(multiply_rows(count, rows, rest), rows) / rest;
  v.result[0] = at_rows(v.g, rows) * where(other_zeros == 0, others, 0);
}

// Equal elements share the gradient evenly.
void vjp_extreme(Vjp& v) {
  const Tensor y = v.out(), rows = v.in(2);
  const Tensor self = v.in(0) == y, other = v.in(1) == at_rows(y, rows);
  const DType type = y.dtype();
  const Tensor equal = cast(self, type) + add_rows(y.shape()[0], rows, cast(other, type));
  const Tensor share = v.g / maximum(equal, 1);
  if (v.needs(0)) v.result[0] = where(self, share, 0);
  if (v.needs(1)) v.result[1] = where(other, at_rows(share, rows), 0);
}

template <Fold fold>
constexpr OpInfo fold_row(const char* name, const char* doc, int arity, uint8_t saves, void (*vjp)(Vjp&)) {
  return {.name = name,
          .doc = doc,
          .kind = Kind::kernel,
          .arity = arity,
          .saves = saves,
          .fold = fold,
          .vjp = vjp,
          .expand = expand_fold<fold>};
}

void vjp_add(Vjp& v) { v.result[0] = at_rows(v.g, v.in(1)); }

}  // namespace

namespace ops {
const OpInfo AddRows =
    fold_row<Fold::sum>("add_rows", "Zeros, to whose rows the given rows are added.", 2, kSavesB, vjp_add);
const OpInfo MultiplyRows = fold_row<Fold::product>(
    "multiply_rows", "Ones, whose rows are multiplied by the given rows.", 2, kSavesA | kSavesB, vjp_multiply);
const OpInfo MaxRows =
    fold_row<Fold::maximum>("max_rows", "The largest of a tensor's rows and the rows given for each.", 3,
                            kSavesA | kSavesB | kSavesC | kSavesOutput, vjp_extreme);
const OpInfo MinRows =
    fold_row<Fold::minimum>("min_rows", "The smallest of a tensor's rows and the rows given for each.", 3,
                            kSavesA | kSavesB | kSavesC | kSavesOutput, vjp_extreme);
}  // namespace ops

namespace {

Tensor extreme_rows(const OpInfo& op, const Tensor& x, const Tensor& rows, const Tensor& values) {
  Tensor out;
  {
    const GradMode off(false);
    const Tensor found = folded(op, x.shape()[0], rows, values);
    out = op.fold == Fold::maximum ? maximum(x.detach(), found) : minimum(x.detach(), found);
  }
  record_gradient(op, out, {&x, &values, &rows});
  return out;
}

// The value that never changes an extreme of this type.
Tensor lowest(DType t, bool highest) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_float(t)) return Tensor(highest ? infinity : -infinity);
  if (t == DType::int32) return Tensor(int64_t{highest ? INT32_MAX : INT32_MIN});
  return Tensor(highest ? INT64_MAX : INT64_MIN);
}

}  // namespace

Tensor add_rows(int64_t count, const Tensor& rows, const Tensor& values0) {
  const Tensor values = cast(values0, values0.dtype() == DType::boolean ? DType::int64 : wide_of(values0.dtype()));
  Tensor out = count * values.numel() != 0 ? folded(ops::AddRows, count, rows, values)
                                           : full({count, values.shape()[1]}, 0, values.dtype(), values.device());
  record_gradient(ops::AddRows, out, {&values, &rows});
  return cast(out, values0.dtype());
}

Tensor reduce_into(const char* op, const std::string& reduce, const Tensor& x0, const Tensor& rows,
                   const Tensor& values0, bool include_self) {
  constexpr const char* kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  if (std::find(std::begin(kNames), std::end(kNames), reduce) == std::end(kNames))
    fail<ValueError>(op, "reduce is '" + reduce + "'", "use sum, prod, mean, amax or amin");
  const int64_t count = x0.shape()[0];
  const DType type = x0.dtype() == DType::boolean ? DType::int64 : wide_of(x0.dtype());
  const Tensor x = cast(x0, type), values = cast(values0, type);
  const auto finished = [&](const Tensor& y) { return cast(y, x0.dtype()); };
  if (rows.numel() == 0) return finished(x + add_rows(count, rows, values));  // nothing arrives

  Tensor arrived;  // how many values, where that matters
  if (!include_self || reduce == "mean")
    arrived = add_rows(count, rows, full_int({rows.numel(), 1}, 1, DType::int64, x.device()));
  const auto start = [&](const Tensor& empty) { return include_self ? x : where(arrived > 0, empty, x); };

  if (reduce == "prod") return finished(start(1) * multiply_rows(count, rows, values));
  if (reduce == "amax") return finished(extreme_rows(ops::MaxRows, start(lowest(type, false)), rows, values));
  if (reduce == "amin") return finished(extreme_rows(ops::MinRows, start(lowest(type, true)), rows, values));
  const Tensor total = start(0) + add_rows(count, rows, values);
  if (reduce == "sum") return finished(total);
  const Tensor n = include_self ? arrived + 1 : maximum(arrived, 1);
  return finished(is_float(type) ? total / n : floor_divide(total, n));
}

}  // namespace sg
