// What the program around the engine can do for it: for Python, the interpreter. The binding installs its host when it is
// loaded; without one, as in a C++ program, these defaults hold.
// Threads: any.
#pragma once
#include <cstddef>
#include <string>

#include "base/source_location.hpp"

namespace sg {

struct Interruption {};  // a base of what check_interrupts() throws

class Host {
 public:
  // The line of the user's program that runs in this thread; none where it is not known.
  virtual SourceLocation line() { return {}; }
  // This thread is about to compute or to wait: other threads of the program may run (Python's GIL is given up). What
  // pause() returns goes to resume(), unless it is nullptr.
  virtual void* pause() { return nullptr; }
  virtual void resume(void* token) { static_cast<void>(token); }
  // Called about every 50 ms inside long waits and long runs on the CPU; may throw to end them (Ctrl-C). A run that ends
  // with an Interruption has changed nothing and can be done again.
  virtual void check_interrupts() {}
  // Called about ten times a second by a thread that has waited for kernels for some seconds, and at the end (all of them).
  virtual void compiling(size_t done, size_t all) { static_cast<void>(done), static_cast<void>(all); }
  // A cache on disk cannot be used. By default a line on stderr.
  virtual void warn_of_cache(const std::string& message);

 protected:
  ~Host() = default;  // hosts live for ever
};

Host& host();
Host& install(Host& host);  // returns the one before

// While one lives, other threads of the host may run.
class HostPaused {
 public:
  HostPaused() : token_(host().pause()) {}
  ~HostPaused() {
    if (token_) host().resume(token_);
  }
  HostPaused(const HostPaused&) = delete;
  HostPaused& operator=(const HostPaused&) = delete;

 private:
  void* token_;
};

}  // namespace sg
