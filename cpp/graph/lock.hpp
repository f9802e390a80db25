// The lock that every change of a graph, a log or a device is made under.
#pragma once
#include <chrono>

namespace sg {

// Guards logs, plan caches and device calls; the thread that holds it may take it again. A thread that must wait for it
// pauses the host first (releases Python's GIL) and resumes it after releasing the lock, so no thread ever waits for
// the lock while it holds the GIL.
// Order of locks: the GIL is given up before this one is waited for, and a GPU's own lock is taken after it.
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
// Taken for ever when the process ends; false if another thread keeps it for longer than `patience`.
bool lock_at_exit(std::chrono::milliseconds patience) noexcept;
// Around fork(), so that the child does not inherit a lock of a thread that it does not have.
void lock_for_fork();
void unlock_after_fork(bool in_child);

}  // namespace sg
