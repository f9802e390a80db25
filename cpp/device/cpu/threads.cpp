// Owns the worker threads and their scratch memory. Pieces of a loop may run in any order on any thread: callers make
// results that do not depend on it.
#include "device/cpu/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/host.hpp"
#include "base/log.hpp"
#include "device/cpu/memory.hpp"
#include "device/device.hpp"
#include "os/process.hpp"
#include "os/processor.hpp"

namespace sg::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
thread_local bool inside_loop = false;
thread_local bool interruptible = false;
thread_local Clock::time_point next_look;

// ---- scratch ---------------------------------------------------------------------------------------------------------
struct Free {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
struct Scratch {
  std::unique_ptr<char[], Free> memory;
  int64_t bytes = 0;
  void grow(int64_t to) {
    if (bytes >= to) return;
    memory.reset();
    bytes = 0;
    memory.reset(static_cast<char*>(::operator new[](static_cast<size_t>(to), std::align_val_t(64))));
    bytes = to;
  }
};
thread_local Scratch own_scratch[std::tuple_size_v<ScratchSizes>];
thread_local const ScratchSizes* wanted_scratch = nullptr;  // of those that help with loops of this thread

void grow_all(const ScratchSizes& to) {
  for (size_t level = 0; level < to.size(); ++level) own_scratch[level].grow(to[level]);
}

bool has_scratch(const ScratchSizes* wanted) noexcept {
  try {
    if (wanted) grow_all(*wanted);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// ---- threads ---------------------------------------------------------------------------------------------------------
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void alone(int64_t n, int64_t grain, const Body& body) {
  for (int64_t i = 0; i < n; i += grain) {
    look_for_interrupt();
    body(i, std::min(n, i + grain));
  }
}

class ThreadPool {
 public:
  explicit ThreadPool(int workers) {
    for (int i = 0; i < workers; ++i) {
      try {
        std::thread([this] { work(); }).detach();
      } catch (const std::exception&) {
        break;  // there can be no more of them, or no memory for them: the caller takes their share
      }
    }
  }

  void run(int64_t n, int64_t grain, const Body& body) {
    std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) {
      alone(n, grain, body);
      return;
    }
    body_ = &body;
    n_ = n;
    grain_ = grain;
    wanted_ = wanted_scratch;
    failed_.store(false, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    round_.fetch_add(1);
    if (parked_.load() > 0) round_.notify_all();
    take_chunks();
    open_.store(false);
    for (int spins = 0; users_.load() != 0; ++spins) spins < 2000 ? pause() : std::this_thread::yield();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void take_chunks() {
    inside_loop = true;
    const int64_t n = n_, grain = grain_;
    for (;;) {
      const int64_t begin = next_.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) break;
      try {
        look_for_interrupt();
        (*body_)(begin, std::min(n, begin + grain));
      } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
        next_.store(n, std::memory_order_relaxed);
      }
    }
    inside_loop = false;
  }

  // A worker announces itself in users_ before it looks at open_; the caller closes the loop before it reads users_:
  // one of the two sees the other, so no thread touches a loop that has returned.
  void work() {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_for_round(seen);
      users_.fetch_add(1);
      if (open_.load() && has_scratch(wanted_)) take_chunks();
      users_.fetch_sub(1);
    }
  }

  uint32_t wait_for_round(uint32_t seen) {
    const auto until = Clock::now() + kSpin;
    for (int i = 1;; ++i) {
      const uint32_t now = round_.load();
      if (now != seen) return now;
      if (i % 64 == 0 && Clock::now() > until) break;
      pause();
    }
    parked_.fetch_add(1);
    round_.wait(seen);
    parked_.fetch_sub(1);
    return round_.load();
  }

  std::mutex busy_;
  alignas(64) std::atomic<uint32_t> round_{0};
  std::atomic<int> parked_{0};
  alignas(64) std::atomic<int> users_{0};
  std::atomic<bool> open_{false};
  alignas(64) std::atomic<int64_t> next_{0};
  const Body* body_ = nullptr;
  int64_t n_ = 0, grain_ = 1;
  const ScratchSizes* wanted_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Never destroyed: its threads may outlive main(). A forked child has none of them and starts over.
std::atomic<ThreadPool*> pool{nullptr};

// nullptr if there is no memory for one.
ThreadPool* the_pool() noexcept {
  if (ThreadPool* p = pool.load(std::memory_order_acquire)) return p;
  static const bool registered = [] {
    os::at_fork(nullptr, nullptr, [] {
      pool.store(nullptr);
      inside_loop = false;
    });
    return true;
  }();
  (void)registered;
  ThreadPool* fresh = new (std::nothrow) ThreadPool(thread_count() - 1);
  ThreadPool* expected = nullptr;
  if (fresh && pool.compare_exchange_strong(expected, fresh)) return fresh;
  return expected;  // another thread was first; the spare pool sleeps for good
}

}  // namespace

char* scratch(int level, int64_t bytes) {
  Scratch& s = own_scratch[level];
  s.grow(bytes);
  poison(s.memory.get(), static_cast<size_t>(bytes));
  return s.memory.get();
}

EnoughScratch::EnoughScratch(const ScratchSizes& own, const ScratchSizes& of_others) : before_(wanted_scratch) {
  grow_all(own);
  wanted_scratch = &of_others;
}
EnoughScratch::~EnoughScratch() { wanted_scratch = before_; }

Interruptible::Interruptible(bool on) : before_(interruptible) {
  if (on && !before_) next_look = Clock::now() + kBetweenLooks;
  interruptible = on;
}
Interruptible::~Interruptible() { interruptible = before_; }

void look_for_interrupt() {
  if (!interruptible) return;
  const auto now = Clock::now();
  if (now < next_look) return;
  next_look = now + kBetweenLooks;
  host().check_interrupts();
}

int thread_count() {
  static const int count = [] {
    const int asked = static_cast<int>(env_whole("SPIROGRAD_THREADS", 0, 1024));
    return asked > 0 ? asked : os::allowed_processors();
  }();
  return count;
}

void parallel_for(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  look_for_interrupt();
  if (n <= grain) return body(0, n);
  ThreadPool* p = inside_loop || thread_count() == 1 || Computing::all_are_busy() ? nullptr : the_pool();
  return p ? p->run(n, grain, body) : alone(n, grain, body);
}

}  // namespace sg::cpu
