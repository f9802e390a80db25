// Ops made of ops. They have no kernels of their own: fusion makes one of each.
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

Tensor real(const Tensor& x) { return is_float(x.dtype()) ? x : cast(x, DType::float32); }

}  // namespace

namespace rows {
const OpInfo CheckClass{.name = "cross_entropy",
                        .doc = "Checks that classes are in range.",
                        .kind = Kind::pointwise,
                        .arity = 2,
                        .emit = emit_check_class};
}

Tensor softmax(const Tensor& x0, int64_t dim) {
  const Tensor x = real(x0);
  const uint32_t axis = 1u << normal_axis("softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return exp(x - x);
  const Tensor e = exp(x - amax(x, axis, true).detach());  // shifting changes nothing, so it needs no gradient
  return e / sum(e, axis, true);
}

Tensor log_softmax(const Tensor& x0, int64_t dim) {
  const Tensor x = real(x0);
  const uint32_t axis = 1u << normal_axis("log_softmax", dim, x.rank());
  if (x.numel() == 0 || x.rank() == 0) return x - x;
  const Tensor shifted = x - amax(x, axis, true).detach();
  return shifted - log(sum(exp(shifted), axis, true));
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
