// The CPU device's thread pool and memory: every chunk once, exceptions, fork; reuse, counters, limits.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/cpu/memory.hpp"
#include "device/cpu/threads.hpp"

namespace {

using namespace sg;
using cpu::parallel_for;

int64_t total(int64_t n, int64_t grain) {
  std::atomic<int64_t> sum{0};
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

}  // namespace

TEST_CASE("cpu threads: every index once, chunks fixed", "[cpu]") {
  for (int64_t n : {0, 1, 99, 1000})
    for (int64_t grain : {1, 7, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        if (begin % grain || (end != n && end != begin + grain)) std::abort();
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (auto& s : seen) REQUIRE(s == 1);
    }
  for (int round = 0; round < 20000; ++round) REQUIRE(total(8, 1) == 28);
}

TEST_CASE("cpu threads: nested and concurrent loops, exceptions", "[cpu]") {
  std::atomic<int64_t> sum{0};
  parallel_for(16, 1, [&](int64_t, int64_t) { sum += total(100, 10); });
  CHECK(sum == 16 * 4950);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) good += total(100, 3) == 4950;
    });
  for (auto& c : callers) c.join();
  CHECK(good == 2000);
  for (int i = 0; i < 100; ++i)
    CHECK_THROWS_AS(parallel_for(64, 1,
                                 [](int64_t b, int64_t) {
                                   if (b == 13) throw ValueError("thirteen");
                                 }),
                    ValueError);
  CHECK(total(100, 3) == 4950);
}

TEST_CASE("cpu threads: a forked child has a pool of its own", "[cpu]") {
  CHECK(total(100, 1) == 4950);
  const pid_t child = fork();
  if (child == 0) _exit(total(100, 1) == 4950 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(total(100, 1) == 4950);
}

TEST_CASE("cpu memory: blocks are aligned, kept and counted", "[cpu]") {
  DeviceStats stats;
  cpu::MemoryPool pool(stats);
  for (size_t bytes : {0, 1, 64, 65, 5000, 3 << 20}) {
    BufferRef b = pool.allocate(bytes);
    CHECK(b->bytes >= bytes);
    CHECK(reinterpret_cast<uintptr_t>(b->host) % 64 == 0);
    const void* place = b->host;
    const int64_t before = stats.allocations;
    b = {};
    CHECK(stats.bytes_live == 0);
    b = pool.allocate(bytes);
    CHECK(b->host == place);
    CHECK(stats.allocations == before);
  }
  CHECK(stats.bytes_cached > 0);
  pool.empty_cache();
  CHECK(stats.bytes_cached == 0);
  CHECK(stats.bytes_peak >= 3 << 20);
}

TEST_CASE("cpu memory: the peak has what all runs of a moment use inside", "[cpu]") {
  DeviceStats stats;
  cpu::MemoryPool pool(stats);
  const BufferRef value = pool.allocate(4096);
  pool.use_inside(1000);
  pool.use_inside(300);
  pool.use_inside(-1000);
  pool.use_inside(500);
  pool.use_inside(-800);
  CHECK(stats.bytes_live == 4096);
  CHECK(stats.bytes_peak == 4096 + 1300);
}

TEST_CASE("cpu memory: the limit frees the cache first, then raises with the figures", "[cpu]") {
  DeviceStats stats;
  cpu::MemoryPool pool(stats);
  setenv("SPIROGRAD_MEMORY_LIMIT", "1000000", 1);
  pool.allocate(700000);
  CHECK(stats.bytes_cached > 0);
  const BufferRef held = pool.allocate(400000);
  CHECK(stats.bytes_cached == 0);
  std::string message;
  try {
    pool.allocate(900001);
  } catch (const OutOfMemoryError& e) {
    message = e.what();
  }
  unsetenv("SPIROGRAD_MEMORY_LIMIT");
  CHECK(message.find("cpu") != std::string::npos);
  CHECK(message.find("900001") != std::string::npos);
  CHECK(message.find(std::to_string(stats.bytes_live)) != std::string::npos);
  CHECK(message.find("1000000") != std::string::npos);
  CHECK_THROWS_AS(pool.allocate(size_t(1) << 62), OutOfMemoryError);
  CHECK(pool.allocate(900001)->bytes >= 900001);
}
