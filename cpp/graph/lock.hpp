// The lock that every change of a graph, a log or a device is made under.
#pragma once
#include <chrono>

namespace sg {

// Guards logs, plan caches and device calls; may be taken again by the thread that holds it. Whoever must wait for it
// pauses the host first (gives up Python's GIL) and resumes it after releasing the lock, so nobody ever waits for the lock
// with the GIL in hand.
class EngineLock {
 public:
  EngineLock();
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

 private:
  struct Away;
  Away* away_ = nullptr;  // of who had to wait
};
// For good, when the process ends; or not at all, when another thread is at work for longer.
void lock_at_exit(std::chrono::milliseconds patience) noexcept;
// Around fork(), so that the child does not inherit a lock of a thread that it does not have.
void lock_for_fork();
void unlock_after_fork(bool in_child);

}  // namespace sg
