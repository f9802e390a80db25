// The gradient graph: exact gradients, its life, and chains that no stack could walk.
#include <pthread.h>

#include "test_schedule_plans.hpp"

using namespace sg;
using namespace sg::testing;

namespace {

Tensor leaf(const std::vector<float>& v) { return tensor(v, {static_cast<int64_t>(v.size())}).requires_grad_(); }

// Runs `work` in a thread with little stack, as threads of some systems have.
void on_small_stack(void (*work)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  auto body = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, reinterpret_cast<void*>(work)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("gradients add up over uses and calls", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2, 3});
  backward(sum(x * x + x));
  CHECK(values(x.grad()) == std::vector<float>{3, 5, 7});
  backward(sum(x * 10));
  CHECK(values(x.grad()) == std::vector<float>{13, 15, 17});
}

TEST_CASE("a broadcast input gets the sum", "[grad]") {
  EmptyLog empty;
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3}).requires_grad_(), b = leaf({1, 1, 1});
  const Tensor s = tensor({2}, {}).requires_grad_();
  backward(sum(x * b * s));
  CHECK(values(b.grad()) == std::vector<float>{10, 14, 18});
  CHECK(values(s.grad()) == std::vector<float>{21});
}

TEST_CASE("gradients at kinks", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({-1, 0, 1}), zero = leaf({0, 0, 0});
  backward(sum(relu(x)));
  CHECK(values(x.grad()) == std::vector<float>{0, 0, 1});
  x->grad = {};
  backward(sum(abs(x)));
  CHECK(values(x.grad()) == std::vector<float>{-1, 0, 1});
  x->grad = {};
  backward(sum(maximum(x, zero)));
  CHECK(values(x.grad()) == std::vector<float>{0, 0.5f, 1});
  CHECK(values(zero.grad()) == std::vector<float>{1, 0.5f, 0});
  const Tensor ties = leaf({3, 1, 3, 3});
  backward(amax(ties, {0}));
  const float third = 1.f / 3;
  CHECK(values(ties.grad()) == std::vector<float>{third, 0, third, third});
}

TEST_CASE("a gradient reads the attributes that its op recorded, and no others", "[grad]") {
  EmptyLog empty;
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3}).requires_grad_();
  const Tensor y = sum(x, {1});
  const Attributes& attributes = y.grad_fn()->attributes;
  CHECK(attributes.as<ReduceAttributes>().axes == 2);
  CHECK_THROWS_AS(attributes.as<StridedAttributes>(), Error);
  CHECK_THROWS_AS(Attributes().as<ReduceAttributes>(), Error);
}

TEST_CASE("a freed graph is refused, a retained one is not", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(exp(x));
  backward(y, {}, {.retain_graph = true});
  backward(y);
  CHECK_THROWS_AS(backward(y), Error);
  CHECK_THROWS_AS(backward(x * 2), ValueError);  // two elements and no gradient given
  CHECK_THROWS_AS(backward(tensor({1}, {1})), Error);
}

TEST_CASE("saved values end with backward", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor h = exp(x);
  const NodeRef saved = h->storage->node.ref();
  const Tensor y = sum(tanh(h));
  h = {};
  CHECK(saved->held > 0);
  backward(y);
  CHECK(saved->held == 0);
}

TEST_CASE("the gradient of a product is laid out as its factors", "[grad]") {
  EmptyLog empty;
  const Tensor x = numbers({4, 3}), w = numbers({5, 3}).requires_grad_(), v = numbers({3, 5}).requires_grad_();
  const Tensor g = numbers({4, 5});
  backward(matmul(x, transpose(w, 0, 1)), g);
  backward(matmul(x, v), g);
  CHECK(w.grad().contiguous());
  CHECK(v.grad().contiguous());
  CHECK(values(transpose(w.grad(), 0, 1)) == values(v.grad()));
}

TEST_CASE("second derivatives", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({0.5f, 2});
  const Tensor y = sum(x * x * x);
  const Tensor g = grad(y, {x}, {}, {.create_graph = true})[0];
  const Tensor h = grad(sum(g), {x})[0];
  CHECK(values(g) == std::vector<float>{0.75f, 12});
  CHECK(values(h) == std::vector<float>{3, 12});
  CHECK_FALSE(x.grad());
}

TEST_CASE("detach and no_grad cut the graph", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({2, 3});
  backward(sum(x * x.detach()));
  CHECK(values(x.grad()) == std::vector<float>{2, 3});
  GradMode off(false);
  CHECK_FALSE((x * 2).requires_grad());
}

TEST_CASE("every leaf owns its gradient", "[grad]") {
  EmptyLog empty;
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor given = tensor({1, 1}, {2});
  backward(a + b, given);
  copy_(a.grad(), a.grad() * 5);
  CHECK(values(a.grad()) == std::vector<float>{5, 5});
  CHECK(values(b.grad()) == std::vector<float>{1, 1});
  CHECK(values(given) == std::vector<float>{1, 1});
}

TEST_CASE("a gradient can be written element by element", "[grad]") {
  EmptyLog empty;
  const Tensor x = tensor({1, 2, 3, 4}, {2, 2}).requires_grad_();
  backward(sum(x));  // an expanded 1
  copy_(select(x.grad(), 0, 0), Tensor(9.0));
  CHECK(values(x.grad()) == std::vector<float>{9, 9, 1, 1});
}

TEST_CASE("writing through a view that repeats its elements is refused", "[graph]") {
  EmptyLog empty;
  const Tensor x = tensor({1}, {1});
  CHECK_THROWS_AS(copy_(expand(x, {3}), tensor({1, 2, 3}, {3})), ValueError);
}

TEST_CASE("a write of a value that could not be had changes nothing", "[graph]") {
  EmptyLog empty;
  const Tensor x = tensor({1, 2}, {2});
  const Tensor failed = x + 1;
  flush(cpu());
  failed->storage->node->state = Node::State::failed;
  failed->storage->node->error = std::make_exception_ptr(OutOfMemoryError("add: made up"));
  CHECK_THROWS_AS(copy_(x, failed), OutOfMemoryError);
  CHECK_THROWS_AS(failed * 2, OutOfMemoryError);
  CHECK_THROWS_AS(values(failed), OutOfMemoryError);
  CHECK(values(x + 1) == std::vector<float>{2, 3});
}

TEST_CASE("several roots are one pass, to the inputs that are asked for", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor h = exp(x * w);
  const std::vector<Tensor> found = grad({sum(h), sum(x * 5)}, {x}, {Tensor(), tensor({2}, {})});
  CHECK(values(found[0])[0] == 3 * values(h)[0] + 10);
  CHECK_THROWS_AS(backward(sum(h)), Error);  // its values are gone
  CHECK_FALSE(w.grad());
}

TEST_CASE("a write in place is part of gradients, also through views", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2, early = reshape(y, {3, 1});
  copy_(slice(y, 0, 0, 1, 1), Tensor(7.0));
  const Tensor tail = slice(y, 0, 1, 2, 1);
  rewrite_(tail, [&](const Tensor& before) { return before * slice(x, 0, 0, 2, 1); });
  backward(sum(early));
  CHECK(values(early) == std::vector<float>{7, 4, 12});
  CHECK(values(x.grad()) == std::vector<float>{4, 6 + 2, 4});
  CHECK_THROWS_AS(copy_(x, Tensor(0)), Error);
}

TEST_CASE("a value that was overwritten is not used", "[grad]") {
  EmptyLog empty;
  const Tensor x = leaf({1, 2});
  const Tensor h = exp(x), y = sum(h * h);
  copy_(h, Tensor(0));
  CHECK_THROWS_AS(backward(y), Error);
}

TEST_CASE("a chain of a million pointwise nodes is freed on a small stack", "[graph]") {
  EmptyLog empty;
  on_small_stack([] {
    const Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + 1;
    CHECK(item(y) == 1e6f);
    y = {};
  });
}

TEST_CASE("backward walks a long chain on a small stack", "[graph]") {
  EmptyLog empty;
  on_small_stack([] {
    const Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + 1;
    backward(y);
    CHECK(item(x.grad()) == 1.f);
  });
}

TEST_CASE("a pending chain of nodes is freed on a small stack", "[graph]") {
  EmptyLog empty;
  on_small_stack([] {
    static const OpInfo op{.name = "link", .doc = "", .kind = Kind::pointwise, .arity = 1};
    NodeRef first = leaf_node({}, DType::float32, {}, 1), last = first;
    for (int i = 0; i < 1'000'000; ++i) {
      NodeRef n(new Node);
      n->op = &op;
      n->make_room(1);
      n->inputs = 1;
      n->in[0].kind = Operand::Kind::node;
      n->in[0].node = last;
      last = n;
    }
    first = {};
    last = {};
  });
}
