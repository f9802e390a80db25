// Commands that the recorder keeps: when they are submitted again, and when they would be wrong.
#include <catch2/catch_test_macros.hpp>

#include "gpu_plans.hpp"
#include "gpu_recorder.hpp"

using namespace sg_test;

namespace {

constexpr int64_t kNumbers = 500;
constexpr int64_t kSlots = sg::Queue::kSlots;

// first = a + number, second = b * b: apart, unless `first` lies where b does.
struct Task {
  Parts& parts;
  std::shared_ptr<sg::Plan> plan = std::make_shared<sg::Plan>();
  std::unique_ptr<sg::GpuPrepared> prepared;

  explicit Task(Parts& in) : parts(in) {
    const int32_t a = leaf(*plan, kNumbers), b = leaf(*plan, kNumbers);
    const int32_t first = output(*plan, kNumbers), second = output(*plan, kNumbers);
    step(*plan, "add", binary(sg::Code::add, kNumbers, a, -1, first, 0));
    step(*plan, "mul", binary(sg::Code::mul, kNumbers, b, b, second));
    prepared = sg_test::prepared(parts, plan, parts.context.physical.features);
  }
  sg::BufferRef buffer() const { return sg::BufferRef(parts.pool.take(kNumbers * 4)); }
  sg::BufferRef filled(float value) const {
    sg::BufferRef b = buffer();
    const std::vector<float> values(kNumbers, value);
    parts.recorder.upload_small(sg::Ref<sg::GpuBuffer>(static_cast<sg::GpuBuffer*>(b.get())), values.data(),
                                kNumbers * 4);
    return b;
  }
  void run(const sg::BufferRef& a, const sg::BufferRef& b, const sg::BufferRef& first, const sg::BufferRef& second,
           double number) const {
    const sg::BufferRef leaves[] = {a, b}, outputs[] = {first, second};
    const sg::Number numbers[] = {{.f = number}};
    parts.stats = {};
    parts.recorder.run(*prepared, {leaves, outputs, nullptr, numbers});
  }
  std::vector<float> read(const sg::BufferRef& b) const {
    std::vector<float> values(kNumbers);
    parts.transfer.download(values.data(), static_cast<sg::GpuBuffer&>(*b), 0, kNumbers * 4);
    return values;
  }
  // Fresh memory each time.
  void run_apart(float value) const {
    const sg::BufferRef a = filled(value), b = filled(value + 1), first = buffer(), second = buffer();
    parts.recorder.flush_uploads();
    run(a, b, first, second, 10);
    CHECK(all_equal(read(first), value + 10));
    CHECK(all_equal(read(second), (value + 1) * (value + 1)));
  }
};

}  // namespace

TEST_CASE("resubmission: other buffers and numbers need no other commands", "[gpu][record]") {
  const Task task(*new Parts);
  const sg::BufferRef one = task.filled(1), two = task.filled(2), three = task.filled(3);
  task.parts.recorder.flush_uploads();
  std::vector<sg::BufferRef> results;
  int64_t kept = 0;
  for (int i = 0; i < 12; ++i) {  // none of them is waited for
    for (int n = 0; n < 2; ++n) results.push_back(task.buffer());
    task.run(i % 2 ? one : two, three, results[2 * i], results[2 * i + 1], i);
    CHECK(task.parts.stats.dispatches == 2);
    CHECK(task.parts.stats.barriers == 1);
    kept += task.parts.stats.resubmissions;
  }
  CHECK(kept == 12 - 1 - kSlots);
  for (int i = 0; i < 12; ++i) {
    CHECK(all_equal(task.read(results[2 * i]), static_cast<float>((i % 2 ? 1 : 2) + i)));
    CHECK(all_equal(task.read(results[2 * i + 1]), 9));
  }
}

TEST_CASE("resubmission: memories that are one where they were two need another barrier", "[gpu][record]") {
  const Task task(*new Parts);
  for (int i = 0; i < 8; ++i) task.run_apart(static_cast<float>(i));
  CHECK(task.parts.stats.resubmissions == 1);
  for (int i = 0; i < 2 * kSlots; ++i) {
    const sg::BufferRef a = task.filled(1), b = task.filled(2), second = task.buffer();
    task.parts.recorder.flush_uploads();
    task.run(a, b, b, second, i);
    CHECK(task.parts.stats.barriers == 2);
    CHECK(all_equal(task.read(b), static_cast<float>(1 + i)));
    CHECK(all_equal(task.read(second), static_cast<float>((1 + i) * (1 + i))));
  }
  for (int i = 0; i < 2 * kSlots; ++i) {
    task.run_apart(static_cast<float>(i));
    CHECK(task.parts.stats.barriers == 1);
  }
  CHECK(task.parts.stats.resubmissions == 1);
}

TEST_CASE("resubmission: uploads travel before the cached commands, in one submission", "[gpu][record]") {
  const Task task(*new Parts);
  const sg::BufferRef two = task.filled(2), first = task.buffer(), second = task.buffer();
  const std::vector<float> many(80'000, 7);  // more than there is room for arguments at first
  const sg::Ref<sg::GpuBuffer> large(task.parts.pool.take(many.size() * 4));
  for (int i = 0; i < 20; ++i) {
    const sg::BufferRef a = task.filled(static_cast<float>(i));
    const bool grows = i == 10;
    if (grows) task.parts.recorder.upload_small(large, many.data(), many.size() * 4);
    task.parts.queue.take_count();
    task.run(a, two, first, second, 1);
    CHECK(task.parts.queue.take_count() == 1);
    if (grows) CHECK(task.parts.stats.resubmissions == 0);
    if (i == 9 || i == 19) CHECK(task.parts.stats.resubmissions == 1);
    CHECK(all_equal(task.read(first), static_cast<float>(i + 1)));
    CHECK(all_equal(task.read(second), 4));
  }
  std::vector<float> arrived(many.size());
  task.parts.transfer.download(arrived.data(), *large, 0, many.size() * 4);
  CHECK(arrived == many);
}

TEST_CASE("resubmission: commands of plans that are gone serve others, or are freed", "[gpu][record]") {
  Parts& parts = *new Parts;
  for (int turn = 0; turn < 3; ++turn) {
    const Task task(parts), other(parts);
    for (int i = 0; i < 8; ++i) {
      task.run_apart(static_cast<float>(i));
      other.run_apart(static_cast<float>(-i));
      CHECK(parts.stats.resubmissions == (i > kSlots));
    }
    if (turn == 1) parts.recorder.empty_cache();  // of those in use
    task.run_apart(1);
    CHECK(parts.stats.resubmissions == 1);
  }
  parts.recorder.empty_cache();
  const Task task(parts);
  for (int i = 0; i < 8; ++i) task.run_apart(static_cast<float>(i));
}

TEST_CASE("resubmission: a plan that copies is recorded each time", "[gpu][record]") {
  Parts& parts = *new Parts;
  const Task task(parts);  // its buffers
  auto plan = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*plan, kNumbers), kept = output(*plan, kNumbers);
  step(*plan, "copy", copy(a, kept));
  const auto prepared = sg_test::prepared(parts, plan, parts.context.physical.features);
  for (int i = 0; i < 8; ++i) {
    const sg::BufferRef leaves[] = {task.filled(static_cast<float>(i))}, outputs[] = {task.buffer()};
    parts.recorder.run(*prepared, {leaves, outputs, nullptr, nullptr});
    CHECK(parts.stats.resubmissions == 0);
    CHECK(all_equal(task.read(outputs[0]), static_cast<float>(i)));
  }
}
