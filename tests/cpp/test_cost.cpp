// Bytes and operations of a step, from the plan alone.
#include <catch2/catch_test_macros.hpp>

#include "plan/cost.hpp"

using namespace sg;

namespace {

View view(int32_t binding, Dims strides) {
  View v;
  v.binding = binding;
  v.strides = strides;
  return v;
}

Step step_of(Instance instance) { return {"step", {std::move(instance)}}; }

}  // namespace

TEST_CASE("cost: what repeats is read once, what is folded is computed once an element", "[cost]") {
  Plan plan;
  plan.memories = {
      {Memory::Kind::leaf, 0, 6 * 8 * 4}, {Memory::Kind::leaf, 1, 8 * 4}, {Memory::Kind::output, 0, 6 * 4}};
  ProgramBuilder b;
  b.program.domain = Dims{6, 8};
  b.program.inner = 1;
  const Expr x = b.load(b.add_view(view(0, Dims{8, 1}))), w = b.load(b.add_view(view(1, Dims{0, 1})));
  const Expr sum = b.reduce(Fold::sum, b.alu(Code::mul, DType::float32, x, w));
  b.store(b.add_view(view(2, Dims{1, 0})), b.alu(Code::sqrt, DType::float32, sum));
  annotate(b.program);
  Instance i;
  i.kernel.program = b.program;
  i.bindings = {{0, -1}, {1, -1}, {2, -1}};
  i.reads = {0, 1};
  i.writes = {2};
  const Cost cost = cost_of(plan, step_of(i));
  CHECK(cost.bytes == 4 * (6 * 8 + 8 + 6));
  CHECK(cost.flops == 6 * 8 /* mul */ + 6 * 8 /* sum */ + 6 /* sqrt */);
  CHECK(cost.shapes == "[6, 8]");
}

TEST_CASE("cost: a copy reads and writes whole memories", "[cost]") {
  Plan plan;
  plan.memories = {{Memory::Kind::leaf, 0, 40}, {Memory::Kind::output, 0, 40}};
  Instance i;
  i.kernel.kind = Kernel::Kind::copy;
  i.bindings = {{0, -1}, {1, -1}};
  i.reads = {0};
  i.writes = {1};
  CHECK(cost_of(plan, step_of(i)).bytes == 80);
  CHECK(cost_of(plan, step_of(i)).flops == 0);
}
