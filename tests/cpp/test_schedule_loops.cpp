// Where a log with a loop in it is cut.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "schedule/loops.hpp"
#include "schedule/schedule.hpp"
#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

namespace {

constexpr int kSteps = 40;

std::vector<int32_t> cuts_of(int rounds, int64_t batch) {
  Tensor h = numbers({batch, 6});
  const Tensor w = numbers({6, 6});
  for (int t = 0; t < rounds; ++t) h = tanh(matmul(h, w) + 1);
  std::vector<int32_t> cuts = loop_cuts(log_of({}));
  values(h);
  return cuts;
}

}  // namespace

TEST_CASE("a loop is cut into pieces of 16 rounds and of 1", "[schedule]") {
  EmptyLog empty;
  const std::vector<int32_t> cuts = cuts_of(21, 3);
  REQUIRE(cuts.size() == 4);  // 18 rounds between the first and the last
  const int32_t round = cuts[3] - cuts[2];
  CHECK(cuts[1] - cuts[0] == 16 * round);
  CHECK(cuts[2] - cuts[1] == round);
}

TEST_CASE("sizes do not change where a loop is cut", "[schedule]") {
  EmptyLog empty;
  for (int rounds : {5, 17, 30}) CHECK(cuts_of(rounds, 3) == cuts_of(rounds, 11));
}

TEST_CASE("two rounds, formulas alone and layers are no loops", "[schedule]") {
  EmptyLog empty;
  CHECK(cuts_of(2, 3).empty());
  Tensor formula = numbers({5});
  const Tensor w = numbers({5});
  for (int t = 0; t < kSteps; ++t) formula = tanh(formula * w);
  CHECK(loop_cuts(log_of({})).empty());
  values(formula);
  std::vector<Tensor> weights;
  for (int t = 0; t < kSteps; ++t) weights.push_back(numbers({6, 6}));
  Tensor layers = numbers({3, 6});
  for (const Tensor& weight : weights) layers = tanh(matmul(layers, weight) + 1);
  CHECK(loop_cuts(log_of({})).empty());
  values(layers);
}

TEST_CASE("no kernel computes nodes of two pieces", "[schedule]") {
  EmptyLog empty;
  Tensor h = numbers({3, 6});
  const Tensor w = numbers({6, 6});
  for (int t = 0; t < kSteps; ++t) h = tanh(matmul(h, w) + 1);
  const Log& log = log_of({});
  ScheduleInput input{.log = log, .held = {}, .dying = {}};
  for (const NodeRef& node : log.nodes) input.held.push_back(node->held.load() > 0);
  for (const NodeRef& leaf : log.leaves) input.dying.push_back(leaf->held.load() == 0);
  const size_t together = schedule(input).plan.steps.size();
  input.cuts = loop_cuts(log);
  const Scheduled made = schedule(input);
  CHECK(made.plan.steps.size() == together);  // products part the rounds already
  input.cuts.assign(1, 1);
  CHECK(!(structure_of(input) == structure_of({log, input.held, input.dying})));
  values(h);
}
