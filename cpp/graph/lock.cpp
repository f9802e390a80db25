// Owns the one mutex. A thread pauses the host before it waits for it, so no thread waits while it holds Python's GIL.
#include "graph/lock.hpp"

#include <mutex>
#include <new>

#include "base/host.hpp"
#include "base/profile.hpp"

namespace sg {
namespace {

using EngineMutex = std::recursive_timed_mutex;
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

EngineLock::EngineLock() {
  if (engine_mutex().try_lock()) return;
  away_ = new Away;
  engine_mutex().lock();
}

EngineLock::~EngineLock() {
  engine_mutex().unlock();
  delete away_;
}

bool lock_at_exit(std::chrono::milliseconds patience) noexcept { return engine_mutex().try_lock_for(patience); }

void lock_for_fork() { engine_mutex().lock(); }
void unlock_after_fork(bool in_child) {
  if (in_child) profile::on = false;
  // The child's thread has another number, so it cannot unlock a recursive mutex of its parent's.
  if (in_child)
    new (&engine_mutex()) EngineMutex;
  else
    engine_mutex().unlock();
}

}  // namespace sg
