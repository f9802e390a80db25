// The CPU threads of the process: one small pool, made on first use, remade in a forked child.
// Any thread may call; while one loop runs, loops from other threads run on their callers.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "base/body.hpp"

namespace sg::cpu {

int thread_count();  // SPIROGRAD_THREADS, or the processors this process may use

// While one lives, loops of its thread call Host::check_interrupts() about every 50 ms; an exception from it ends them,
// like one from the body.
class Interruptible {
 public:
  explicit Interruptible(bool on);
  ~Interruptible();

 private:
  bool before_;
};
// For long work inside of one piece of a loop: calls the hook if it is time to.
void look_for_interrupt();

// Memory of the calling thread that stays for the next call; 64-byte aligned.
// Level 0 belongs to the interpreter, 1 and 2 to products, 3 to custom kernels.
char* scratch(int level, int64_t bytes);
using ScratchSizes = std::array<int64_t, 4>;  // by level

// While one lives, scratch() of these sizes cannot fail in loops of its thread: threads without that memory take no
// part. std::bad_alloc if the calling thread has none.
class EnoughScratch {
 public:
  EnoughScratch(const ScratchSizes& own, const ScratchSizes& of_others);
  ~EnoughScratch();
  EnoughScratch(const EnoughScratch&) = delete;
  EnoughScratch& operator=(const EnoughScratch&) = delete;

 private:
  const ScratchSizes* before_;
};

// One for each thread that runs a plan: where there are as many of them as processors, none asks others for help.
class Computing {
 public:
  Computing() { ++count_; }
  ~Computing() { --count_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  static bool all_are_busy() { return count_ > 1 && count_ >= thread_count(); }

 private:
  static inline std::atomic<int> count_ = 0;
};

// Calls body for [0, grain), [grain, 2 grain) ... up to n, each once, on any thread, in any order. Which ranges there
// are does not depend on the number of threads. The first exception is rethrown when all threads have left the loop.
void parallel_for(int64_t n, int64_t grain, const Body& body);

}  // namespace sg::cpu
