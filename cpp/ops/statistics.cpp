// Ops made of folds: variance, norms, soft maxima, covariance. No rows of their own: fusion makes row kernels of them.
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// The type to compute in and the type of the result: half types compute in float32, integers become the default type.
Tensor wide(const Tensor& x) { return cast(x, wide_of(with_fractions(x.dtype()))); }
Tensor as_result(const Tensor& y, const Tensor& x) { return cast(y, with_fractions(x.dtype())); }

int64_t count_along(const Tensor& x, uint32_t axes) {
  int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (axes >> d & 1) n *= x.shape()[d];
  return n;
}

// The square root with gradient 0 at 0.
Tensor root(const Tensor& x) {
  const Tensor zero = x == 0;
  return where(zero, 0, sqrt(where(zero, 1, x)));
}

}  // namespace

Tensor mean(const Tensor& x0, const Axes& given, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = dtype ? cast(x0, *dtype) : x0;
  const uint32_t axes = given.of("mean", x);
  return as_result(sum(wide(x), axes, keepdim) / static_cast<double>(count_along(x, axes)), x);
}

Tensor nanmean(const Tensor& x0, const Axes& given, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = dtype ? cast(x0, *dtype) : x0;
  const uint32_t axes = given.of("nanmean", x);
  if (!is_float(x.dtype())) return mean(x, axes, keepdim);
  const Tensor number = x == x;
  return sum(where(number, x, 0), axes, keepdim) / cast(sum(number, axes, keepdim), x.dtype());
}

namespace {
Tensor variance(const Tensor& x, uint32_t axes, double correction, bool keepdim) {
  const double n = static_cast<double>(count_along(x, axes));
  const Tensor distance = x - mean(x, axes, true);
  return sum(square(distance), axes, keepdim) / std::max(n - correction, 0.0);
}
}  // namespace

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
  return as_result(variance(wide(x), axes.of("var", x), correction, keepdim), x);
}
Tensor std_of(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
  return as_result(root(variance(wide(x), axes.of("std", x), correction, keepdim)), x);
}
std::vector<Tensor> var_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
  const uint32_t bits = axes.of("var_mean", x);
  return {var(x, bits, correction, keepdim), mean(x, bits, keepdim)};
}
std::vector<Tensor> std_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
  const uint32_t bits = axes.of("std_mean", x);
  return {std_of(x, bits, correction, keepdim), mean(x, bits, keepdim)};
}

Tensor logsumexp(const Tensor& x0, const Axes& given, bool keepdim) {
  const Tensor x = wide(x0);
  const uint32_t axes = given.of("logsumexp", x);
  if (count_along(x, axes) == 0) return as_result(log(sum(exp(x), axes, keepdim)), x0);
  // The shift does not change the result, so it needs no gradient. A row of infinities is not shifted.
  const Tensor top = amax(x, axes, true).detach();
  const Tensor shift = where(abs(top) == std::numeric_limits<double>::infinity(), 0, top);
  const Tensor out = as_result(log(sum(exp(x - shift), axes, true)) + shift, x0);
  if (keepdim) return out;
  Dims shape;
  for (int d = 0; d < x.rank(); ++d)
    if (!(axes >> d & 1)) shape.push(x.shape()[d]);
  return reshape(out, shape);
}

namespace {
Tensor norm_of(const Tensor& x, double p, uint32_t axes, bool keepdim) {
  if (p == 2) return root(sum(square(x), axes, keepdim));
  if (p == 1) return sum(abs(x), axes, keepdim);
  if (p == 0) {
    Tensor counted = cast(x != 0, x.dtype());
    record_gradient(ops::Sign, counted, {&x});  // a step as well
    return sum(counted, axes, keepdim);
  }
  if (std::isinf(p)) return p > 0 ? amax(abs(x), axes, keepdim) : amin(abs(x), axes, keepdim);
  return pow(sum(pow(abs(x), p), axes, keepdim), 1 / p);
}
}  // namespace

Tensor norm(const Tensor& x0, double p, const Axes& axes, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = dtype ? cast(x0, *dtype) : x0;
  return as_result(norm_of(wide(x), p, axes.of("norm", x), keepdim), x);
}

namespace {

// How much each of n observations counts; nothing if all count alike.
std::optional<Tensor> weight_of(const std::optional<Tensor>& fweights, const std::optional<Tensor>& aweights, int64_t n,
                                DType dtype) {
  std::optional<Tensor> weight;
  for (const auto& [name, given] : {std::pair("fweights", &fweights), std::pair("aweights", &aweights)}) {
    if (!*given) continue;
    if (!((*given)->shape() == Dims{n}))
      fail<ValueError>(
          "cov", std::string(name) + " " + (*given)->shape().str() + " for " + std::to_string(n) + " observations",
          "give one weight for each");
    if (given == &fweights && is_float((*given)->dtype()))
      fail<TypeError>("cov", std::string("fweights are ") + name_of((*given)->dtype()), "use integers, or aweights");
    const Tensor w = cast(**given, dtype);
    weight = weight ? *weight * w : w;
  }
  return weight;
}

}  // namespace

Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights) {
  if (x.rank() > 2)
    fail<ValueError>("cov", "a tensor of shape " + x.shape().str() + " has no rows of variables", "use two dimensions");
  const Tensor rows = wide(x.rank() == 2 ? x : reshape(x, {1, -1}));
  const DType type = aweights ? promote(x.dtype(), aweights->dtype()) : x.dtype();
  const auto result = [&](const Tensor& out) {
    return cast(rows.shape()[0] != 1 ? out : reshape(out, {}), with_fractions(type));
  };
  const int64_t n = rows.shape()[1];
  const std::optional<Tensor> weight = weight_of(fweights, aweights, n, rows.dtype());
  if (!weight) {
    const Tensor distance = rows - mean(rows, {1}, true);
    return result(matmul(distance, transpose(distance, 0, 1)) / std::max(static_cast<double>(n - correction), 0.0));
  }
  const Tensor total = sum(*weight, {0});
  const Tensor distance = rows - sum(rows * *weight, {1}, true) / total;
  // The correction is smaller for observations that count for less than one.
  const Tensor less(correction);
  const Tensor off = aweights ? sum(*weight * cast(*aweights, rows.dtype()), {0}) / total * less : less;
  const Tensor count = clamp_min(total - off, Tensor(0));
  return result(matmul(distance * *weight, transpose(distance, 0, 1)) / count);
}

Tensor corrcoef(const Tensor& x) {
  const Tensor c = cov(wide(x), 1);
  if (c.rank() == 0) return as_result(c / c, x);
  const Tensor deviation = sqrt(diagonal(c));
  return as_result(c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0), x);
}

}  // namespace sg
