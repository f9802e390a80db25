// The recorder by itself: work that is cut into several submissions.
#include <catch2/catch_test_macros.hpp>

#include "gpu_plans.hpp"
#include "gpu_recorder.hpp"

using namespace sg_test;

TEST_CASE("record: work that a watchdog would stop is cut, in order", "[gpu][record]") {
  auto& parts = *new Parts;
  const int64_t n = 500;
  auto plan = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*plan, n);
  int32_t last = a;
  for (int i = 0; i < 7; ++i) {  // 2^7 times a: more parts than slots
    const int32_t to = i == 6 ? output(*plan, n) : temp(*plan, n, (i % 2) * 2048);
    step(*plan, "add", binary(sg::Code::add, n, last, last, to));
    last = to;
  }
  const auto prepared = sg_test::prepared(parts, plan, parts.context.physical.features);
  parts.recorder.reserve(prepared->arena_bytes);
  const sg::Ref<sg::GpuBuffer> in(parts.pool.take(n * 4)), out(parts.pool.take(n * 4));
  const std::vector<float> ones(n, 1);
  const sg::BufferRef leaves[] = {sg::BufferRef(in.get())}, outputs[] = {sg::BufferRef(out.get())};
  for (int64_t flops : {INT64_C(0), INT64_C(30'000'000'000), INT64_C(1'000'000'000'000)}) {
    for (sg::GpuStep& s : prepared->steps) s.cost.flops = flops;
    parts.recorder.upload_small(in, ones.data(), n * 4);
    parts.queue.take_count();
    parts.recorder.run(*prepared, {leaves, outputs, nullptr, nullptr});
    CHECK(parts.queue.take_count() == (flops == 0 ? 1 : 7));
    std::vector<float> result(n);
    parts.transfer.download(result.data(), *out, 0, n * 4);
    CHECK(all_equal(result, 128));
  }
}

TEST_CASE("record: a profile has every step once, in order, and nothing when it is off", "[gpu][record][profile]") {
  auto& parts = *new Parts;
  const int64_t n = 500;
  auto plan = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*plan, n), middle = temp(*plan, n, 0), out = output(*plan, n);
  step(*plan, "first", binary(sg::Code::add, n, a, a, middle));
  step(*plan, "second", binary(sg::Code::mul, n, middle, middle, out));
  const auto prepared = sg_test::prepared(parts, plan, parts.context.physical.features);
  parts.recorder.reserve(prepared->arena_bytes);
  const sg::Ref<sg::GpuBuffer> in(parts.pool.take(n * 4)), to(parts.pool.take(n * 4));
  const std::vector<float> ones(n, 1);
  const sg::BufferRef leaves[] = {sg::BufferRef(in.get())}, outputs[] = {sg::BufferRef(to.get())};
  for (const bool on : {false, true, false}) {
    if (on) sg::profile::start();
    const int64_t begin = sg::profile::now();
    parts.recorder.upload_small(in, ones.data(), n * 4);
    parts.recorder.run(*prepared, {leaves, outputs, nullptr, nullptr});
    std::vector<float> result(n);
    parts.transfer.download(result.data(), *to, 0, n * 4);
    parts.timing.collect();
    const int64_t end = sg::profile::now();
    std::vector<sg::ProfileEvent> device;
    for (const sg::ProfileEvent& e : sg::profile::stop())
      if (e.thread < 0) device.push_back(e);
    CHECK(all_equal(result, 4));
    REQUIRE(device.size() == (on ? 4 : 0));
    if (!on) continue;
    const char* names[] = {"Memcpy HtoD", "first", "second", "Memcpy DtoH"};
    int64_t at = begin;
    for (int i = 0; i < 4; ++i) {
      CHECK(device[i].name == names[i]);
      CHECK(device[i].start >= at);
      CHECK(device[i].end >= device[i].start);
      at = device[i].end;
    }
    CHECK(at <= end);
    CHECK(device[1].bytes == 3 * n * 4);  // two views of `a`
    CHECK(device[1].flops == n);
  }
}
