// Planning takes time in proportion to what is planned, whatever the shape of the graph. Steps are counted, not seconds.
#include <functional>
#include <map>
#include <string>

#include "schedule/schedule.hpp"
#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

namespace {

using Family = std::function<std::vector<Tensor>(int)>;  // records about so many operations; what is held
const std::map<std::string, Family> kFamilies = {
    {"chain",
     [](int n) {
       Tensor x = numbers({8});
       for (int i = 0; i < n; ++i) x = tanh(x);
       return std::vector{x};
     }},
    {"chain with its gradient",
     [](int n) {
       Tensor w = numbers({1}).requires_grad_(), h = numbers({1});
       for (int i = 0; i < n / 9; ++i) h = tanh(h * select(w, 0, 0));
       backward(sum(h));
       return std::vector{Tensor(w->grad)};
     }},
    {"fan",
     [](int n) {
       const Tensor x = numbers({8});
       std::vector<Tensor> out;
       for (int i = 0; i < n; ++i) out.push_back(x + i);
       return out;
     }},
    {"tree",
     [](int n) {
       std::vector<Tensor> level;
       for (int i = 0; i < n / 2; ++i) level.push_back(numbers({4}));
       while (level.size() > 1) {
         std::vector<Tensor> next;
         for (size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
         if (level.size() % 2) next.push_back(level.back());
         level = next;
       }
       return level;
     }},
    {"scalars of many rows, stacked",
     [](int n) {
       const Tensor x = numbers({8, 8}), w = numbers({8, 4});
       std::vector<Tensor> rows;
       for (int i = 0; i < n / 8; ++i) rows.push_back(select(select(log_softmax(matmul(x, w), 1), 0, 0), 0, 1));
       return std::vector{sum(stack(rows))};
     }},
    {"a result that grows",
     [](int n) {
       Tensor h = numbers({1, 4});
       for (int i = 0; i < n / 4; ++i) {
         const int64_t rows = h.shape()[0], kept = std::min<int64_t>(rows, 16);
         h = cat({slice(h, 0, rows - kept, kept, 1), slice(h, 0, rows - 1, 1, 1) * 0.5});
       }
       return std::vector{h};
     }},
    {"products",
     [](int n) {
       const Tensor w = numbers({4, 4});
       Tensor x = w;
       for (int i = 0; i < n; ++i) x = matmul(x, w);
       return std::vector{x};
     }},
    {"a deep network with its gradients",
     [](int n) {
       std::vector<Tensor> weights, out;
       for (int i = 0; i < n / 7; ++i) weights.push_back(numbers({8, 8}).requires_grad_());
       Tensor x = numbers({4, 8});
       for (const Tensor& w : weights) x = relu(matmul(x, w));
       backward(sum(x));
       for (const Tensor& w : weights) out.emplace_back(w->grad);
       return out;
     }},
    {"norms",
     [](int n) {
       Tensor x = numbers({4, 8});
       for (int i = 0; i < n / 5; ++i) x = (x - mean(x, 2u, true)) * 0.5 + 1.0;
       return std::vector{x};
     }},
    {"softmaxes with their gradient",
     [](int n) {
       const Tensor x = numbers({4, 8}).requires_grad_();
       Tensor y = x;
       for (int i = 0; i < n / 16; ++i) y = softmax(y * 0.5, 1);
       backward(sum(y));
       return std::vector{Tensor(x->grad)};
     }},
    {"writes in place",
     [](int n) {
       Tensor x = numbers({64}) * 1.0;
       for (int i = 0; i < n / 3; ++i) copy_(slice(x, 0, i % 62, 2, 1), slice(x, 0, i % 62, 2, 1) + 1.0);
       return std::vector{x};
     }},
    {"a loop with one weight",
     [](int n) {
       const Tensor w = numbers({8, 8}).requires_grad_(), xs = numbers({n, 2, 8});
       Tensor h = numbers({2, 8});
       for (int i = 0; i < n / 9; ++i) h = tanh(select(xs, 0, i) + matmul(h, w));
       backward(sum(h));
       return std::vector{Tensor(w->grad)};
     }},
};

// No two temporaries that live at once share a byte; also of plans with more of them than are packed tightly.
bool are_apart(const Plan& plan) {
  const auto steps = static_cast<int>(plan.steps.size());
  std::vector<int> first(plan.memories.size(), steps), last(plan.memories.size(), -1);
  for (int s = 0; s < steps; ++s)
    for (const Instance& instance : plan.steps[static_cast<size_t>(s)].instances)
      for (const auto* list : {&instance.reads, &instance.writes})
        for (int32_t m : *list) {
          first[static_cast<size_t>(m)] = std::min(first[static_cast<size_t>(m)], s);
          last[static_cast<size_t>(m)] = s;
        }
  for (size_t a = 0; a < plan.memories.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const Memory &x = plan.memories[a], &y = plan.memories[b];
      if (x.kind != Memory::Kind::temp || y.kind != Memory::Kind::temp) continue;
      if (last[a] < first[b] || last[b] < first[a]) continue;
      if (x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes) return false;
    }
  return true;
}

// Steps of the scheduler for one operation that is pending.
double work_for_one(const Family& family, int n) {
  EmptyLog empty;
  const std::vector<Tensor> held = family(n);
  const Log& log = log_of(cpu());
  ScheduleInput input{.log = log, .held = {}, .dying = {}};
  for (const NodeRef& node : log.nodes) input.held.push_back(node->held.load() > 0);
  for (const NodeRef& leaf : log.leaves) input.dying.push_back(leaf->held.load() == 0);
  REQUIRE(log.nodes.size() > static_cast<size_t>(n) / 4);
  const Scheduled made = schedule(input);
  CHECK(are_apart(made.plan));
  return static_cast<double>(made.work) / static_cast<double>(log.nodes.size());
}

}  // namespace

TEST_CASE("planning is linear for every family of graphs", "[schedule]") {
  for (const auto& [name, family] : kFamilies) {
    const double few = work_for_one(family, 2000), many = work_for_one(family, 7000);
    INFO(name << ": " << few << " steps for each of 2,000 operations, " << many << " for each of 7,000");
    CHECK(few < 150);
    CHECK(many < 150);
  }
}
