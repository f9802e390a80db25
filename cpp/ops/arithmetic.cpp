// Functions made of several pointwise ops, with PyTorch's arguments. No rows of their own: fusion makes one kernel of
// each.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

bool is_one(const Tensor& x) { return x.is_number() && (is_float(x.dtype()) ? x->number.f == 1 : x->number.i == 1); }
Tensor scaled(const Tensor& x, const Tensor& factor) {
  if (is_one(factor)) return x;
  if (!x.is_number() || !factor.is_number()) return mul(x, factor);
  if (is_float(x.dtype()) || is_float(factor.dtype())) return Tensor(value_of(x) * value_of(factor));
  return Tensor(static_cast<int64_t>(static_cast<uint64_t>(x->number.i) * static_cast<uint64_t>(factor->number.i)));
}

void need_whole(const char* op, const Tensor& a, const Tensor& alpha) {
  if (alpha.is_number() && is_float(alpha.dtype()) && !a.is_number() && !is_float(a.dtype()))
    fail<TypeError>(op, std::string("alpha is no integer, the tensor is of ") + name_of(a.dtype()),
                    "convert the tensor to float32 first");
}

// Computed in the type of the result, but half types in float32, so that the result is rounded once, as by one op.
Tensor wide(const Tensor& x, DType result) { return x.is_number() ? x : cast(x, wide_of(result)); }

double largest(DType t) {
  switch (t) {
    case DType::float64:
      return std::numeric_limits<double>::max();
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    default:
      return std::numeric_limits<float>::max();
  }
}

}  // namespace

Tensor add_scaled(const Tensor& a, const Tensor& b, const Tensor& alpha) {
  need_whole("add", is_float(b.dtype()) ? b : a, alpha);
  const DType t = result_type({a, b, alpha});
  return cast(add(wide(a, t), scaled(wide(b, t), alpha)), t);
}
Tensor sub_scaled(const Tensor& a, const Tensor& b, const Tensor& alpha) {
  need_whole("sub", is_float(b.dtype()) ? b : a, alpha);
  const DType t = result_type({a, b, alpha});
  return cast(sub(wide(a, t), scaled(wide(b, t), alpha)), t);
}

Tensor div_rounded(const Tensor& a, const Tensor& b, const std::optional<std::string>& rounding_mode) {
  if (!rounding_mode) return div(a, b);
  if (*rounding_mode == "floor") return floor_divide(a, b);
  if (*rounding_mode == "trunc") return trunc_divide(a, b);
  fail<ValueError>("div", "rounding_mode '" + *rounding_mode + "' is unknown", "use None, 'floor' or 'trunc'");
}

Tensor round_decimals(const Tensor& a, int64_t decimals) {
  if (decimals == 0 || !is_float(a.dtype())) return round(a);
  double ten = 1;
  for (int64_t i = std::abs(std::clamp<int64_t>(decimals, -300, 300)); i > 0; --i) ten *= 10;
  const Tensor x = wide(a, a.dtype());
  return cast(decimals > 0 ? div(round(mul(x, ten)), ten) : mul(round(div(x, ten)), ten), a.dtype());
}

Tensor clamp_between(const Tensor& a, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  if (min && max) return clamp(a, *min, *max);
  if (min) return clamp_min(a, *min);
  if (max) return clamp_max(a, *max);
  fail<ValueError>("clamp", "neither min nor max is given", "give one of them");
}

Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& value) {
  const DType t = result_type({a, b, c, value});
  return cast(add(wide(a, t), mul(scaled(wide(b, t), value), wide(c, t))), t);
}
Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& value) {
  const DType t = with_fractions(result_type({a, b, c, value}));
  return cast(add(wide(a, t), div(scaled(wide(b, t), value), wide(c, t))), t);
}

Tensor nan_to_num(const Tensor& a, const std::optional<Tensor>& nan, const std::optional<Tensor>& posinf,
                  const std::optional<Tensor>& neginf) {
  if (!is_float(a.dtype())) return clone(a);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor high = posinf ? *posinf : Tensor(largest(a.dtype())),
               low = neginf ? *neginf : Tensor(-largest(a.dtype()));
  return where(a != a, nan.value_or(Tensor(0.0)), where(a == infinity, high, where(a == -infinity, low, a)));
}

Tensor positive(const Tensor& a) {
  if (a.dtype() == DType::boolean) fail<TypeError>("positive", "is not for tensors of bool", "convert them with .to()");
  return a;
}

Tensor gelu(const Tensor& a, const std::string& approximate) {
  if (approximate == "none") return gelu(a);
  if (approximate == "tanh") return gelu_tanh(a);
  fail<ValueError>("gelu", "approximate '" + approximate + "' is unknown", "use 'none' or 'tanh'");
}

}  // namespace sg
