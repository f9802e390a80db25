// Owns the one mutex. A thread pauses the host before it waits for it, so no thread waits while it holds Python's GIL.
#include "graph/lock.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>

#include "base/host.hpp"
#include "base/profile.hpp"
#include "graph/log.hpp"

namespace sg {
namespace {

// Recursive, and may be lent: a thread that waits for another's run keeps the mutex from all but that thread. Threads are
// known by their numbers.
class EngineMutex {
 public:
  bool try_lock() noexcept {
    const uint32_t self = thread_number();
    if (owner_.load(std::memory_order_relaxed) == self) {
      ++depth_;
      return true;
    }
    return take(self);
  }

  void lock() {
    if (try_lock()) return;
    std::unique_lock guard(mutex_);
    ++waiting_;
    entering_.wait(guard, [this] { return enter(); });
    --waiting_;
  }

  // Also waits until no thread computes.
  bool lock_alone(std::chrono::steady_clock::time_point until) {
    const auto alone = [this] {
      if (!try_lock()) return false;
      if (paused_ == 0) return true;
      release();
      return false;
    };
    std::unique_lock guard(mutex_);
    ++waiting_;
    const bool locked = entering_.wait_until(guard, until, alone);
    --waiting_;
    return locked;
  }

  void unlock() noexcept {
    if (depth_ > 1) {
      --depth_;
      return;
    }
    const bool lent = lend_ != nullptr;
    release();
    if (!lent && waiting_ == 0) return;
    const std::lock_guard guard(mutex_);
    lent_.notify_all();
    entering_.notify_all();
  }

  // By the owner.
  void set_pausable() noexcept {
    if (depth_ == 1) pausable_ = true;
  }
  bool pause() noexcept {
    if (depth_ != 1 || !pausable_) return false;
    ++paused_;
    unlock();
    return true;
  }
  void resumed() noexcept {
    --paused_;
    pausable_ = true;
  }

  // By the owner, who has it again when the log has run, and its thread, which alone may have it meanwhile, lets go of it.
  void lend(const Log& until_run) {
    const uint32_t self = thread_number();
    Lend mine{until_run, lend_, depth_, pausable_};
    std::unique_lock guard(mutex_);
    lend_ = &mine;
    pausable_ = false;
    owner_ = kLent;
    entering_.notify_all();
    lent_.wait(guard, [&] { return lend_ == &mine && owner_ == kLent && !until_run.running; });
    lend_ = mine.before;
    depth_ = mine.depth;
    pausable_ = mine.pausable;
    owner_ = self;
  }

 private:
  static constexpr uint32_t kNobody = 0, kLent = UINT32_MAX;
  struct Lend {
    const Log& until_run;
    Lend* before;
    int depth;
    bool pausable;
  };

  bool take(uint32_t self) noexcept {
    uint32_t nobody = kNobody;
    if (!owner_.compare_exchange_strong(nobody, self)) return false;
    depth_ = 1;
    return true;
  }
  // Under mutex_.
  bool enter() noexcept {
    const uint32_t self = thread_number();
    if (owner_ == kLent && lend_->until_run.running && lend_->until_run.thread == self) {
      owner_ = self;
      depth_ = 1;
      return true;
    }
    return take(self);
  }
  void release() noexcept {
    depth_ = 0;
    pausable_ = false;
    owner_ = lend_ ? kLent : kNobody;
  }

  std::atomic<uint32_t> owner_{kNobody};
  std::atomic<int> waiting_{0};
  // The owner's:
  int depth_ = 0;
  bool pausable_ = false;
  int paused_ = 0;  // threads that compute
  Lend* lend_ = nullptr;
  std::mutex mutex_;  // of those who wait
  std::condition_variable entering_, lent_;
};

EngineMutex& engine_mutex() {
  static auto* mutex = new EngineMutex;
  return *mutex;
}

}  // namespace

// While the host is paused, lines are those that ran before.
struct EngineLock::Away {
  const SourceLocation line = current_location();
  const SourceScope scope{line};
  const HostPaused paused;
};

EngineLock::EngineLock(Kind kind) {
  if (!engine_mutex().try_lock()) {
    away_ = new Away;
    engine_mutex().lock();
  }
  if (kind == kPausable) engine_mutex().set_pausable();
}

EngineLock::~EngineLock() {
  engine_mutex().unlock();
  delete away_;
}

EnginePaused::EnginePaused(Log& log) : paused_(log.thread == thread_number() && engine_mutex().pause()) {}

EnginePaused::~EnginePaused() {
  if (!paused_) return;
  if (!engine_mutex().try_lock()) {
    const HostPaused host_paused;
    engine_mutex().lock();
  }
  engine_mutex().resumed();
}

void wait_while_running(const Log& log) {
  if (!log.running || log.thread == thread_number()) return;
  const HostPaused paused;
  engine_mutex().lend(log);
}

bool lock_at_exit(std::chrono::milliseconds patience) noexcept {
  return engine_mutex().lock_alone(std::chrono::steady_clock::now() + patience);
}

void lock_for_fork() { engine_mutex().lock_alone(std::chrono::steady_clock::now() + std::chrono::hours(1000)); }
void unlock_after_fork(bool in_child) {
  if (in_child) profile::on = false;
  // Threads that the child does not have may have been waiting.
  if (in_child)
    new (&engine_mutex()) EngineMutex;
  else
    engine_mutex().unlock();
}

}  // namespace sg
