// No memory for the engine's own lists and objects: operator new of this program refuses the n-th request, once or from
// there on, for every n of small programs. After each: std::bad_alloc, OutOfMemoryError or the right result; what is
// written in place is as before or as after, and the same program runs again.
#include <atomic>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "engine/replay/capture.hpp"
#include "graph/log.hpp"
#include "include/spirograd.hpp"
#include "schedule/schedule.hpp"

namespace {

// Requests [refused_from, refused_to] find nothing, counted from 1; 0: all find something. Threads: any.
struct Heap {
  std::atomic<int64_t> asked{0}, refused_from{0}, refused_to{0};
  int64_t asked_before = 0;  // until the last run with refusals
  bool refuses() {
    if (refused_from.load(std::memory_order_relaxed) == 0) return false;
    const int64_t number = asked.fetch_add(1) + 1;
    return number >= refused_from && number <= refused_to;
  }
};
constinit Heap heap;

class Refusing {
 public:
  Refusing(int64_t from, int64_t to) {
    heap.asked = 0;
    heap.refused_to = to;
    heap.refused_from = from;
  }
  ~Refusing() {
    if (heap.refused_from) heap.asked_before = heap.asked;
    heap.refused_from = 0;
  }
};

void* ask(size_t bytes, size_t alignment = 0) noexcept {
  if (heap.refuses()) return nullptr;
  if (!alignment) return std::malloc(bytes ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* there(void* block) {
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

// All of them: where a sanitizer gives the others, it wants to see none of these blocks.
void* operator new(size_t n) { return there(ask(n)); }
void* operator new[](size_t n) { return there(ask(n)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return ask(n); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return ask(n); }
void* operator new(size_t n, std::align_val_t a) { return there(ask(n, static_cast<size_t>(a))); }
void* operator new[](size_t n, std::align_val_t a) { return there(ask(n, static_cast<size_t>(a))); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { std::free(block); }

namespace {

using Numbers = std::vector<float>;

class Program {
 public:
  virtual ~Program() = default;
  virtual void prepare() {}
  virtual void run() = 0;
  // After a run, all or part of which was done: "", or what is wrong.
  virtual std::string look(bool done) = 0;
};

// A log without the room that it had before.
void shrink_log() {
  sg::Log& log = sg::log_of(sg::cpu());
  if (!log.nodes.empty()) return;
  sg::Log fresh;
  fresh.thread = log.thread;
  fresh.epoch = log.epoch;
  fresh.most = log.most;
  log = std::move(fresh);
}

// In a thread that is new nothing is kept from before.
void in_new_thread(Program& program, int64_t from, int64_t to, std::exception_ptr& error) {
  std::thread([&] {
    try {
      const Refusing refusing(from, to);
      program.run();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
}

// What is wrong after a run whose requests [from, to] were refused, and after one more.
std::string attempt(Program& program, int64_t from, int64_t to) {
  program.prepare();
  shrink_log();
  std::exception_ptr error;
  in_new_thread(program, from, to, error);
  const bool reached = from > 0 && heap.asked_before >= from;
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    if (!reached) return "an error without a cause";
  } catch (const sg::OutOfMemoryError&) {
    if (!reached) return "an error without a cause";
  } catch (const std::exception& e) {
    return std::string("another error: ") + e.what();
  }
  try {
    if (std::string wrong = program.look(!error); !wrong.empty()) return wrong;
    error = {};
    program.prepare();
    in_new_thread(program, 0, 0, error);
    if (error) std::rethrow_exception(error);
    if (std::string wrong = program.look(true); !wrong.empty()) return "afterwards: " + wrong;
  } catch (const std::exception& e) {
    return std::string("afterwards: ") + e.what();
  }
  return "";
}

template <class P>
void sweep() {
  P program;
  for (int i = 0; i < 4; ++i) REQUIRE(attempt(program, 0, 0) == "");  // plans are made
  int64_t bytes = 0;
  int64_t refused = 0;
  for (bool once : {true, false}) {
    for (int64_t from = 1;; ++from) {
      const std::string wrong = attempt(program, from, once ? from : INT64_MAX);
      INFO("request " << from << (once ? ": " : " and all later ones: ") << wrong);
      if (!wrong.empty()) CHECK(wrong.empty());
      if (heap.asked_before < from) break;
      ++refused;
    }
    // The first time, parts of plans may make the device's own memory larger.
    if (once) bytes = sg::stats().device.bytes_live;
  }
  INFO(refused << " requests refused");
  CHECK(refused > 0);
  CHECK(sg::stats().device.bytes_live == bytes);
}

std::string text(const Numbers& x) {
  std::string out;
  for (float v : x) out += " " + std::to_string(v);
  return out;
}

Numbers ramp(size_t n) {
  Numbers v(n);
  for (size_t i = 0; i < n; ++i) v[i] = 0.05f * static_cast<float>((i * 37 + 11) % 41) - 1;
  return v;
}

// A training step of two layers with Adam.
class Step : public Program {
 public:
  Step() {
    for (const sg::Dims& shape : {sg::Dims{6, 9}, sg::Dims{9}, sg::Dims{9, 3}})
      parameters_.push_back(sg::tensor(ramp(static_cast<size_t>(shape.numel())), shape).requires_grad_());
    for (sg::Tensor& p : parameters_) states_.push_back({sg::full(p.shape(), 0), sg::full(p.shape(), 0), {}});
    first_ = read();
    prepare();
    run();
    after_ = read();
  }
  void prepare() override {
    const sg::GradMode off(false);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->grad = {};
      sg::copy_(parameters_[i], sg::tensor(first_[i], parameters_[i].shape()));
      for (int k = 0; k < 2; ++k) sg::copy_(states_[i][k], sg::Tensor(0.0));
    }
    sg::flush(sg::cpu());
  }
  void run() override {
    const sg::Tensor h = sg::relu(sg::matmul(shaped(x_), parameters_[0]) + parameters_[1]);
    const sg::Tensor loss = sg::mean(sg::square(sg::matmul(h, parameters_[2])));
    sg::backward(loss);
    sg::begin_whole(sg::cpu());
    sg::adam_step(parameters_, states_, 1, {.lr = 0.1});
    sg::flush(sg::cpu());
    loss_ = sg::item(loss);
  }
  std::string look(bool done) override {
    const std::vector<Numbers> now = read();
    if (now != after_ && (done || now != first_)) {
      std::string which;
      for (size_t i = 0; i < now.size(); ++i) which += now[i] == first_[i] ? "0" : now[i] == after_[i] ? "1" : "?";
      return "parameters are " + which;
    }
    if (done && loss_ != expected_ && expected_ >= 0) return "the loss is " + std::to_string(loss_);
    if (done) expected_ = loss_;
    return "";
  }

 protected:
  virtual sg::Tensor shaped(const sg::Tensor& x) { return x; }

 private:
  std::vector<Numbers> read() {
    std::vector<Numbers> all;
    for (const sg::Tensor& p : parameters_) all.push_back(sg::values(p.detach()));
    for (const auto& list : states_)
      for (int k = 0; k < 2; ++k) all.push_back(sg::values(list[k]));
    return all;
  }
  std::vector<sg::Tensor> parameters_;
  sg::States states_;
  sg::Tensor x_ = sg::tensor(ramp(48), {8, 6});
  std::vector<Numbers> first_, after_;
  float loss_ = 0, expected_ = -1;
};

// A structure that no plan is known for.
class Fresh : public Program {
 public:
  void prepare() override { ++number_; }
  void run() override {
    sg::Tensor h = sg::matmul(x_, w_);
    for (uint64_t bits = number_; bits; bits >>= 1) h = bits & 1 ? sg::sin(h) : sg::cos(h);
    const sg::Tensor soft = sg::softmax(h, 1);
    got_ = sg::values(sg::cumsum(sg::sum(sg::transpose(soft, 0, 1) * h, {0}), 0) + sg::amax(h, {0}));
  }
  std::string look(bool done) override {
    if (!done) return "";
    const Numbers first = got_;
    run();  // its plan is known now
    return got_ == first ? "" : "values are" + text(first) + ", not" + text(got_);
  }

 private:
  static inline uint64_t number_ = 0;
  sg::Tensor x_ = sg::tensor(ramp(24), {4, 6}), w_ = sg::tensor(ramp(24), {6, 4});
  Numbers got_;
};

// Up, through a kernel, and down.
class Moved : public Program {
 public:
  void run() override {
    const sg::Tensor x = sg::tensor(numbers_, {50}), y = sg::tensor({1, 2}, {2});
    got_ = sg::values(sg::narrow(x, 0, 0, 2) + y);
    got_.push_back(sg::item(sg::select(x, 0, 49)));
  }
  std::string look(bool done) override {
    const Numbers wanted = {numbers_[0] + 1, numbers_[1] + 2, numbers_[49]};
    return done && got_ != wanted ? text(got_) : "";
  }

 private:
  Numbers numbers_ = ramp(50), got_;
};

// A write that gradients know of: the gradient is that of the value that is there.
class Written : public Program {
 public:
  void prepare() override {
    y_ = x_ * 1;
    static_cast<void>(sg::values(y_.detach()));
    sg::log_of(sg::cpu()).most = static_cast<size_t>(1 + next_++ % 9);  // the log is full on the way
  }
  void run() override {
    sg::rewrite_(y_, [](const sg::Tensor& y) { return y * 3; });
    sg::copy_(sg::narrow(y_, 0, 1, 2), sg::square(sg::narrow(x_, 0, 2, 2)));
    sg::copy_(sg::select(y_, 0, 0), sg::Tensor(7.0));
  }
  std::string look(bool done) override {
    const Numbers y = sg::values(y_.detach());
    x_->grad = {};
    sg::backward(sg::sum(y_));
    const Numbers g = sg::values(x_.grad());
    Numbers wanted(5, 0);
    const bool grown = same(y[4], 3 * numbers_[4]), squared = same(y[1], numbers_[2] * numbers_[2]);
    if (done && !(grown && squared && y[0] == 7)) return "values are" + text(y);
    for (size_t i = 0; i < 5; ++i) wanted[i] = grown ? 3 : 1;
    if (squared) {
      wanted[1] = wanted[2] = 0;
      wanted[2] += 2 * numbers_[2];
      wanted[3] += 2 * numbers_[3];
    }
    if (y[0] == 7) wanted[0] = 0;
    for (size_t i = 0; i < 5; ++i)
      if (!same(g[i], wanted[i])) return "gradients are" + text(g) + ", not" + text(wanted);
    return "";
  }

 private:
  static bool same(float a, float b) { return std::abs(a - b) < 1e-4f; }
  static inline int next_ = 0;
  Numbers numbers_ = {-1, -0.5f, 0.25f, 0.5f, 2};
  sg::Tensor x_ = sg::tensor(numbers_, {5}).requires_grad_(), y_;
};

// A loop that is run in pieces, and tensors that it writes.
class Loop : public Program {
 public:
  void prepare() override {
    rounds_ = 40 + next_++ % 160;
    state_ = sg::full({4, 8}, 0);
    sums_ = sg::full({4}, 0);
    sg::flush(sg::cpu());
  }
  void run() override {
    sg::Tensor h = state_;
    for (int t = 0; t < rounds_; ++t) {
      h = sg::tanh(sg::matmul(h, w_) + sg::select(x_, 0, t));
      if (t == 20) sg::copy_(sums_, sg::sum(h, 1u << 1));
    }
    sg::copy_(state_, h);
    got_ = sg::values(state_);
  }
  std::string look(bool done) override {
    const Numbers state = sg::values(state_), sums = sg::values(sums_), zeros(32, 0);
    if (done && (state != got_ || state == zeros)) return "the state is" + text(state);
    if (sums != Numbers(4, 0) && expected_.empty()) expected_ = sums;
    return sums == Numbers(4, 0) ? (done ? "no sums" : "") : sums == expected_ ? "" : "sums are" + text(sums);
  }

 private:
  static inline int next_ = 0;
  int rounds_ = 0;
  sg::Tensor w_ = sg::tensor(ramp(64), {8, 8}), x_ = sg::tensor(ramp(200 * 32), {200, 4, 8}), state_, sums_;
  Numbers got_, expected_;
};

// Kernels that ask for memory of their own, after a write in the same run; large enough for several threads.
class Customs : public Program {
 public:
  void prepare() override {
    sg::copy_(x_, sg::full(x_.shape(), 1.0));
    sg::flush(sg::cpu());
  }
  void run() override {
    sg::copy_(x_, x_ + 1);
    const sg::Tensor s = sg::sort(values_, 1, false, true).first, k = sg::topk(values_, 5, 1, true, true).first;
    const sg::Tensor c = sg::cumsum(sg::flatten(values_), 0), a = sg::attention(q_, q_, q_, 1, true);
    const sg::Tensor p = sg::softmax(sg::matmul(large_, large_), 1);
    got_ = {sg::item(sg::sum(sg::square(s)) + sg::sum(k) + sg::sum(sg::square(a)) + sg::sum(sg::square(p)) +
                     sg::select(c, 0, 49999))};
  }
  std::string look(bool done) override {
    const Numbers x = sg::values(x_);
    if (x[0] != 2 && (done || x[0] != 1)) return "was written" + text({x[0]});
    if (done && !expected_.empty() && got_ != expected_) return text(got_) + ", not" + text(expected_);
    if (done) expected_ = got_;
    return "";
  }

 private:
  sg::Tensor x_ = sg::full({1000}, 1.0), values_ = sg::tensor(ramp(50000), {50, 1000}),
             q_ = sg::tensor(ramp(4 * 32 * 16), {4, 32, 16}), large_ = sg::tensor(ramp(128 * 128), {128, 128});
  Numbers got_, expected_;
};

// An index out of range: it is reported, whatever else happens.
class Reported : public Program {
 public:
  void prepare() override {
    sg::copy_(x_, sg::Tensor(1.0));
    sg::flush(sg::cpu());
  }
  void run() override {
    got_.clear();
    bad_ = sg::gather(values_, 0, places_);
    sg::copy_(x_, sg::Tensor(2.0));
    sg::flush(sg::cpu());
    const sg::Tensor good = sg::gather(values_, 0, sg::clamp_between(places_, sg::Tensor(0), sg::Tensor(8)));
    sg::flush(sg::cpu());
    bool raised = false;
    try {
      got_ = sg::values(bad_);
    } catch (const sg::IndexError&) {
      raised = true;
    }
    if (raised) got_ = {-1};
  }
  std::string look(bool done) override {
    if (done && got_ != Numbers{-1}) return "no IndexError";
    for (int i = 0; i < 2 && bad_; ++i) try {
        got_ = sg::values(bad_);
        return "no IndexError afterwards";
      } catch (const sg::IndexError&) {
      } catch (const std::bad_alloc&) {
      } catch (const sg::OutOfMemoryError&) {
      }
    bad_ = {};
    return "";
  }

 private:
  sg::Tensor values_ = sg::tensor(ramp(9), {9}), places_ = sg::cast(sg::tensor({1, 12, 3}, {3}), sg::DType::int64),
             x_ = sg::full({3}, 1.0), bad_;
  Numbers got_;
};

// Many inputs, random numbers, a write at computed places.
class Placed : public Program {
 public:
  void prepare() override {
    sg::copy_(x_, sg::Tensor(0.0));
    sg::flush(sg::cpu());
    sg::manual_seed(3);
  }
  void run() override {
    std::vector<sg::Tensor> parts;
    for (int i = 0; i < 12; ++i) parts.push_back(sg::narrow(values_, 0, i, 1 + i % 3));
    const sg::Tensor all = sg::cat(parts), noise = sg::rand({all.numel()});
    sg::index_put_(x_, {places_}, sg::narrow(all, 0, 0, 3));
    got_ = {sg::item(sg::sum(all * noise)) + sg::item(sg::sum(x_))};
  }
  std::string look(bool done) override {
    const Numbers x = sg::values(x_), after = {0, numbers_[1], numbers_[0], 0, numbers_[2]};
    if (x != after && (done || x != Numbers(5, 0))) return "was written" + text(x);
    if (done && !expected_.empty() && got_ != expected_) return text(got_) + ", not" + text(expected_);
    if (done) expected_ = got_;
    return "";
  }

 private:
  Numbers numbers_ = ramp(16), got_, expected_;
  sg::Tensor values_ = sg::tensor(numbers_, {16}), x_ = sg::full({5}, 0.0),
             places_ = sg::cast(sg::tensor({2, 1, 4}, {3}), sg::DType::int64);
};

// Memory of somebody else, written through a tensor.
class Shared : public Program {
 public:
  void prepare() override {
    array_ = {1, 2, 3, 4};
    x_ = sg::share_host(array_.data(), {4}, {1}, sg::DType::float32, [] {});
  }
  void run() override {
    sg::copy_(x_, x_ * 10);
    sg::copy_(sg::narrow(x_, 0, 1, 2), sg::narrow(x_, 0, 2, 2));
  }
  std::string look(bool done) override {
    const Numbers x = sg::values(x_);
    if (x != array_) return "the tensor has" + text(x) + ", the array" + text(array_);
    const Numbers first = {1, 2, 3, 4}, second = {10, 20, 30, 40}, third = {10, 30, 40, 40};
    return x == third || (!done && (x == first || x == second)) ? "" : text(x);
  }

 private:
  Numbers array_;
  sg::Tensor x_;
};

// A step that was recorded and runs again.
class Replayed : public Program {
 public:
  Replayed() {
    for (int i = 0; i < 2; ++i) {
      prepare();
      const std::vector<sg::Tensor> arguments = {x_};
      sg::Capture capture(arguments);
      const std::vector<sg::Tensor> results = {step(capture.arguments()[0])};
      capture.stop();
      std::string problem;
      recording_ = capture.recording(results, problem);
      REQUIRE(problem == "");
    }
  }
  void prepare() override {
    const sg::GradMode off(false);
    w_->grad = {};
    sg::copy_(w_, sg::tensor({1, -2, 3}, {3}));
    sg::copy_(m_, sg::tensor({0, 0, 1}, {3}));
    sg::flush(sg::cpu());
  }
  void run() override {
    loss_ = -1;
    const auto done = recording_->run({x_}, {});
    if (done) loss_ = sg::item(done->results[0]);
  }
  std::string look(bool done) override {
    const Numbers w = sg::values(w_.detach()), m = sg::values(m_);
    if (done && loss_ != 14) return "the loss is " + std::to_string(loss_);
    const bool before = w == Numbers{1, -2, 3} && m == Numbers{0, 0, 1};
    const bool after = w == Numbers{0, 0, -0.5f} && m == Numbers{2, -4, 7};
    return after || (before && !done) ? "" : "parameters are" + text(w) + " and" + text(m);
  }

 private:
  sg::Tensor step(const sg::Tensor& x) {
    const sg::Tensor loss = sg::sum(sg::square(w_ * x));
    sg::backward(loss);
    const sg::GradMode off(false);
    const sg::Tensor g = w_.grad();
    w_->grad = {};
    sg::copy_(m_, m_ + g);
    sg::copy_(w_, w_ - m_ * 0.5);
    return loss.detach();
  }
  sg::Tensor w_ = sg::full({3}, 0.0).requires_grad_(), m_ = sg::full({3}, 0.0), x_ = sg::full({3}, 1.0);
  std::shared_ptr<sg::Recording> recording_;
  float loss_ = 0;
};

// Scalars: a graph, its gradients, a parameter that is written.
class Scalars : public Program {
 public:
  void prepare() override {
    a_.set_data(2);
    a_.set_grad(0);
  }
  void run() override {
    std::vector<sg::Value> chain = {a_ * 3.0 + 1};
    for (int i = 0; i < 40; ++i) chain.push_back((chain.back() + a_).relu());
    chain.back().backward();
    got_ = {static_cast<float>(chain.back().data()), static_cast<float>(a_.grad())};
    a_.set_data(5);
  }
  std::string look(bool done) override {
    if (done && got_ != Numbers{87, 43}) return text(got_);
    return a_.data() == 5 || (!done && a_.data() == 2) ? "" : "the parameter is " + std::to_string(a_.data());
  }

 private:
  sg::Value a_{2.0};
  Numbers got_;
};

// Images, a gradient of a gradient, a profile.
class Twice : public Program {
 public:
  void run() override {
    const sg::Tensor y = sg::conv2d(x_, w_, std::nullopt, {1, 1}, sg::Dims{1, 1}, {1, 1}, 1);
    const sg::Tensor g = sg::grad(sg::sum(sg::tanh(y) * y), {w_}, {}, {.create_graph = true})[0];
    got_ = sg::values(sg::grad(sg::sum(sg::square(g)), {x_})[0]);
  }
  std::string look(bool done) override {
    if (done && !expected_.empty() && got_ != expected_) return "another gradient";
    if (done) expected_ = got_;
    return "";
  }

 private:
  sg::Tensor x_ = sg::tensor(ramp(2 * 3 * 25), {2, 3, 5, 5}).requires_grad_(),
             w_ = sg::tensor(ramp(4 * 3 * 9), {4, 3, 3, 3}).requires_grad_();
  Numbers got_, expected_;
};

}  // namespace

#define PROGRAMS Step, Fresh, Moved, Written, Loop, Customs, Reported, Placed, Shared, Replayed, Scalars, Twice

TEMPLATE_TEST_CASE("heap: a request that is refused costs an error and nothing else", "[heap]", PROGRAMS) {
  sweep<TestType>();
}

TEST_CASE("heap: planning asks for memory a few times for each kernel", "[heap]") {
  sg::flush(sg::cpu());
  std::vector<sg::Tensor> weights;
  for (int i = 0; i < 500; ++i) weights.push_back(sg::full({8, 8}, 0.1).requires_grad_());
  sg::flush(sg::cpu());
  sg::Tensor x = sg::full({4, 8}, 1.0);
  for (const sg::Tensor& w : weights) x = sg::relu(sg::matmul(x, w));
  sg::backward(sg::sum(x));
  const sg::Log& log = sg::log_of(sg::cpu());
  sg::ScheduleInput input{.log = log, .held = {}, .dying = std::vector<bool>(log.leaves.size())};
  for (const sg::NodeRef& node : log.nodes) input.held.push_back(node->held.load() > 0);
  const Refusing counting(INT64_MAX, INT64_MAX);
  const auto made = sg::schedule(input);
  const auto asked_then = static_cast<double>(heap.asked.load()), steps = static_cast<double>(made.plan.steps.size());
  const auto bound = sg::schedule_as(input, *made.sketch);
  const auto asked = static_cast<double>(heap.asked.load()) - asked_then;
  INFO(asked_then / steps << " times a kernel when it is scheduled, " << asked / steps << " when it is bound");
  REQUIRE(steps >= 1500);
  CHECK(asked_then / steps < 20);
  CHECK(asked / steps < 15);
  sg::flush(sg::cpu());
}
