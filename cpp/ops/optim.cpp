// Optimisers: for each parameter a handful of pointwise nodes and its writes in place. Of the same structure for all
// parameters, so the scheduler makes one launch of them.
#include <cmath>

#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

std::vector<Tensor> state_like(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> state;
  for (const Tensor& p : parameters) state.push_back(full(p.shape(), 0, p.dtype(), p.device()));
  return state;
}

Tensor decayed(const Tensor& p, double weight_decay) {
  const Tensor g = p.grad().detach();
  return weight_decay ? g + p.detach() * weight_decay : g;
}

}  // namespace

void sgd_step(const std::vector<Tensor>& parameters, std::vector<Tensor>& momentum, const SgdOptions& o) {
  GradMode off(false);
  const bool first = momentum.empty();
  if (o.momentum && first) momentum = state_like(parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& p = parameters[i];
    if (!p.grad()) continue;
    Tensor step = decayed(p, o.weight_decay);
    if (o.momentum) {
      step = momentum[i] * o.momentum + step;  // PyTorch's: the first step is the plain gradient
      copy_(momentum[i], step);
    }
    copy_(p, p - step * o.lr);
  }
}

void adam_step(const std::vector<Tensor>& parameters, std::vector<Tensor>& m, std::vector<Tensor>& v, int64_t step,
               const AdamOptions& o) {
  GradMode off(false);
  if (m.empty()) m = state_like(parameters);
  if (v.empty()) v = state_like(parameters);
  const double scale1 = o.lr / (1 - std::pow(o.beta1, static_cast<double>(step)));
  const double scale2 = std::sqrt(1 - std::pow(o.beta2, static_cast<double>(step)));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& p = parameters[i];
    if (!p.grad()) continue;
    const Tensor g = decayed(p, o.weight_decay);
    const Tensor m1 = m[i] * o.beta1 + g * (1 - o.beta1);
    const Tensor v1 = v[i] * o.beta2 + square(g) * (1 - o.beta2);
    copy_(p, p - m1 * scale1 / (sqrt(v1) / scale2 + o.eps));
    copy_(m[i], m1);
    copy_(v[i], v1);
  }
}

}  // namespace sg
