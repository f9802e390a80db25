// A linear layer and the cross entropy of its logits, slice by slice of rows, so that the logits of all rows are never
// there at once (docs/decisions/065-logits-come-in-slices.md). The gradients of a slice are made while its logits are there.
#include <algorithm>

#include "base/error.hpp"
#include "base/processor.hpp"
#include "base/round.hpp"
#include "kernel/expr.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

constexpr int64_t kFewestRows = 256, kMostRows = 4096;   // of a slice
constexpr int64_t kFewestLogits = int64_t{1} << 22;      // that are worth slices
enum Input { kX, kWeight, kBias, kTarget, kFirstKept };  // of the gradient node; then what was kept for the first three

struct Options {
  int64_t ignore_index;
  double label_smoothing;
  bool mean, has_bias;
};

// As many as there are features: the gradient of the weight is read and written once a slice, its logits about as often.
int64_t rows_of_slice(int64_t features) { return std::clamp<int64_t>(round_up(features, 128), kFewestRows, kMostRows); }

Tensor logits_of(const Tensor& x, const Tensor& weight, const Tensor& bias, const Options& o) {
  const Tensor out = matmul(x, transpose(weight, 0, 1));
  return o.has_bias ? out + cast(bias, out.dtype()) : out;
}

Tensor counts(const Tensor& target, const Options& o) { return target != Tensor(o.ignore_index); }

// By the logits, the gradient of the sum of their rows' losses.
Tensor gradient_by_logits(const Tensor& logits, const Tensor& target, const Options& o) {
  const Tensor x = cast(logits, wide_of(logits.dtype())), valid = counts(target, o);
  const Tensor hit = unsqueeze(where(valid, target, -1), 1) == positions(x.shape(), 1, x.device());
  Tensor wanted = cast(hit, x.dtype());
  if (o.label_smoothing != 0)
    wanted = wanted * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(x.shape()[1]);
  return cast(where(unsqueeze(valid, 1), exp(log_softmax(x, 1)) - wanted, 0), logits.dtype());
}

// a [m, k] @ b [k, n], not rounded to a half type.
Tensor wide_product(const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  const DType factors = dtype == DType::bfloat16 && multiplies_bfloat16() ? dtype : factor_type(dtype, a.device());
  const auto factor = [&](const Tensor& x) { return unsqueeze(cast(x, factors), 0); };
  return squeeze(contract(ops::Matmul, factor(a), factor(b), true), 0);
}

// What the upstream gradient is multiplied with: 1, or 1 / how many rows count.
Tensor scaled(const Tensor& g, const Tensor& target, const Options& o) {
  return o.mean ? g * (1 / sum(cast(counts(target, o), g.dtype()))) : g;
}

void vjp(Vjp& v) {
  const auto& o = v.attributes<Options>();
  const Tensor target = v.in(kTarget), g = scaled(v.g, target, o);
  if (!grad_enabled()) {
    for (int i : {kX, kWeight, kBias})
      if (v.needs(i)) v.result[i] = v.in(kFirstKept + i) * g;
    return;
  }
  const Tensor x = v.in(kX), weight = v.in(kWeight), logits = logits_of(x, weight, v.in(kBias), o);
  const Tensor d = gradient_by_logits(logits, target, o) * cast(g, logits.dtype());
  if (v.needs(kX)) v.result[kX] = matmul(d, weight);
  if (v.needs(kWeight)) v.result[kWeight] = matmul(transpose(d, 0, 1), x);
  if (v.needs(kBias)) v.result[kBias] = sum(d, 1u << 0);
}

const OpInfo kLinearCrossEntropy{.name = "linear_cross_entropy",
                                 .doc = "The cross entropy of a linear layer's logits, in slices of rows.",
                                 .kind = Kind::view,
                                 .arity = 3,
                                 .saves = kSavesA | kSavesB | kSavesC | kSavesRest,
                                 .vjp = vjp};
// Orders work without computing anything: a slice begins when the one before is done, so that both can have the same
// memory.
const OpInfo kAfter{.name = "after",
                    .doc = "The first input, when the second is there.",
                    .kind = Kind::pointwise,
                    .arity = 2,
                    .emit = [](ProgramBuilder&, const Node&, const Expr* in) { return in[0]; }};

Tensor first_element(const Tensor& x) { return select(reshape(x, {x.numel()}), 0, 0); }

// The loss of each row, and of the rows' sum the gradients that are wanted.
class Slices {
 public:
  Slices(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target, const Options& o)
      : x_(x), weight_(weight), bias_(bias), target_(target), o_(o) {
    const bool on = grad_enabled();
    const auto wants = [&](const Tensor& t) { return on && !t.is_number() && t.requires_grad(); };
    wants_x_ = wants(x), wants_weight_ = wants(weight), wants_bias_ = wants(bias);
    const GradMode off(false);
    const int64_t rows = x.shape()[0], most = rows_of_slice(x.shape()[1]);
    for (int64_t at = 0; at < rows; at += most) add(at, std::min(most, rows - at));
  }

  Tensor losses() const { return cat(losses_); }
  bool wants_gradient() const { return wants_x_ || wants_weight_ || wants_bias_; }
  std::vector<Tensor> gradients() const {
    const Tensor none(0);
    return {wants_x_ ? cat(by_x_) : none, wants_weight_ ? by_weight_ : none, wants_bias_ ? by_bias_ : none};
  }

 private:
  void add(int64_t at, int64_t rows) {
    Tensor x = slice(x_, 0, at, rows, 1);
    if (last_) x = pointwise(kAfter, {x, first_element(last_)});
    const Tensor target = slice(target_, 0, at, rows, 1), logits = logits_of(x, weight_, bias_, o_);
    last_ = cross_entropy(cast(logits, wide_of(logits.dtype())), target,
                          {{}, o_.ignore_index, Reduction::none, o_.label_smoothing});
    losses_.push_back(last_);
    if (!wants_gradient()) return;
    const Tensor d = gradient_by_logits(logits, target, o_);
    if (wants_bias_) last_ = by_bias_ = plus(by_bias_, sum(cast(d, wide_of(d.dtype())), 1u << 0));
    if (wants_x_) by_x_.push_back(last_ = wide_product(d, weight_));
    if (wants_weight_) last_ = by_weight_ = plus(by_weight_, wide_product(transpose(d, 0, 1), x));
  }
  static Tensor plus(const Tensor& sum, const Tensor& part) { return sum ? stored(sum + part) : part; }

  const Tensor x_, weight_, bias_, target_;
  const Options o_;
  bool wants_x_, wants_weight_, wants_bias_;
  std::vector<Tensor> losses_, by_x_;
  Tensor by_weight_, by_bias_, last_;
};

}  // namespace

bool has_slices(const Tensor& x, const Tensor& weight, const Tensor& target, const ClassLoss& o) {
  return x.rank() == 2 && weight.rank() == 2 && target.rank() == 1 && x.shape()[1] == weight.shape()[1] &&
         x.shape()[0] == target.shape()[0] && is_float(x.dtype()) && is_float(weight.dtype()) &&
         !is_float(target.dtype()) && target.dtype() != DType::boolean && !o.weight && o.reduction != Reduction::none &&
         x.shape()[0] >= 2 * rows_of_slice(x.shape()[1]) && x.shape()[0] * weight.shape()[0] >= kFewestLogits;
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                            const Tensor& target, const ClassLoss& o) {
  const Tensor b = bias ? *bias : Tensor(0), classes = cast(target, DType::int64);
  const Options options{o.ignore_index, o.label_smoothing, o.reduction == Reduction::mean, bias.has_value()};
  const Slices slices(x, weight, b, classes, options);
  Tensor out;
  {
    const GradMode off(false);
    const Tensor losses = slices.losses();
    out = sum(scaled(losses, classes, options));
  }
  if (!slices.wants_gradient()) return out;
  const std::vector<Tensor> kept = slices.gradients();
  record_gradient(kLinearCrossEntropy, out, {&x, &weight, &b, &classes, &kept[0], &kept[1], &kept[2]}, options);
  return out;
}

}  // namespace sg
