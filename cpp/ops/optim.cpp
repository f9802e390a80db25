// Optimisers: a step is one update of all tensors (graph/update.hpp), written out as a few pointwise ops for each
// parameter. All parameters have the same structure, so the scheduler makes one launch of them. Knows no schedule of
// rates: those are numbers.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "graph/log.hpp"
#include "graph/update.hpp"
#include "graph/watcher.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

Tensor one_minus(const Tensor& x) {
  if (!x.is_number()) return 1 - x;
  const Tensor rest(1 - x->number.f);
  rest->slot = x->slot.complement();
  return rest;
}

// A running mean that keeps the share `beta` of itself.
Tensor kept(const Tensor& mean, const Tensor& x, const Tensor& beta) { return mean * beta + x * one_minus(beta); }

// Decoupled weight decay (Loshchilov and Hutter, 2019); nothing is computed without it.
Tensor shrunk(const Tensor& p, const Tensor& factor) { return factor ? p * factor : p; }

Tensor length(const Tensor& x) { return sqrt(sum(square(x))); }

// ---- rules: p the parameter, g its gradient, s its state (replaced by the new one), n the numbers -------------------
template <bool nesterov>
Tensor sgd(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &momentum = n[1], &taken = n[2];
  if (!s[0]) return p - g * lr;
  s[0] = s[0] * momentum + g * taken;
  return p - (nesterov ? g + s[0] * momentum : s[0]) * lr;
}

// rate = lr * root / (1 - beta1^t) and eps = epsilon * root, with root = sqrt(1 - beta2^t).
Tensor adam(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &rate = n[0], &beta1 = n[1], &beta2 = n[2], &eps = n[3], &shrink = n[4];
  s[0] = kept(s[0], g, beta1);
  s[1] = kept(s[1], square(g), beta2);
  if (s[2]) s[2] = maximum(s[2], s[1]);
  return shrunk(p, shrink) - s[0] * rate / (sqrt(s[2] ? s[2] : s[1]) + eps);
}

Tensor adamax(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &rate = n[0], &beta1 = n[1], &beta2 = n[2], &eps = n[3];
  s[0] = kept(s[0], g, beta1);
  s[1] = maximum(s[1] * beta2, abs(g) + eps);
  return p - s[0] * rate / s[1];
}

// The gradient and its running mean have separate rates.
Tensor nadam(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &rate_g = n[0], &rate_m = n[1], &root = n[2], &beta1 = n[3], &beta2 = n[4], &eps = n[5], &shrink = n[6];
  s[0] = kept(s[0], g, beta1);
  s[1] = kept(s[1], square(g), beta2);
  return shrunk(p, shrink) - (g * rate_g + s[0] * rate_m) / (sqrt(s[1]) / root + eps);
}

// One of the rates `plain` and `adaptive` is 0.
Tensor radam(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &plain = n[0], &adaptive = n[1], &beta1 = n[2], &beta2 = n[3], &eps = n[4], &shrink = n[5];
  s[0] = kept(s[0], g, beta1);
  s[1] = kept(s[1], square(g), beta2);
  return shrunk(p, shrink) - s[0] * (adaptive / (sqrt(s[1]) + eps) + plain);
}

Tensor rmsprop(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &alpha = n[1], &eps = n[2], &momentum = n[3];
  s[0] = kept(s[0], square(g), alpha);
  if (s[2]) s[2] = kept(s[2], g, alpha);
  const Tensor step = g / (sqrt(s[2] ? s[0] - square(s[2]) : s[0]) + eps);
  if (!s[1]) return p - step * lr;
  s[1] = s[1] * momentum + step;
  return p - s[1] * lr;
}

Tensor adagrad(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &eps = n[1];
  s[0] = s[0] + square(g);
  return p - g * lr / (sqrt(s[0]) + eps);
}

Tensor adadelta(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &rho = n[1], &eps = n[2];
  s[0] = kept(s[0], square(g), rho);
  const Tensor step = g * sqrt(s[1] + eps) / sqrt(s[0] + eps);
  s[1] = kept(s[1], square(step), rho);
  return p - step * lr;
}

// With the mean of what the parameter was.
Tensor asgd(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &eta = n[0], &shrink = n[1], &mu = n[2];
  const Tensor next = p * shrink - g * eta;
  s[0] = kept(next, s[0], mu);
  return next;
}

Tensor rprop(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &shrink = n[0], &grow = n[1], &least = n[2], &largest = n[3];
  const Tensor change = g * s[0], turned = change < 0;
  const Tensor size = where(change > 0, s[1] * grow, where(turned, s[1] * shrink, s[1]));
  s[1] = minimum(maximum(size, least), largest);
  s[0] = where(turned, Tensor(0.0), g);
  return p - sign(s[0]) * s[1];
}

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }

// The squares of a matrix are the product of those of its rows and columns: s[0], s[1], or s[2] for all elements.
Tensor adafactor(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &rate = n[0], &taken = n[1], &least = n[2], &d = n[3], &shrink = n[4];
  const double eps = p.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23;
  const bool by_type = n[5]->number.f < 0;
  const Tensor tiny = by_type ? Tensor(eps) : n[5], tiny_square = by_type ? Tensor(eps * eps) : n[6];
  Tensor squares;
  if (s[2]) {
    squares = s[2] = kept(square(g), s[2], taken);
  } else {
    s[0] = kept(mean(square(g), {-1}, true), s[0], taken);
    s[1] = kept(mean(square(g), {-2}, true), s[1], taken);
    squares = s[0] * s[1] / maximum(mean(s[0], {-2}, true), tiny);
  }
  const Tensor step = g / sqrt(maximum(squares, tiny_square));
  const Tensor size = maximum(root_mean_square(p), least) * rate;
  return shrunk(p, shrink) - step * (size / maximum(root_mean_square(step) / d, Tensor(1.0)));
}

Tensor lion(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &beta1 = n[1], &beta2 = n[2], &shrink = n[3];
  const Tensor step = sign(kept(s[0], g, beta1));
  s[0] = kept(s[0], g, beta2);
  return shrunk(p, shrink) - step * lr;
}

// The ratio where both lengths are positive, else 1.
Tensor trust(const Tensor& weight, const Tensor& step, const Tensor& ratio) {
  return where(minimum(weight, step) > 0, ratio, Tensor(1.0));
}

Tensor lamb(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &scale = n[1], &root = n[2], &beta1 = n[3], &beta2 = n[4], &eps = n[5], &decay = n[6];
  s[0] = kept(s[0], g, beta1);
  s[1] = kept(s[1], square(g), beta2);
  const Tensor step = s[0] * scale / (sqrt(s[1]) / root + eps) + p * decay;
  const Tensor weight = length(p), size = length(step);
  return p - step * (trust(weight, size, weight / size) * lr);
}

Tensor lars(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &momentum = n[1], &decay = n[2], &coefficient = n[3], &eps = n[4];
  const Tensor weight = length(p), size = length(g);
  const Tensor step =
      (g + p * decay) * (trust(weight, size, weight * coefficient / (weight * decay + size + eps)) * lr);
  if (!s[0]) return p - step;
  s[0] = s[0] * momentum + step;
  return p - s[0];
}

// Roughly the nearest orthogonal matrix, by Newton-Schulz iteration: singular values come near 1.
Tensor orthogonal(const Tensor& g, const Tensor* n, int steps, const Tensor& eps) {
  const Tensor &a = n[0], &b = n[1], &c = n[2];
  const bool tall = g.shape()[0] > g.shape()[1];
  Tensor x = tall ? transpose(g, 0, 1) : g;
  x = x / maximum(length(x), eps);
  for (int i = 0; i < steps; ++i) {
    const Tensor square = matmul(x, transpose(x, 0, 1));
    x = x * a + matmul(square * b + matmul(square, square) * c, x);
  }
  return tall ? transpose(x, 0, 1) : x;
}

template <bool nesterov>
Tensor muon(const Tensor& p, const Tensor& g, Tensor* s, const Tensor* n) {
  const Tensor &lr = n[0], &momentum = n[1], &shrink = n[2], &eps = n[3], &steps = n[4], &as_adam = n[5];
  const double rows = static_cast<double>(p.shape()[0]), columns = static_cast<double>(p.shape()[1]);
  const double scale = as_adam->number.f != 0 ? 0.2 * std::sqrt(std::max(rows, columns))
                                              : std::sqrt(std::max(1.0, rows / std::max(columns, 1.0)));
  s[0] = kept(s[0], g, momentum);
  const Tensor step =
      orthogonal(nesterov ? kept(g, s[0], one_minus(momentum)) : s[0], n + 6, static_cast<int>(steps->number.f), eps);
  return shrunk(p, shrink) - step * scale * lr;
}

std::vector<Tensor> write_out(const Node& update);

UpdateRule rule(const char* name, int states, int numbers, UpdateRule::Step* step, int shrink = -1) {
  const OpInfo op{.name = name,
                  .doc = "A step of an optimiser.",
                  .kind = Kind::effect,
                  .arity = 0,
                  .update = write_out,
                  .follows = true};
  return {op, states, numbers, step, shrink};
}
UpdateRule op_by_op(UpdateRule rule) {
  rule.op_by_op = true;
  return rule;
}

const UpdateRule kRules[] = {
    rule("sgd", 1, 3, sgd<false>),
    rule("nesterov", 1, 3, sgd<true>),
    rule("adam", 3, 5, adam, 4),
    rule("adamax", 2, 4, adamax),
    rule("nadam", 2, 7, nadam, 6),
    rule("radam", 2, 6, radam, 5),
    rule("rmsprop", 3, 4, rmsprop),
    rule("adagrad", 1, 2, adagrad),
    rule("adadelta", 2, 3, adadelta),
    rule("asgd", 1, 3, asgd),
    rule("rprop", 2, 4, rprop),
    op_by_op(rule("adafactor", 3, 7, adafactor, 4)),
    rule("lion", 1, 4, lion, 3),
    rule("lamb", 2, 7, lamb),
    rule("lars", 1, 5, lars),
    op_by_op(rule("muon", 1, 9, muon<false>, 2)),
    op_by_op(rule("muon_nesterov", 1, 9, muon<true>, 2)),
};

// Numbers of an update after those of its rule.
enum Extra : uint8_t { kWeightDecay, kSkip, kMaximize, kExtras };

// What a step writes: the parameter, then its states. Undefined states have none.
std::vector<Tensor> stepped(const UpdateRule& rule, const Tensor& p, Tensor g, std::vector<Tensor> states,
                            const Tensor* numbers) {
  const Tensor* extra = numbers + rule.numbers;
  if (extra[kMaximize]) g = -g;
  if (extra[kWeightDecay]) g = g + p * extra[kWeightDecay];
  const std::vector<Tensor> before = states;
  std::vector<Tensor> values{rule.step(p, g, states.data(), numbers)};
  values.insert(values.end(), states.begin(), states.end());
  for (size_t k = 0; k < values.size(); ++k)
    if (extra[kSkip] && values[k]) values[k] = where(extra[kSkip], k ? before[k - 1] : p, values[k]);
  return values;
}

// The first `used` of `count` states of each parameter; the others stay undefined.
States zeros(const std::vector<Tensor>& parameters, int used, int count) {
  States states;
  for (const Tensor& p : parameters) {
    states.emplace_back(count);
    for (int k = 0; k < used; ++k) states.back()[k] = full(p.shape(), 0, p.dtype(), p.device());
  }
  return states;
}

// If recording the step fails half-way, none of it is done.
class AllOrNothing {
 public:
  explicit AllOrNothing(const std::vector<Tensor>& parameters) {
    for (const Tensor& p : parameters) {
      Log& log = log_of(p.device());
      if (std::none_of(before_.begin(), before_.end(), [&](const auto& b) { return b.first == &log; }))
        before_.emplace_back(&log, log.writes());
    }
  }
  ~AllOrNothing() {
    for (const auto& [log, writes] : before_) log->take_back(writes);
  }
  void done() { before_.clear(); }

 private:
  std::vector<std::pair<Log*, Writes>> before_;
};

std::vector<Tensor> write_out(const Node& update) {
  const auto& rule = *std::find_if(std::begin(kRules), std::end(kRules), [&](auto& r) { return &r.op == update.op; });
  std::vector<Tensor> states;
  for (int k = 0; k < rule.states; ++k) states.push_back(state_of(update, k));
  return stepped(rule, tensor_of(update), gradient_of(update), std::move(states), numbers_of(update).data());
}

void step_op_by_op(const UpdateRule& rule, const Updated& u, const Tensor* numbers) {
  const std::vector<Tensor> values = stepped(rule, u.tensor.detach(), u.gradient.detach(), u.states, numbers);
  copy_(u.tensor, values[0]);
  for (size_t k = 0; k < u.states.size(); ++k)
    if (u.states[k]) copy_(u.states[k], values[k + 1]);
}

bool is_one(const Tensor& n) { return n.is_number() && n->number.f == 1; }
Tensor decay(double weight_decay) { return weight_decay ? Tensor(weight_decay) : Tensor(); }

}  // namespace

const UpdateRule& update_rule(const std::string& name) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules), [&](auto& r) { return name == r.op.name; });
  if (found == std::end(kRules)) fail<ValueError>("optim", "there is no rule " + name, "see cpp/ops/optim.cpp");
  return *found;
}

void update(const UpdateRule& rule, const std::vector<Tensor>& parameters, const States& states,
            const std::vector<Tensor>& numbers, const UpdateOptions& o) {
  GradMode off(false);
  const EngineLock all_at_once;  // of steps of two threads none is lost
  AllOrNothing whole(parameters);
  std::vector<Tensor> all = numbers;
  if (rule.shrink >= 0 && is_one(all[static_cast<size_t>(rule.shrink)])) all[static_cast<size_t>(rule.shrink)] = {};
  all.resize(static_cast<size_t>(rule.numbers + kExtras));
  Tensor* extra = all.data() + rule.numbers;
  extra[kWeightDecay] = o.weight_decay;
  if (o.found_inf) extra[kSkip] = o.found_inf.detach() > 0;
  if (o.maximize) extra[kMaximize] = 1.0;
  std::vector<Updated> tensors;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].grad()) tensors.push_back({parameters[i], parameters[i].grad(), states[i]});
  if (rule.op_by_op || detect_nan)
    for (const Updated& u : tensors) step_op_by_op(rule, u, all.data());
  else if (!tensors.empty())
    update_all(rule.op, all, tensors);
  whole.done();
}

void sgd_step(const std::vector<Tensor>& parameters, States& states, const SgdOptions& o) {
  if (states.empty()) states = zeros(parameters, o.momentum ? 1 : 0, 1);
  update(update_rule("sgd"), parameters, states, {o.lr, o.momentum, 1.0},
         {.weight_decay = decay(o.weight_decay), .found_inf = {}});
}

void adam_step(const std::vector<Tensor>& parameters, States& states, int64_t step, const AdamOptions& o) {
  if (states.empty()) states = zeros(parameters, 2, 3);
  const double t = static_cast<double>(step), root = std::sqrt(1 - std::pow(o.beta2, t));
  const double rate = o.lr * root / (1 - std::pow(o.beta1, t));
  update(update_rule("adam"), parameters, states, {rate, o.beta1, o.beta2, o.eps * root, 1.0},
         {.weight_decay = decay(o.weight_decay), .found_inf = {}});
}

}  // namespace sg
