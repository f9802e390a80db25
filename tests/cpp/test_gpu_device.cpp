// The Vulkan device through device.hpp: memory, transfers, plans, barriers, status, fork. Needs a Vulkan device: a real
// one, or a software one with SPIROGRAD_ALLOW_CPU_VULKAN=1; skipped with the reason otherwise.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/validation.hpp"
#include "device/gpu/driver/vulkan_calls.hpp"
#include "gpu_plans.hpp"

using namespace sg_test;
using sg::Code;

namespace {

sg::Device& gpu() {
  const sg::GpuList& list = sg::list_gpus();
  if (list.devices.empty()) SKIP(list.reason << "; " << list.remedy);
  return sg::gpu_device(0);
}
// The proxy lane runs every plan but computes garbage on purpose.
bool values_count() { return !sg::env_flag("SPIROGRAD_PROXY"); }
bool default_barriers() { return sg::env("SPIROGRAD_BARRIER") == "hazards"; }

struct Counted {
  sg::DeviceStats before;
  sg::Device& device;
  explicit Counted(sg::Device& d) : before(d.stats()), device(d) {}
  int64_t barriers() const { return device.stats().barriers - before.barriers; }
  int64_t dispatches() const { return device.stats().dispatches - before.dispatches; }
  int64_t submissions() const { return device.stats().submissions - before.submissions; }
};

std::shared_ptr<sg::Plan> chain(int64_t n) {  // ((a + b) * b) + a through two temporaries
  auto p = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*p, n), b = leaf(*p, n);
  const int32_t t0 = temp(*p, n, 0), t1 = temp(*p, n, (n * 4 + 255) / 256 * 256), out = output(*p, n);
  step(*p, "add", binary(Code::add, n, a, b, t0));
  step(*p, "mul", binary(Code::mul, n, t0, b, t1));
  step(*p, "add", binary(Code::add, n, t1, a, out));
  return p;
}

}  // namespace

TEST_CASE("gpu: facts", "[gpu]") {
  sg::Device& d = gpu();
  const sg::DeviceInfo info = d.info();
  CHECK(info.id.str() == "gpu:0");
  CHECK_FALSE(info.name.empty());
  CHECK_FALSE(info.driver.empty());
  CHECK(info.uuid.size() == 36);
  CHECK(info.memory_total > 0);
  CHECK(d.features().int64);
  CHECK(d.features().max_group_threads >= 128);
  CHECK_THROWS_AS(sg::gpu_device(200), sg::DeviceUnavailableError);
}

TEST_CASE("gpu: bytes go up and come back, at every size", "[gpu][transfer]") {
  sg::Device& d = gpu();
  for (size_t n : {size_t{1}, size_t{3}, size_t{4096}, size_t{65536}, size_t{65537}, size_t{1} << 20,
                   (size_t{5} << 20) + 13, (size_t{70} << 20) + 1}) {
    std::vector<uint8_t> data(n), back(n, 0);
    for (size_t i = 0; i < n; ++i) data[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    const sg::BufferRef b = d.allocate(n);
    CHECK(b->address % 256 == 0);
    CHECK(b->bytes >= n);
    d.upload(b, data.data(), n);
    d.download(back.data(), b, 0, n);
    CHECK(data == back);
    if (n > 100) {
      std::vector<uint8_t> part(n - 77);
      d.download(part.data(), b, 77, part.size());
      CHECK(std::equal(part.begin(), part.end(), data.begin() + 77));
    }
  }
  const sg::BufferRef none = d.allocate(0);
  d.upload(none, nullptr, 0);
  d.download(nullptr, none, 0, 0);
  CHECK_THROWS_AS(d.upload(none, "x", size_t{1} << 20), sg::Error);
}

TEST_CASE("gpu: small uploads keep their order", "[gpu][transfer]") {
  sg::Device& d = gpu();
  const sg::BufferRef b = d.allocate(400000);
  const std::vector<float> large(100000, 1.0f), small(10, 2.0f), last(5, 3.0f);
  d.upload(b, small.data(), 40);
  d.upload(b, large.data(), 400000);
  d.upload(b, small.data(), 40);
  d.upload(b, last.data(), 20);
  const std::vector<float> v = read(d, b, 100000);
  CHECK(all_equal({v.begin(), v.begin() + 5}, 3.0f));
  CHECK(all_equal({v.begin() + 5, v.begin() + 10}, 2.0f));
  CHECK(all_equal({v.begin() + 10, v.end()}, 1.0f));
}

TEST_CASE("gpu: the pool gives blocks again and counts them", "[gpu][pool]") {
  sg::Device& d = gpu();
  d.wait();
  d.empty_cache();
  const int64_t live = d.stats().bytes_live, cached = d.stats().bytes_cached;
  sg::BufferRef b = d.allocate(1 << 20);
  CHECK(d.stats().bytes_live == live + (1 << 20));
  const uint64_t address = b->address;
  b = {};
  CHECK(d.stats().bytes_live == live);
  CHECK(d.stats().bytes_cached == cached + (1 << 20));
  const int64_t allocations = d.stats().allocations;
  b = d.allocate((1 << 20) - 5);
  CHECK(b->address == address);
  CHECK(d.stats().allocations == allocations);
  b = {};
  d.empty_cache();
  CHECK(d.stats().bytes_cached == cached);
  CHECK_THROWS_AS(d.allocate(size_t{1} << 60), sg::OutOfMemoryError);
  CHECK_NOTHROW(d.allocate(64));
}

TEST_CASE("gpu: a chain is one submission, with a barrier between dependent steps", "[gpu][record]") {
  sg::Device& d = gpu();
  const int64_t n = 1000;
  const auto plan = chain(n);
  const auto prepared = d.prepare(plan);
  RunBuffers r{{filled(d, n, 2), filled(d, n, 3)}, {d.allocate(n * 4)}, {}};
  const Counted c(d);
  run(d, *prepared, r);
  CHECK(c.submissions() == 1);
  CHECK(c.dispatches() == 3);
  if (default_barriers()) CHECK(c.barriers() == 4);  // before all, after the uploads, two in the chain
  if (values_count()) CHECK(all_equal(read(d, r.outputs[0], n), (2 + 3) * 3 + 2));
  CHECK_FALSE(prepared->source(0).empty());
  CHECK_FALSE(prepared->spirv(2).empty());
}

TEST_CASE("gpu: independent steps share one barrier", "[gpu][record]") {
  sg::Device& d = gpu();
  const int64_t n = 512;
  auto p = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*p, n), b = leaf(*p, n);
  std::vector<int32_t> outs;
  for (int i = 0; i < 4; ++i) outs.push_back(output(*p, n));
  for (int32_t o : outs) step(*p, "mul", binary(Code::mul, n, a, b, o));
  const auto prepared = d.prepare(p);
  RunBuffers r{{filled(d, n, 2), filled(d, n, 5)}, {}, {}};
  for (int i = 0; i < 4; ++i) r.outputs.push_back(d.allocate(n * 4));
  d.wait();
  run(d, *prepared, r);  // takes the small uploads along
  const Counted c(d);
  run(d, *prepared, r);
  if (default_barriers()) CHECK(c.barriers() == 1);
  if (values_count())
    for (const auto& o : r.outputs) CHECK(all_equal(read(d, o, n), 10));
}

TEST_CASE("gpu: temporaries that share bytes, and leaves that are one buffer", "[gpu][record]") {
  sg::Device& d = gpu();
  const int64_t n = 2048;
  auto p = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*p, n), b = leaf(*p, n);
  const int32_t t0 = temp(*p, n, 0), t1 = temp(*p, n, 0);   // t1 takes t0's place when t0 is read out
  const int32_t o0 = output(*p, n), o1 = output(*p, n, 1);  // o1 is written over leaf b
  step(*p, "add", binary(Code::add, n, a, a, t0));
  step(*p, "mul", binary(Code::mul, n, t0, a, o0));
  step(*p, "mul", binary(Code::mul, n, b, b, t1));
  step(*p, "add", binary(Code::add, n, t1, a, o1));
  const auto prepared = d.prepare(p);
  const sg::BufferRef x = filled(d, n, 3), y = filled(d, n, 4);
  sg::BufferRef out = d.allocate(n * 4);
  run(d, *prepared, {{x, y}, {out, y}, {}});
  if (values_count()) {
    CHECK(all_equal(read(d, out, n), 18));
    CHECK(all_equal(read(d, y, n), 19));
  }
  const Counted c(d);
  run(d, *prepared, {{x, x}, {out, x}, {}});  // one buffer as both leaves: only the run can know
  if (default_barriers()) CHECK(c.barriers() == 4);
  if (values_count()) {
    CHECK(all_equal(read(d, out, n), 18));
    CHECK(all_equal(read(d, x, n), 12));
  }
}

TEST_CASE("gpu: numbers, in-place updates and copies over many runs", "[gpu][record]") {
  sg::Device& d = gpu();
  const int64_t n = 300;
  auto p = std::make_shared<sg::Plan>();
  const int32_t w = leaf(*p, n), t = temp(*p, n, 0), next = output(*p, n, 0), kept = output(*p, n);
  p->numbers = 1;
  step(*p, "add", binary(Code::add, n, w, -1, t, 0));
  step(*p, "copy", copy(w, kept));
  step(*p, "copy", copy(t, next));
  const auto prepared = d.prepare(p);
  const sg::BufferRef weights = filled(d, n, 0), old = d.allocate(n * 4);
  for (int i = 1; i <= 50; ++i) {
    sg::Number number{};
    number.f = i;
    run(d, *prepared, {{weights}, {weights, old}, {number}});
  }
  if (values_count()) {
    CHECK(all_equal(read(d, weights, n), 50 * 51 / 2));
    CHECK(all_equal(read(d, old, n), 49 * 50 / 2));
  }
}

TEST_CASE("gpu: a released buffer may be taken again while work is in flight", "[gpu][pool]") {
  sg::Device& d = gpu();
  const int64_t n = 1 << 16;
  const auto prepared = d.prepare(chain(n));
  const sg::BufferRef two = filled(d, n, 2), three = filled(d, n, 3);
  std::vector<sg::BufferRef> kept;
  for (int i = 0; i < 40; ++i) {
    RunBuffers r{{two, three}, {d.allocate(n * 4)}, {}};
    run(d, *prepared, r);
    if (i % 8 == 0) kept.push_back(r.outputs[0]);
  }
  if (values_count())
    for (const auto& b : kept) CHECK(all_equal(read(d, b, n), 17));
}

TEST_CASE("gpu: runs wait in line while kernels are compiled", "[gpu][record]") {
  sg::Device& d = gpu();
  const int64_t n = 300;
  auto fresh = std::make_shared<sg::Plan>();  // of a kernel that no other test has
  const int32_t a = leaf(*fresh, n), b = leaf(*fresh, n), out = output(*fresh, n);
  step(*fresh, "maximum", binary(Code::maximum, n, a, b, out));
  const auto known = d.prepare(chain(n));
  d.wait();
  const int64_t compiled = d.stats().kernels_compiled;
  const auto later = d.prepare(fresh, true);
  sg::BufferRef x = filled(d, n, 2), y = filled(d, n, 3);
  for (int i = 0; i < 4; ++i) {  // what a run needs is kept for it
    const sg::BufferRef most = d.allocate(n * 4), next = d.allocate(n * 4);
    run(d, *later, {{x, y}, {most}, {}});
    run(d, *known, {{x, most}, {next}, {}});
    x = next;
  }
  float want = 2;
  for (int i = 0; i < 4; ++i) want = (want + std::max(want, 3.0f)) * std::max(want, 3.0f) + want;
  if (values_count()) CHECK(all_equal(read(d, x, n), want));
  d.wait();
  if (values_count()) CHECK(d.stats().kernels_compiled == compiled + 1);  // proxies count as well
  CHECK_FALSE(later->source(0).empty());
  const sg::BufferRef most = d.allocate(n * 4);
  run(d, *later, {{x, y}, {most}, {}});
  if (values_count()) CHECK(all_equal(read(d, most, n), want));
}

TEST_CASE("gpu: a kernel that others compile is not compiled twice", "[gpu][record]") {
  sg::Device& d = gpu();
  const auto plan = [](int64_t n) {
    auto p = std::make_shared<sg::Plan>();
    const int32_t a = leaf(*p, n), b = leaf(*p, n), out = output(*p, n);
    step(*p, "minimum", binary(Code::minimum, n, a, b, out));
    return p;
  };
  const int64_t compiled = d.stats().kernels_compiled;
  const auto first = d.prepare(plan(10), true), second = d.prepare(plan(20), true), third = d.prepare(plan(30));
  const sg::BufferRef x = filled(d, 30, 2), y = filled(d, 30, 3), out = d.allocate(120);
  for (const auto& p : {first, second, third}) run(d, *p, {{x, y}, {out}, {}});
  if (values_count()) CHECK(all_equal(read(d, out, 30), 2));
  d.wait();
  if (values_count()) CHECK(d.stats().kernels_compiled == compiled + 1);
}

TEST_CASE("gpu: the driver's own counts agree", "[gpu][counting]") {
  sg::Device& d = gpu();
  const auto prepared = d.prepare(chain(64));
  RunBuffers r{{filled(d, 64, 1), filled(d, 64, 1)}, {d.allocate(256)}, {}};
  run(d, *prepared, r);
  d.wait();
  const Counted c(d);
  sg::count_vulkan_calls(true);
  for (int i = 0; i < 5; ++i) run(d, *prepared, r);
  const sg::VulkanCalls calls = sg::vulkan_calls();
  sg::count_vulkan_calls(false);
  CHECK(calls.submits == 5);
  CHECK(calls.submits == c.submissions());
  CHECK(calls.dispatches == c.dispatches());
  CHECK(calls.barriers == c.barriers());
  CHECK(calls.memory_allocations == 0);
  run(d, *prepared, r);
  CHECK(sg::vulkan_calls().submits == 5);
  d.wait();
}

TEST_CASE("gpu: wrong arguments are refused before anything is submitted", "[gpu][record]") {
  sg::Device& d = gpu();
  const auto prepared = d.prepare(chain(64));
  const Counted c(d);
  CHECK_THROWS_AS(run(d, *prepared, {{d.allocate(256), sg::BufferRef()}, {d.allocate(256)}, {}}), sg::Error);
  CHECK_THROWS_AS(run(d, *prepared, {{d.allocate(256), d.allocate(16)}, {d.allocate(256)}, {}}), sg::Error);
  CHECK(c.submissions() == 0);
}

TEST_CASE("gpu: a forked child gets ForkError and leaves the parent alone", "[gpu][fork]") {
  sg::Device& d = gpu();
  sg::BufferRef b = filled(d, 100, 7);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    const auto expect = [&wrong](auto&& call) {
      try {
        call();
        ++wrong;
      } catch (const sg::ForkError&) {
      }
    };
    expect([] { sg::gpu_device(0); });
    expect([&] { d.allocate(16); });
    expect([&] { d.wait(); });
    b = {};
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(all_equal(read(d, b, 100), 7));
}

namespace {

sg::View int64_view(int32_t binding) {
  sg::View v = vector_view(binding);
  v.dtype = sg::DType::int64;
  return v;
}
// out = check_index(in, bound), int64; it is node 0 of the log.
sg::Instance checked(int64_t n, int64_t bound, int32_t in, int32_t out) {
  sg::ProgramBuilder b;
  b.program.domain = sg::Dims{n};
  const sg::Expr i = b.load(b.add_view(int64_view(0)));
  const sg::Expr c = b.alu(Code::check_index, sg::DType::int64, i, b.constant_int(sg::DType::int64, bound));
  b.program.code[static_cast<size_t>(c.id)].imm.i = 1;
  b.store(b.add_view(int64_view(1)), c);
  annotate(b.program);
  sg::Instance instance;
  instance.kernel.program = b.program;
  instance.bindings = {{in, -1}, {out, -1}};
  instance.reads = {in};
  instance.writes = {out};
  instance.checks = {0};
  return instance;
}

}  // namespace

TEST_CASE("gpu: an index out of range is reported and stops the writes that look at it", "[gpu][status]") {
  sg::Device& d = gpu();
  if (!values_count()) SKIP("the proxy lane computes no indices");
  if (sg::validation_mode() == sg::Validation::gpu && d.info().type == "software")
    SKIP("a checked index under the layer's guards crashes the software driver (layer 1.4.363, lavapipe 26.1)");
  const int64_t n = 128;
  auto p = std::make_shared<sg::Plan>();
  const int32_t index = leaf(*p, 2 * n), safe = output(*p, 2 * n), w = leaf(*p, n), next = output(*p, n, w);
  step(*p, "check", checked(n, 10, index, safe));
  sg::Instance update = binary(Code::add, n, w, w, next);
  update.kernel.program.code.back().imm.i = 1;
  update.guards = {1};
  step(*p, "update", update);
  const auto prepared = d.prepare(p);
  const sg::BufferRef indices = d.allocate(n * 8), out = d.allocate(n * 8), weights = filled(d, n, 1);
  std::vector<int64_t> values(n, 3);
  d.upload(indices, values.data(), n * 8);
  const Counted c(d);
  const auto run_with = [&](uint32_t number, int bit, uint64_t mask) {
    run(d, *prepared,
        {{indices, weights}, {out, weights}, {}, {sg::report_word(bit, 7), mask}, number, uint64_t{1} << bit});
  };
  run_with(1, 40, uint64_t{1} << 40);
  if (default_barriers()) CHECK(c.barriers() == 4);  // start, uploads, check -> update by the status block, to the host
  d.wait();
  sg::Status status = d.take_status();
  CHECK((status.done == 1 && status.reports.empty()));
  CHECK(all_equal(read(d, weights, n), 2));

  values[77] = -4;
  d.upload(indices, values.data(), n * 8);
  run_with(2, 41, uint64_t{1} << 41);
  run_with(3, 42, uint64_t{1} << 41);  // an earlier run's
  d.wait();
  status = d.take_status();
  REQUIRE((status.done == 3 && status.reports.size() == 2));
  const sg::Report& report = status.reports[0];
  CHECK((report.bit == 41 && report.reporter == 7 && report.index == -4 && report.bound == 10));
  CHECK(status.reports[1].bit == 42);
  CHECK(d.take_status().done == 0);
  CHECK(all_equal(read(d, weights, n), 2));
  run_with(4, 43, uint64_t{1} << 44);  // nobody else's
  CHECK(all_equal(read(d, weights, n), 4));

  values[77] = 9;
  d.upload(indices, values.data(), n * 8);
  run_with(5, 45, 0);
  d.wait();
  status = d.take_status();
  CHECK((status.done == 5 && status.reports.size() == 1));
}

TEST_CASE("gpu: threads wait, read and drop buffers while one thread runs", "[gpu][threads]") {
  sg::Device& d = gpu();
  const int64_t n = 4096;
  const auto prepared = d.prepare(chain(n));
  const sg::BufferRef two = filled(d, n, 2), three = filled(d, n, 3), out = d.allocate(n * 4);
  run(d, *prepared, {{two, three}, {out}, {}});
  d.wait();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      while (!stop) {
        if (t == 0) d.wait();
        if (t == 1 && values_count() && !all_equal(read(d, two, n), 2)) ++wrong;
        if (t >= 2) static_cast<void>(d.allocate(static_cast<size_t>(t) * 5000));
      }
    });
  for (int i = 0; i < 300; ++i) run(d, *prepared, {{two, three}, {out}, {}});
  stop = true;
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  if (values_count()) CHECK(all_equal(read(d, out, n), 17));
}

TEST_CASE("gpu: the synchronization lane sees a missing barrier", "[gpu][validation-canary]") {
  if (sg::validation_mode() != sg::Validation::sync || values_count())
    SKIP("needs SPIROGRAD_VALIDATION=sync SPIROGRAD_PROXY=1");
  sg::Device& d = gpu();
  setenv("SPIROGRAD_BARRIER", "drop", 1);
  const auto prepared = d.prepare(chain(64));
  unsetenv("SPIROGRAD_BARRIER");
  RunBuffers r{{filled(d, 64, 1), filled(d, 64, 1)}, {d.allocate(256)}, {}};
  const int before = sg::validation_messages();
  run(d, *prepared, r);
  CHECK_THROWS_AS(d.wait(), sg::Error);
  CHECK_NOTHROW(d.wait());  // told once; the work still runs
  CHECK(sg::validation_messages() > before);
  expected_messages += sg::validation_messages() - before;
}

TEST_CASE("gpu: the GPU-assisted lane sees an address that nobody owns", "[gpu][validation-canary]") {
  if (sg::validation_mode() != sg::Validation::gpu) SKIP("needs SPIROGRAD_VALIDATION=gpu");
  sg::Device& d = gpu();
  auto p = std::make_shared<sg::Plan>();
  const int32_t a = leaf(*p, 64), out = output(*p, 64);
  p->starts = 1;
  sg::Instance i = binary(Code::add, 64, a, a, out);
  i.bindings[0].start = 0;
  step(*p, "add", i);
  const auto prepared = d.prepare(p);
  const std::vector<sg::BufferRef> leaves{filled(d, 64, 1)}, outputs{d.allocate(256)};
  const int64_t far = int64_t{1} << 34;
  const int before = sg::validation_messages();
  d.run(*prepared, {leaves.data(), outputs.data(), &far, nullptr});
  CHECK_THROWS_AS(d.wait(), sg::Error);
  CHECK_NOTHROW(d.wait());  // told once; the work still runs
  CHECK(sg::validation_messages() > before);
  expected_messages += sg::validation_messages() - before;
}
