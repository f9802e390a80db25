// Ops made of ops: softmax, losses, comparisons of tensors. They have no kernels: fusion makes one of each.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

Tensor reduced(const Tensor& x, Reduction reduction) {
  return reduction == Reduction::none ? x : reduction == Reduction::sum ? sum(x) : mean(x);
}

Tensor real(const Tensor& x) { return cast(x, with_fractions(x.dtype())); }

// Half types as float32: what follows is rounded to the half type once, at the end.
Tensor wide(const Tensor& x) { return is_narrow(x.dtype()) ? cast(x, DType::float32) : x; }

}  // namespace

namespace ops {
const OpInfo CheckClass = check_row("cross_entropy", "Checks that classes are in range."),
             NllLoss = check_row("nll_loss", "Checks that classes are in range."),
             OneHot = check_row("one_hot", "Checks that classes are in range.");
}  // namespace ops

Tensor softmax(const Tensor& x0, int64_t dim, std::optional<DType> dtype) {
  const Tensor given = real(dtype ? cast(x0, *dtype) : x0), x = wide(given);
  const uint32_t axis = 1u << normal_axis("softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return exp(given - given);
  const Tensor e = exp(x - amax(x, axis, true).detach());    // shifting changes nothing, so it needs no gradient
  return cast(e * (1 / sum(e, axis, true)), given.dtype());  // one division a row
}

Tensor log_softmax(const Tensor& x0, int64_t dim, std::optional<DType> dtype) {
  const Tensor given = real(dtype ? cast(x0, *dtype) : x0), x = wide(given);
  const uint32_t axis = 1u << normal_axis("log_softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return given - given;
  const Tensor shifted = x - amax(x, axis, true).detach();
  return cast(shifted - log(sum(exp(shifted), axis, true)), given.dtype());
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  if (mask.dtype() != DType::boolean)
    fail<TypeError>("masked_fill", std::string("the mask is ") + name_of(mask.dtype()), "give a mask of type bool");
  if (!value.is_number() && value.rank() != 0)
    fail<ValueError>("masked_fill", "a value of shape " + value.shape().str(), "give a number or a 0-d tensor");
  return cast(where(mask, converted(value, x.dtype()), x), x.dtype());
}

Tensor all_equal(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) return full_int({}, 0, DType::boolean, a.device());
  return all(a == b);
}
Tensor all_close(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return all(isclose(a, b, rtol, atol, equal_nan));
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
  if (n == 0) return clone(x);
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(x);
  if (append) parts.push_back(*append);
  Tensor out = parts.size() > 1 ? cat(parts, d) : x;
  for (int64_t i = 0; i < n && out.shape()[d] > 0; ++i) {
    const int64_t left = std::max<int64_t>(out.shape()[d] - 1, 0);
    const Tensor next = slice(out, d, out.shape()[d] ? 1 : 0, left, 1), before = slice(out, d, 0, left, 1);
    out = out.dtype() == DType::boolean ? next != before : next - before;
  }
  return out;
}

Tensor one_hot(const Tensor& classes, int64_t num_classes) {
  if (is_float(classes.dtype()) || classes.dtype() == DType::boolean)
    fail<TypeError>("one_hot", std::string("classes are ") + name_of(classes.dtype()), "give them as int64");
  if (num_classes < 0) {
    if (classes.numel() == 0)
      fail<ValueError>("one_hot", "no classes to count in " + classes.shape().str(), "give num_classes");
    return one_hot(classes, std::max<int64_t>(plus("one_hot", read_now(amax(classes)), 1), 0));
  }
  if (num_classes < 1) fail<ValueError>("one_hot", "num_classes is " + std::to_string(num_classes), "give 1 or more");
  const Tensor checked = pointwise(ops::OneHot, {cast(classes, DType::int64), Tensor(num_classes)});
  return cast(unsqueeze(checked, -1) == arange(0, 1, num_classes, DType::int64, classes.device()), DType::int64);
}

namespace {

int class_dim(const Tensor& x) { return x.rank() == 1 ? 0 : 1; }

// A weight for each class, shaped to broadcast against x.
Tensor class_weights(const char* op, const Tensor& x, const Tensor& weight) {
  const int d = class_dim(x);
  if (weight.rank() != 1 || weight.shape()[0] != x.shape()[d])
    fail<ValueError>(op, "weight " + weight.shape().str() + " for input " + x.shape().str(),
                     "give one weight a class, [" + std::to_string(x.shape()[d]) + "]");
  Dims shape = Dims::filled(x.rank(), 1);
  shape[d] = -1;
  return cast(reshape(weight.detach(), shape), x.dtype());
}

// Whether the shape of x without its class dimension is that of the target.
bool classes_fit(const Tensor& x, const Tensor& target) {
  if (x.rank() == 0 || target.rank() != x.rank() - 1) return false;
  for (int i = 0, d = class_dim(x); i < target.rank(); ++i)
    if (target.shape()[i] != x.shape()[i < d ? i : i + 1]) return false;
  return true;
}

// Minus the terms of the target's class; the part `label_smoothing` is spread over all classes. No half types.
Tensor class_loss(const OpInfo& check, const Tensor& log_probabilities, const Tensor& target, const ClassLoss& o) {
  const int d = class_dim(log_probabilities);
  const int64_t classes = log_probabilities.shape()[d];
  const Tensor given = cast(target, DType::int64);
  const Tensor valid = given != Tensor(o.ignore_index);
  const Tensor checked = pointwise(check, {where(valid, given, 0), Tensor(classes)});
  const Tensor hit =
      unsqueeze(where(valid, checked, -1), d) == positions(log_probabilities.shape(), d, log_probabilities.device());
  std::optional<Tensor> weights;
  if (o.weight) weights = class_weights(check.name, log_probabilities, *o.weight);
  const Tensor x = weights ? log_probabilities * *weights : log_probabilities;
  const double share = o.label_smoothing / static_cast<double>(std::max<int64_t>(classes, 1));
  const Tensor terms =
      o.label_smoothing == 0
          ? where(hit, x, 0)
          : where(unsqueeze(valid, d), where(hit, x * Tensor(1 - o.label_smoothing + share), x * Tensor(share)), 0);
  if (o.reduction != Reduction::mean || terms.numel() == 0) return reduced(-sum(terms, 1u << d), o.reduction);
  // Divided inside the row, so that loss and gradient are one kernel after that of the total; 0 / 0 is NaN.
  const Tensor counted = weights ? sum(where(hit, *weights, 0), 1u << d) : cast(valid, terms.dtype());
  return -sum(sum(terms * (1 / sum(counted)), 1u << d));
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const ClassLoss& o) {
  if (!classes_fit(x, target))
    fail<ValueError>("nll_loss", "input " + x.shape().str() + " and target " + target.shape().str() + " do not fit",
                     "give log-probabilities [n, classes, ...] and target [n, ...]");
  if (is_float(target.dtype()) || target.dtype() == DType::boolean)
    fail<TypeError>("nll_loss", std::string("target is ") + name_of(target.dtype()), "give classes as int64");
  if (!is_float(x.dtype()))
    fail<TypeError>("nll_loss", std::string("input is ") + name_of(x.dtype()), "give log-probabilities");
  return cast(class_loss(ops::NllLoss, wide(x), target, o), x.dtype());
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const ClassLoss& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail<ValueError>("cross_entropy", "label_smoothing is " + std::to_string(o.label_smoothing), "use 0 to 1");
  const bool probabilities = logits.rank() > 0 && target.shape() == logits.shape();
  if (!probabilities && !classes_fit(logits, target))
    fail<ValueError>("cross_entropy",
                     "logits " + logits.shape().str() + " and target " + target.shape().str() + " do not fit",
                     "give logits [n, classes, ...] and target [n, ...], or probabilities of the logits' shape");
  if (probabilities != is_float(target.dtype()) || target.dtype() == DType::boolean)
    fail<TypeError>("cross_entropy", std::string("target is ") + name_of(target.dtype()),
                    probabilities ? "give probabilities as floats" : "give classes as int64");
  const int d = class_dim(logits);
  const DType dtype = with_fractions(logits.dtype());
  const Tensor x = log_softmax(wide(logits), d);
  if (!probabilities) return cast(class_loss(ops::CheckClass, x, target, o), dtype);
  if (o.ignore_index >= 0)
    fail<ValueError>("cross_entropy", "ignore_index " + std::to_string(o.ignore_index) + " with probabilities",
                     "give classes");
  const double classes = static_cast<double>(x.shape()[d]);
  const Tensor shares =
      o.label_smoothing == 0 ? target : target * (1 - o.label_smoothing) + o.label_smoothing / classes;
  const Tensor terms = o.weight ? x * shares * class_weights("cross_entropy", x, *o.weight) : x * shares;
  return cast(reduced(-sum(terms, 1u << d), o.reduction), promote(dtype, target.dtype()));
}

}  // namespace sg
