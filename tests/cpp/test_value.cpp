// The scalar engine without Python: graphs on the CPU, and what a graph on a device is recorded as.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "value/tape.hpp"
#include "value/value.hpp"

using sg::Value;
using namespace sg::value;

namespace {

// A device on which nothing runs: what was recorded can be looked at.
class RecordingRunner : public TapeRunner {
 public:
  const TapeWords& words(const Value& v) { return *tapes_.at(home_of(v.node()))->words; }
  uint32_t slot(const Value& v) { return v.node()->place.slot; }
  uint32_t level(const Value& v) { return words(v).level_of[slot(v)]; }
  // Operations behind the head of the strand that ends with v; -1: v is in the middle of one.
  int length(const Value& v) {
    const TapeWords& r = words(v);
    const uint32_t strand = r.strand_of[slot(v)];
    if (strand == kNone) return -1;
    const auto& s = r.strands[strand];
    int count = 0;
    for (uint32_t at = r.levels[s.level].links[s.position].first; at != kNone; at = r.more[at].code)
      count += static_cast<int>(r.more[at].going);
    return count;
  }
  double read_data(Node* n) override { return n->data; }
  double read_grad(Node* n) override { return n->grad; }
  bool backward(Node*) override { return true; }
  void begin_pass() override {}
  void backward_tape(uint32_t, const Node*, const std::vector<Node*>&) override {}

 protected:
  void start(Tape&) override {}
  void dropped(uint32_t) override {}
};

constexpr int kDevice = 99;  // of the recorder
const sg::DeviceId there{sg::DeviceId::Kind::gpu, kDevice};

RecordingRunner& runner() {
  static RecordingRunner one;
  install(one, kDevice);
  return one;
}

}  // namespace

TEST_CASE("value: micrograd's example gives its numbers") {
  Value a(-4.0), b(2.0);
  Value c = a + b, d = a * b + b.pow(3);
  c = c + (c + 1);
  c = c + (1 + c + (-a));
  d = d + (d * 2 + (b + a).relu());
  d = d + (3 * d + (b - a).relu());
  const Value e = c - d, f = e.pow(2);
  const Value g = f / 2.0 + 10.0 / f;
  g.backward();
  CHECK(std::abs(g.data() - 24.70408163265306) < 1e-12);
  CHECK(std::abs(a.grad() - 138.83381924198252) < 1e-9);
  CHECK(std::abs(b.grad() - 645.5772594752186) < 1e-9);
}

TEST_CASE("value: a chain of a million nodes is walked and freed without recursion") {
  const size_t before = arena_stats().live;
  {
    Value x(0.0);
    Value y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + x + 1;
    y.backward();
    CHECK(y.data() == 1'000'000);
    CHECK(x.grad() == 1'000'001);
  }
  CHECK(arena_stats().live == before);
  trim_arena();
  CHECK(arena_stats().live == before);
}

TEST_CASE("value: gradients of functions agree with differences") {
  using Function = Value (Value::*)() const;
  const Function functions[] = {&Value::exp, &Value::log, &Value::tanh, &Value::sigmoid, &Value::sqrt,
                                &Value::abs, &Value::sin, &Value::cos,  &Value::relu};
  for (Function f : functions) {
    const Value x(0.7);
    const Value y = (x.*f)();
    y.backward();
    const double h = 1e-6, up = (Value(0.7 + h).*f)().data(), down = (Value(0.7 - h).*f)().data();
    CHECK(std::abs(x.grad() - (up - down) / (2 * h)) < 1e-8);
  }
}

TEST_CASE("value: operations that go on from each other are one strand") {
  RecordingRunner& r = runner();
  const Value x(1.0, there), w(2.0, there);
  Value y = x * w;
  CHECK(r.length(y) == 0);
  for (int i = 0; i < 100; ++i) y = y * w + x;
  CHECK(r.level(y) == 1);
  CHECK(r.length(y) == 200);
}

TEST_CASE("value: what needs two strands of one level begins the next") {
  RecordingRunner& r = runner();
  const Value x(1.0, there), w(2.0, there);
  const Value a = (x * w).relu(), b = (w * w).relu();
  const Value c = a + b;
  CHECK(r.level(a) == 1);
  CHECK(r.level(b) == 1);
  CHECK(r.level(c) == 2);
  CHECK(r.length(a) == 1);
  const Value d = c + a;  // a is of an earlier level: the strand goes on
  CHECK(r.level(d) == 2);
  CHECK(r.length(d) == 1);
  CHECK(r.length(c) == -1);
  const Value e = d * d;  // needs itself twice
  CHECK(r.level(e) == 3);
}

TEST_CASE("value: each use of a slot has a place of its own") {
  RecordingRunner& r = runner();
  const Value x(1.0, there);
  std::vector<Value> sums;
  for (int i = 0; i < 1000; ++i) sums.push_back(x + double(i));
  const TapeWords& words = r.words(x);
  std::vector<bool> seen(2 * words.slots, false);
  uint32_t use = words.uses[r.slot(x)];
  size_t count = 0;
  REQUIRE((use & kElsewhere) != 0);
  for (uint32_t at = use & ~kElsewhere; at != kNone; at = words.chunks[at]) {
    const uint32_t n = words.chunks[at + 1] & 0xffffu;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t place = words.chunks[at + 2 + i];
      CHECK_FALSE(seen.at(place));
      seen[place] = true;
      ++count;
    }
  }
  CHECK(count == 1000);
}

TEST_CASE("value: a tape goes with its last node") {
  RecordingRunner& r = runner();
  const size_t before = arena_stats().live;
  {
    Value x(1.0, there);
    x = (x * 3 + 1).tanh();
  }
  CHECK(arena_stats().live == before);
  const Value fresh(1.0, there);
  CHECK(r.slot(fresh) == 0);
}
