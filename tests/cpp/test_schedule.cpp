// Which ops share a kernel, and where their values live.

#include "schedule/schedule.hpp"
#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

TEST_CASE("a chain of pointwise ops is one kernel", "[schedule]") {
  EmptyLog empty;
  const Tensor a = numbers({64, 3}), b = numbers({3});
  Tensor y = a;
  for (int i = 0; i < 500; ++i) y = y * 0.999 + b;
  const auto plan = pending_plan(y);
  CHECK(plan->steps.size() == 1);
  CHECK(plan->outputs == 1);
  CHECK(plan->arena_bytes == 0);
}

TEST_CASE("only what somebody holds is written", "[schedule]") {
  EmptyLog empty;
  const Tensor a = numbers({128});
  Tensor kept = exp(a);
  Tensor y = tanh(kept) + sigmoid(a);
  CHECK(pending_plan(y)->outputs == 2);
  kept = {};
  CHECK(pending_plan(y)->outputs == 1);
  y = {};
  const auto nothing = plan_of(exp(a), false).plan;
  CHECK(nothing->outputs == 1);
}

TEST_CASE("two results of one domain are one kernel", "[schedule]") {
  EmptyLog empty;
  const Tensor a = numbers({32, 8});
  const Tensor x = a * 2, y = x + 1, z = exp(x);
  CHECK(pending_plan(z)->steps.size() == 1);
}

TEST_CASE("a softmax is one kernel of three phases", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({20, 50});
  const Tensor y = softmax(x, 1);
  const auto plan = pending_plan(y);
  REQUIRE(plan->steps.size() == 1);
  const Program& p = plan->steps[0].only().kernel.program;
  CHECK(p.phases() == 3);
  CHECK(p.inner == 1);
  CHECK(plan->arena_bytes == 0);
}

TEST_CASE("a softmax over columns is one kernel as well", "[schedule]") {
  EmptyLog empty;
  const Tensor y = softmax(numbers({20, 50}), 0);
  CHECK(pending_plan(y)->steps.size() == 1);
}

TEST_CASE("cross entropy is the count of targets, the row kernel and one sum", "[schedule]") {
  EmptyLog empty;
  const Tensor logits = numbers({64, 10});
  const Tensor target = arange(0, 0, 64, DType::int64);
  flush(cpu());
  const Tensor loss = cross_entropy(logits, target);
  CHECK(pending_plan(loss)->steps.size() <= 3);
}

TEST_CASE("bias and relu ride on the product", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({16, 12}), w = numbers({12, 8}), b = numbers({8});
  const Tensor y = relu(matmul(x, w) + b);
  const auto plan = pending_plan(y);
  REQUIRE(plan->steps.size() == 1);
  const Kernel& kernel = plan->steps[0].only().kernel;
  CHECK(kernel.kind == Kernel::Kind::product);
  CHECK(kernel.product->m == 16);
  CHECK(kernel.product->n == 8);
  CHECK(kernel.product->k == 12);
  CHECK(kernel.product->epilogue.views[0].binding == -1);
  CHECK(plan->arena_bytes == 0);
}

TEST_CASE("a transposed operand is strides of the product", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({16, 12}), w = numbers({8, 12});
  const Tensor y = matmul(x, transpose(w, 0, 1));
  const auto plan = pending_plan(y);
  REQUIRE(plan->steps.size() == 1);
  const Product& p = *plan->steps[0].only().kernel.product;
  CHECK(p.b_k == 1);
  CHECK(p.b_n == 12);
}

TEST_CASE("a long sum is cut in pieces, by sizes alone", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({1 << 20});
  const Tensor y = sum(x);
  const auto plan = pending_plan(y);
  REQUIRE(plan->steps.size() == 2);
  CHECK(plan->steps[0].name == "sum_pieces");
  CHECK(plan->steps[0].only().kernel.program.piece_limit == 1 << 20);
  CHECK(plan->steps[1].name == "sum");
  CHECK(plan->arena_bytes > 0);
}

TEST_CASE("columns of a tall matrix are cut in pieces", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({4096, 48});
  const Tensor y = sum(x * x, 1u << 0);
  CHECK(pending_plan(y)->steps.size() == 2);
  std::vector<float> in = values(x), out = values(y);
  for (size_t c = 0; c < 48; ++c) {
    double expected = 0;
    for (size_t r = 0; r < 4096; ++r) expected += double(in[r * 48 + c]) * double(in[r * 48 + c]);
    CHECK(std::abs(out[c] - expected) < 1e-4 * expected);
  }
}

TEST_CASE("a number for each row does not say that the rows of a tall matrix lie along it", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({4096, 48}), scale = numbers({4096, 1});
  const Tensor y = sum(x * scale, 1u << 0);
  CHECK(pending_plan(y)->steps.size() == 2);
  const std::vector<float> in = values(x), each = values(scale), out = values(y);
  for (size_t c = 0; c < 48; ++c) {
    double expected = 0;
    for (size_t r = 0; r < 4096; ++r) expected += double(in[r * 48 + c]) * double(each[r]);
    CHECK(std::abs(out[c] - expected) < 1e-3);
  }
}

namespace {

// How many kernels a GPU with these features would launch for what is pending.
size_t launches(const Features& gpu) {
  const Log& log = log_of(cpu());
  ScheduleInput input{.log = log, .held = {}, .dying = std::vector<bool>(log.leaves.size()), .gpu = &gpu};
  for (const NodeRef& node : log.nodes) input.held.push_back(node->held.load() > 0);
  return schedule(input).plan.steps.size();
}

}  // namespace

TEST_CASE("what a product's threads would compute slowly is a kernel of its own on a GPU", "[schedule]") {
  const Features gpu;
  for (int64_t m : {64, 1030}) {
    CAPTURE(m);
    EmptyLog empty;
    const auto count = [&](auto f) {
      const Tensor y = f(matmul(numbers({m, 4}), numbers({4, 1030})));
      return launches(gpu);
    };
    CHECK(count([](const Tensor& p) { return relu(p) + 1; }) == 1);
    CHECK(count([](const Tensor& p) { return tanh(p); }) == 1);
    CHECK(count([](const Tensor& p) { return exp(p) * gelu(p, "none"); }) == (m == 64 ? 1 : 2));
  }
  EmptyLog empty;  // a processor has the sums in its cache
  const Tensor p = matmul(numbers({1030, 4}), numbers({4, 1030})), y = exp(p) * gelu(p, "none");
  CHECK(plan_of(y, false).plan->steps.size() == 1);
}

TEST_CASE("formulas are followed through views", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({6, 4, 5});
  const Tensor doubled = x * 2;
  const Tensor a = reshape(doubled, {6, 20}) + 1;              // merged dimensions
  const Tensor b = transpose(slice(a, 1, 2, 8, 2), 0, 1) * 3;  // [8, 6]
  const Tensor y = reshape(b, {4, 2, 6}) - expand(numbers({6}), {4, 2, 6});
  CHECK(pending_plan(y)->steps.size() <= 4);  // `doubled`, `a` and `b` are held and of other domains
  const std::vector<float> in = values(x), out = values(y), row = values(numbers({6}));
  for (size_t j = 0; j < 8; ++j)
    for (size_t i = 0; i < 6; ++i) {
      const float expected = (in[i * 20 + 2 + 2 * j] * 2 + 1) * 3 - row[i];
      CHECK(out[j * 6 + i] == expected);
    }
}

TEST_CASE("views between temporaries need no kernel", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({6, 4, 5});
  auto chain = [&] { return transpose(slice(reshape(x * 2, {6, 20}) + 1, 1, 2, 8, 2), 0, 1) * 3; };
  const Tensor y = chain();
  const auto plan = pending_plan(y);
  CHECK(plan->steps.size() == 1);
  CHECK(plan->arena_bytes == 0);
  CHECK(plan->outputs == 1);
}

TEST_CASE("a reshape that no strides can follow stores its input", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({3, 4}), scale = numbers({4});
  const Tensor y = reshape(contiguous(transpose(x * scale, 0, 1)), {2, 6}) + 1;
  pending_plan(y);
  const std::vector<float> in = values(x), s = values(scale), out = values(y);
  for (size_t k = 0; k < 12; ++k) CHECK(out[k] == in[k % 3 * 4 + k / 3] * s[k / 3] + 1);
}

TEST_CASE("a write in place takes over the memory of a value that nobody holds", "[schedule]") {
  EmptyLog empty;
  Tensor p = numbers({40}), g = numbers({40}, 0.5f);
  copy_(p, p - g * 0.1);
  const auto plan = pending_plan(p);
  REQUIRE(plan->steps.size() == 1);
  REQUIRE(plan->outputs == 1);
  int donors = 0;
  for (const Memory& m : plan->memories)
    if (m.kind == Memory::Kind::output) donors += m.donor >= 0;
  CHECK(donors == 1);
}

TEST_CASE("a write in place leaves a held old value alone", "[schedule]") {
  EmptyLog empty;
  Tensor p = numbers({40});
  const std::vector<float> old = values(p);
  Tensor saved = p.detach();
  Tensor kept = wrap(p->storage->node.ref(), p.shape());  // as a saved value does
  copy_(slice(p, 0, 0, 10, 1), Tensor(7.0));
  const auto plan = pending_plan(p);
  CHECK(count_steps(*plan, Kernel::Kind::copy) == 1);
  for (const Memory& m : plan->memories) CHECK(m.donor == -1);
  CHECK(values(kept) == old);
  CHECK(values(saved)[3] == 7.f);  // the same storage
  CHECK(values(p)[10] == old[10]);
}

TEST_CASE("a write in place waits for kernels that read the old value", "[schedule]") {
  EmptyLog empty;
  Tensor p = numbers({64, 64});
  const std::vector<float> old = values(p);
  const Tensor before = matmul(p, p);  // reads the old value in another order
  copy_(p, p * 0.5);
  const Tensor after = sum(p, 1u << 1);
  pending_plan(after);
  std::vector<float> expected(64, 0.f);
  for (size_t i = 0; i < 64; ++i)
    for (size_t j = 0; j < 64; ++j) expected[i] += old[i * 64 + j] * 0.5f;
  const std::vector<float> got = values(after), product = values(before);
  double want = 0;
  for (size_t k = 0; k < 64; ++k) want += double(old[k]) * double(old[k * 64]);
  CHECK(std::abs(product[0] - want) < 1e-4);
  for (size_t i = 0; i < 64; ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-4f);
}

TEST_CASE("a shifted copy within one tensor reads the old values", "[schedule]") {
  EmptyLog empty;
  Tensor p = numbers({100});
  const std::vector<float> old = values(p);
  copy_(slice(p, 0, 1, 99, 1), slice(p, 0, 0, 99, 1));
  const std::vector<float> now = values(p);
  CHECK(now[0] == old[0]);
  for (size_t i = 1; i < 100; ++i) CHECK(now[i] == old[i - 1]);
}

TEST_CASE("a transposed square is written onto itself", "[schedule]") {
  EmptyLog empty;
  Tensor p = numbers({16, 16});
  const std::vector<float> old = values(p);
  copy_(p, transpose(p, 0, 1));
  const std::vector<float> now = values(p);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 16; ++j) CHECK(now[i * 16 + j] == old[j * 16 + i]);
}

TEST_CASE("several writes to one tensor happen in order", "[schedule]") {
  EmptyLog empty;
  Tensor p = full({12}, 1);
  copy_(slice(p, 0, 0, 6, 1), Tensor(2.0));
  copy_(slice(p, 0, 3, 6, 1), slice(p, 0, 0, 6, 1) + 1);
  copy_(p, p * 10);
  pending_plan(p);
  CHECK(values(p) == std::vector<float>{20, 20, 20, 30, 30, 30, 30, 30, 30, 10, 10, 10});
}

TEST_CASE("memory of values that are done is used again", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({64, 64});
  Tensor y = x;
  for (int i = 0; i < 8; ++i) y = matmul(y, x);
  const auto plan = pending_plan(y);
  CHECK(plan->steps.size() == 8);
  CHECK(plan->arena_bytes == 2 * 64 * 64 * 4);  // a value and its successor
}

TEST_CASE("equal updates of many tensors are one launch", "[schedule]") {
  EmptyLog empty;
  std::vector<Tensor> parameters;
  States states;
  for (int64_t n : {100, 7, 33, 2, 256, 64}) parameters.push_back(numbers({n}).requires_grad_());
  for (Tensor& p : parameters) p->grad = numbers(p.shape(), 0.3f).ref();
  sgd_step(parameters, states, {.lr = 0.1});
  const auto plan = pending_plan(parameters[0]);
  REQUIRE(plan->steps.size() == 1);
  CHECK(plan->steps[0].instances.size() == 6);
}

TEST_CASE("the structure of a log finds its plan again", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({60}), z = numbers({60}, 0.2f);
  auto step = [](const Tensor& a, double factor) { return values(exp(a * factor) + factor); };
  auto part = [](const Tensor& a, int64_t start) { return slice(a, 0, start, 50, 1); };
  step(part(x, 0), 0.25);
  const Stats before = stats();
  step(part(z, 0), 0.5);  // another tensor, another number
  step(part(x, 8), 2);    // another offset of the same alignment
  Stats after = stats();
  CHECK(after.plan_misses == before.plan_misses);
  CHECK(after.plan_hits == before.plan_hits + 2);
  step(numbers({51}), 0.5);  // another size: see test_schedule_sizes.cpp
  after = stats();
  CHECK(after.plan_misses == before.plan_misses);
  CHECK(after.plans_bound == before.plans_bound + 1);
  CHECK(after.plan_hits == before.plan_hits + 2);
}

TEST_CASE("which leaves are the same is part of the structure", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({50}), y = numbers({50}, 0.3f);
  const std::vector<float> xy = values(x * y + x);
  const Stats before = stats();
  const std::vector<float> xx = values(x * x + x), yx = values(y * x + y);
  CHECK(stats().plan_misses == before.plan_misses + 1);  // x*x; y*x+y has the structure of x*y+x
  const std::vector<float> a = values(x), b = values(y);
  for (size_t i = 0; i < 50; ++i) {
    CHECK(xx[i] == a[i] * a[i] + a[i]);
    CHECK(yx[i] == b[i] * a[i] + b[i]);
  }
}

TEST_CASE("which results are held is part of the structure", "[schedule]") {
  EmptyLog empty;
  const Tensor x = numbers({50});
  auto dropped = [&] { return tanh(x * 2); };  // the product dies before the flush
  values(dropped());
  const Stats before = stats();
  const Tensor inner = x * 2;
  const std::vector<float> out = values(tanh(inner));
  CHECK(stats().plan_misses == before.plan_misses + 1);
  CHECK(values(inner)[1] == values(x)[1] * 2);
}

TEST_CASE("one kernel an op when fusion is off", "[schedule]") {
  EmptyLog empty;
  Environment off("SPIROGRAD_FUSE", "0");
  const Tensor x = numbers({50});
  const Tensor y = tanh(x * 2 + 1);
  CHECK(pending_plan(y)->steps.size() == 3);
}

TEST_CASE("looking at a plan runs nothing", "[schedule]") {
  EmptyLog empty;
  const Tensor y = numbers({50}) * 2;
  const Stats before = stats();
  CHECK(plan_of(y, true).plan->print() == plan_of(y, false).plan->print());
  CHECK_FALSE(describe_graph(y).empty());
  CHECK_FALSE(explain(y).empty());
  const Stats after = stats();
  CHECK(y->storage->node->pending());
  CHECK(after.device.submissions == before.device.submissions);
  CHECK(after.plan_misses == before.plan_misses);
  CHECK(after.plan_hits == before.plan_hits);
}
