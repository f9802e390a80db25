// The lock that every change of a graph, a log or a device is made under.
#pragma once
#include <chrono>

namespace sg {

struct Log;

// Guards logs, plan caches and device calls; the thread that holds it may take it again. A thread that must wait for it
// pauses the host first (releases Python's GIL) and resumes it after releasing the lock, so no thread ever waits for
// the lock while it holds the GIL.
// Order of locks: the GIL is given up before this one is waited for, and a GPU's own lock is taken after it.
class EngineLock {
 public:
  // kPausable: other threads may change what the lock guards while a run inside this scope computes (EnginePaused).
  enum Kind : bool { kSteady, kPausable };
  explicit EngineLock(Kind kind = kSteady);
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

 private:
  struct Away;
  Away* away_ = nullptr;  // of who had to wait
};

// While one lives, the calling thread computes and others may take the lock, if the only lock of this thread is pausable;
// else it changes nothing. Nobody else touches `log`, which is the calling thread's: who needs it waits in
// wait_while_running().
class EnginePaused {
 public:
  explicit EnginePaused(Log& log);
  ~EnginePaused();
  EnginePaused(const EnginePaused&) = delete;
  EnginePaused& operator=(const EnginePaused&) = delete;

 private:
  const bool paused_;
};

// Returns when the thread of another's log has run what it is running. Only that thread takes the lock meanwhile, so for
// the caller it is as if it had run the log itself.
void wait_while_running(const Log& log);

// Taken for ever when the process ends; false if another thread keeps it, or computes, for longer than `patience`.
bool lock_at_exit(std::chrono::milliseconds patience) noexcept;
// Around fork(), so that the child does not inherit a lock, or half of a run, of a thread that it does not have.
void lock_for_fork();
void unlock_after_fork(bool in_child);

}  // namespace sg
