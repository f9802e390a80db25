// A plan is found by structure: with other sizes it is the plan that would be made for these.
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "schedule/schedule.hpp"
#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

namespace {

constexpr uint32_t kRows = 1, kColumns = 2;  // dimensions to fold

using Made = std::function<Tensor(int64_t)>;

// What a flush would schedule; everything that is alive is held.
ScheduleInput pending(const Log& log) {
  ScheduleInput input{.log = log, .held = {}, .dying = {}};
  for (const NodeRef& node : log.nodes) input.held.push_back(node->held.load() > 0);
  for (const NodeRef& leaf : log.leaves) input.dying.push_back(leaf->held.load() == 0);
  return input;
}

Tensor layer_norm_block(int64_t n) {
  const Tensor x = numbers({n, 24}), w = numbers({24, 24}), g = numbers({24});
  const Tensor h = x - mean(x, kColumns, true);
  return relu(matmul(h * rsqrt(mean(h * h, kColumns, true) + 1e-5) * g, w)) + x;
}
Tensor joined(int64_t n) { return cat({numbers({n, 4}) * 2, numbers({1, 4}) + 1, numbers({n + 3, 4})}, 0) * 3; }
Tensor softmax_of_slice(int64_t n) { return softmax(slice(numbers({n + 1, 20}) * 0.5, 0, 1, n, 1), 1) * 2; }
Tensor turned(int64_t n) { return sum(permute(numbers({n, 5, 7}) + 1, {2, 0, 1}) * 2, kRows) - 1; }

}  // namespace

TEST_CASE("a sketch with other sizes gives the plan that is made for them", "[schedule]") {
  for (const Made program : {layer_norm_block, joined, softmax_of_slice, turned}) {
    EmptyLog empty;
    std::shared_ptr<const Sketch> sketch;
    Structure structure{};
    for (int64_t n : {31, 37, 53}) {
      const Tensor out = program(n);
      const Log& log = log_of({});
      const ScheduleInput input = pending(log);
      const Scheduled made = schedule(input);
      if (sketch) {
        CHECK(structure_of(input) == structure);
        const std::optional<Scheduled> bound = schedule_as(input, *sketch);
        REQUIRE(bound);
        CHECK(bound->plan.print() == made.plan.print());
        CHECK(bound->output_nodes == made.output_nodes);
        CHECK(bound->work < made.work);
      }
      sketch = made.sketch;
      structure = structure_of(input);
      values(out);
    }
  }
}

TEST_CASE("other sizes are bound, not scheduled", "[schedule]") {
  EmptyLog empty;
  for (const Made program : {layer_norm_block, joined, softmax_of_slice, turned}) {
    values(program(41));
    const Stats before = stats();
    values(program(43));
    values(program(47));
    values(program(43));
    const Stats after = stats();
    CHECK(after.plan_misses == before.plan_misses);
    CHECK(after.plans_bound == before.plans_bound + 2);
    CHECK(after.plan_hits == before.plan_hits + 1);
  }
}

TEST_CASE("sizes that compare otherwise ask for other kernels", "[schedule]") {
  EmptyLog empty;
  const auto long_rows = [](int64_t n) {  // a row that is read again after its fold, up to 32,768 columns
    const Tensor x = numbers({2, n});
    return x - sum(x, kColumns, true);
  };
  values(long_rows(32000));
  const Stats before = stats();
  values(long_rows(32100));
  CHECK(stats().plan_misses == before.plan_misses);
  values(long_rows(32900));
  CHECK(stats().plan_misses == before.plan_misses + 1);
  values(long_rows(1));
  CHECK(stats().plan_misses == before.plan_misses + 2);
}

TEST_CASE("plans that nobody finds again make room", "[schedule]") {
  EmptyLog empty;
  std::vector<Tensor> weights;
  for (int i = 0; i < 1000; ++i) weights.push_back(numbers({4, 4}));
  const auto chain = [&](int64_t n) {  // products do not share a kernel
    Tensor x = numbers({n, 4});
    for (const Tensor& w : weights) x = matmul(x, w);
    return x;
  };
  const auto found = [&](int64_t n) {
    const int64_t before = stats().plan_hits;
    values(chain(n));
    return stats().plan_hits == before + 1;
  };
  values(chain(3));
  CHECK(found(3));
  for (int64_t n = 4; n < 60; ++n) values(chain(n));
  CHECK(stats().plan_bytes + stats().device.kernel_bytes < int64_t{140} << 20);
  CHECK(found(3));
  CHECK(found(59));
}
