// Whole training steps, and random logs, fused and unfused.
#include <random>

#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

namespace {

struct Mlp {
  std::vector<Tensor> parameters;
  States states;
  int64_t step = 0;
  Tensor x = numbers({64, 784}, 0.001f), y = cast(arange(0, 0, 64, DType::int64), DType::int64);

  Mlp() {
    const int64_t sizes[] = {784, 512, 256, 10};
    for (int i = 0; i < 3; ++i) {
      parameters.push_back(numbers({sizes[i + 1], sizes[i]}, 0.0005f).requires_grad_());
      parameters.push_back(numbers({sizes[i + 1]}, 0.0005f).requires_grad_());
    }
    flush(cpu());
  }

  // Records one step; `loss` is held.
  Tensor record() {
    for (Tensor& p : parameters) p->grad = {};
    Tensor h = x;
    for (size_t i = 0; i < 6; i += 2) {
      h = matmul(h, transpose(parameters[i], 0, 1)) + parameters[i + 1];
      if (i < 4) h = relu(h);
    }
    const Tensor loss = cross_entropy(h, y);
    h = {};
    backward(loss);
    adam_step(parameters, states, ++step, {.lr = 1e-3});
    return loss;
  }
};

}  // namespace

TEST_CASE("a step of an MLP with Adam is at most 15 kernels", "[schedule]") {
  EmptyLog empty;
  Mlp mlp;
  mlp.record();
  flush(cpu());
  const Tensor loss = mlp.record();
  const auto plan = pending_plan(loss);
  INFO(plan->print());
  CHECK(plan->steps.size() <= 15);
  CHECK(count_steps(*plan, Kernel::Kind::product) == 8);
  CHECK(count_steps(*plan, Kernel::Kind::copy) == 0);
  CHECK(std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& s) { return s.instances.size() == 6; }));
  int donors = 0;
  for (const Memory& memory : plan->memories) donors += memory.donor >= 0;
  CHECK(donors == 18);  // parameters and both moments are written in place
}

TEST_CASE("an MLP learns, and every step after the second finds its plan", "[schedule]") {
  EmptyLog empty;
  Mlp mlp;
  float first = 0, last = 0;
  for (int i = 0; i < 2; ++i) first = item(mlp.record());
  reset_stats();
  for (int i = 0; i < 5; ++i) last = item(mlp.record());
  const Stats s = stats();
  CHECK(s.plan_misses == 0);
  CHECK(s.device.submissions == 5);
  CHECK(s.device.allocations == 0);
  CHECK(last < first);
}

namespace {

// A random log over a pool of tensors. Every value is small, so sums stay exact enough to compare.
class RandomLog {
 public:
  explicit RandomLog(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) pool_.push_back(numbers({die(1, 5), die(1, 6), die(1, 7)}, 0.02f));
  }

  std::vector<Tensor> run(int ops) {
    std::vector<Tensor> out;
    for (int i = 0; i < ops; ++i) {
      Tensor made = next(pick());
      if (made.numel() == 0 || made.numel() > 4000) continue;
      pool_.push_back(made);
      if (die(0, 3) == 0) out.push_back(made);
      if (die(0, 5) == 0) pool_.erase(pool_.begin() + die(0, static_cast<int64_t>(pool_.size()) - 1));
    }
    out.push_back(pool_.back());
    pool_.clear();
    return out;
  }

 private:
  int64_t die(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  Tensor pick() { return pool_[static_cast<size_t>(die(0, static_cast<int64_t>(pool_.size()) - 1))]; }

  Tensor next(const Tensor& x) {
    const int rank = x.rank();
    const int dim = rank ? static_cast<int>(die(0, rank - 1)) : 0;
    switch (die(0, 12)) {
      case 0:
        return tanh(x);
      case 1:
        return x * 0.5 + 0.25;
      case 2:
        return maximum(x, 0.1);
      case 3:
        return rank ? sum(x, 1u << dim, die(0, 1) == 1) * 0.25 : -x;
      case 4:
        return rank ? amax(x, 1u << dim, true) - x : x;
      case 5:
        return rank > 1 ? transpose(x, 0, rank - 1) : x;
      case 6:
        return rank ? slice(x, dim, die(0, (x.shape()[dim] - 1) / 2), (x.shape()[dim] + 1) / 2, 1) : x;
      case 7:
        return reshape(x, {-1});
      case 8:
        return rank ? softmax(x, dim) : x;
      case 9:
        return where(x > 0.0, x, x * -0.5);
      case 10:
        return rank == 2 ? matmul(x, transpose(x, 0, 1)) * 0.1 : unsqueeze(x, 0);
      case 11:
        return in_place(x);
      default:
        return same_shape(x);
    }
  }
  Tensor same_shape(const Tensor& x) {
    for (const Tensor& other : pool_)
      if (other.rank() <= x.rank() && other.rank() > 0) {
        bool fits = true;
        for (int d = 1; d <= other.rank(); ++d) {
          const int64_t a = x.shape()[x.rank() - d], b = other.shape()[other.rank() - d];
          fits = fits && (a == b || b == 1);
        }
        if (fits) return x - other * 0.5;
      }
    return x + 1;
  }
  // Writes through a slice of a fresh copy, then goes on with the whole.
  Tensor in_place(const Tensor& x) {
    if (!x.rank()) return x;
    const Tensor copy = x + 0.0;
    const int dim = static_cast<int>(die(0, x.rank() - 1));
    const int64_t half = (x.shape()[dim] + 1) / 2;
    copy_(slice(copy, dim, x.shape()[dim] - half, half, 1), slice(x, dim, 0, half, 1) * 2);
    return copy;
  }

  std::mt19937 random_;
  std::vector<Tensor> pool_;
};

}  // namespace

TEST_CASE("random logs obey the laws of plans and agree with one kernel an op", "[schedule][fuzz]") {
  EmptyLog empty;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    auto run = [&](bool fuse) {
      Environment mode("SPIROGRAD_FUSE", fuse ? "1" : "0");
      const std::vector<Tensor> results = RandomLog(seed).run(25);
      pending_plan(results[0]);
      std::vector<std::vector<float>> out;
      for (const Tensor& r : results) out.push_back(values(r));
      return out;
    };
    const auto fused = run(true), plain = run(false);
    REQUIRE(fused.size() == plain.size());
    for (size_t r = 0; r < fused.size(); ++r) {
      REQUIRE(fused[r].size() == plain[r].size());
      for (size_t i = 0; i < fused[r].size(); ++i) {
        INFO("result " << r << " element " << i << ": " << fused[r][i] << " and " << plain[r][i]);
        REQUIRE(std::abs(fused[r][i] - plain[r][i]) <= 1e-4f * (1 + std::abs(plain[r][i])));
      }
    }
  }
}
