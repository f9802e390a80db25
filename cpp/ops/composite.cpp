// Ops made of ops. They have no kernels of their own: fusion makes one of each.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/list.hpp"
#include "ops/rows.hpp"

namespace sg {
namespace {

// Lets a class pass if it is in [0, bound), else reports it; input 1 is the bound.
Expr emit_check_class(ProgramBuilder& builder, const Node&, const Expr* in) {
  return builder.alu(Code::check_index, DType::int64, in[0], in[1]);
}

Tensor reduced(const Tensor& x, Reduction reduction) {
  return reduction == Reduction::none ? x : reduction == Reduction::sum ? sum(x) : mean(x);
}

Tensor real(const Tensor& x) { return is_float(x.dtype()) ? x : cast(x, default_float()); }

}  // namespace

namespace rows {
const OpInfo CheckClass{.name = "cross_entropy",
                        .doc = "Checks that classes are in range.",
                        .kind = Kind::pointwise,
                        .arity = 2,
                        .emit = emit_check_class,
                        .reports = true};
const OpInfo OneHot{.name = "one_hot",
                    .doc = "Checks that classes are in range.",
                    .kind = Kind::pointwise,
                    .arity = 2,
                    .emit = emit_check_class,
                    .reports = true};
}  // namespace rows

Tensor softmax(const Tensor& x0, int64_t dim) {
  const Tensor x = real(x0);
  const uint32_t axis = 1u << normal_axis("softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return exp(x - x);
  const Tensor e = exp(x - amax(x, axis, true).detach());  // shifting changes nothing, so it needs no gradient
  return e * (1 / sum(e, axis, true));                     // one division a row
}

Tensor log_softmax(const Tensor& x0, int64_t dim) {
  const Tensor x = real(x0);
  const uint32_t axis = 1u << normal_axis("log_softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return x - x;
  const Tensor shifted = x - amax(x, axis, true).detach();
  return shifted - log(sum(exp(shifted), axis, true));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  if (mask.dtype() != DType::boolean)
    fail<TypeError>("masked_fill", std::string("the mask is ") + name_of(mask.dtype()), "give a mask of type bool");
  if (!value.is_number() && value.rank() != 0)
    fail<ValueError>("masked_fill", "a value of shape " + value.shape().str(), "give a number or a 0-d tensor");
  return cast(where(mask, value, x), x.dtype());
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  if (a.dtype() != b.dtype())
    fail<TypeError>("isclose", std::string("types differ, ") + name_of(a.dtype()) + " and " + name_of(b.dtype()),
                    "convert one of them");
  const Tensor same = a == b;
  const Tensor distance = abs(real(a) - real(b));
  // An infinite distance is never small, also where the tolerance is infinite.
  const Tensor close = distance <= where(abs(real(b)) == std::numeric_limits<double>::infinity(), -1,
                                         Tensor(atol) + Tensor(rtol) * abs(real(b)));
  Tensor out = where(same, same, close);
  if (equal_nan) out = where(a == a, out, b != b);
  return out;
}

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  if (x.rank() == 0) fail<ValueError>("diff", "a 0-d tensor has no neighbours", "use one dimension or more");
  if (n < 0) fail<ValueError>("diff", "order " + std::to_string(n), "use 0 or more");
  const int d = normal_axis("diff", dim, x.rank());
  if (n == 0) return x;
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(x);
  if (append) parts.push_back(*append);
  Tensor out = parts.size() > 1 ? cat(parts, d) : x;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t left = std::max<int64_t>(out.shape()[d] - 1, 0);
    const Tensor next = slice(out, d, out.shape()[d] ? 1 : 0, left, 1), before = slice(out, d, 0, left, 1);
    out = x.dtype() == DType::boolean ? next != before : next - before;
  }
  return out;
}

Tensor one_hot(const Tensor& classes, int64_t num_classes) {
  if (is_float(classes.dtype()) || classes.dtype() == DType::boolean)
    fail<TypeError>("one_hot", std::string("classes are ") + name_of(classes.dtype()), "give them as int64");
  const Tensor checked = pointwise(rows::OneHot, {cast(classes, DType::int64), Tensor(num_classes)});
  return cast(unsqueeze(checked, -1) == arange(0, 1, num_classes, DType::int64, classes.device()), DType::int64);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction reduction) {
  if (logits.rank() != 2 || target.rank() != 1 || target.shape()[0] != logits.shape()[0])
    fail<ValueError>("cross_entropy",
                     "logits " + logits.shape().str() + " and target " + target.shape().str() + " do not fit",
                     "give logits [n, classes] and target [n]");
  if (is_float(target.dtype()) || target.dtype() == DType::boolean)
    fail<TypeError>("cross_entropy", std::string("target is ") + name_of(target.dtype()), "give classes as int64");
  const int64_t n = logits.shape()[0], classes = logits.shape()[1];
  const Tensor checked = pointwise(rows::CheckClass, {cast(target, DType::int64), Tensor(classes)});
  const Tensor hit = unsqueeze(checked, 1) == arange(0, 1, classes, DType::int64, logits.device());
  const Tensor picked = where(hit, log_softmax(logits, 1), 0);
  return reduced(-sum(reshape(picked, {n, classes}), 1u << 1), reduction);
}

}  // namespace sg
