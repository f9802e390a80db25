// The CPU threads of the process: one small pool, made on first use, remade in a forked child.
// Any thread may call; while one loop runs, loops from other threads run on their callers.
#pragma once
#include <cstdint>
#include <memory>

namespace sg::cpu {

int thread_count();  // SPIROGRAD_THREADS, or the processors this process may use

// A callable that is not owned: body(begin, end).
class Body {
 public:
  template <class F>
  Body(const F& f)
      : object_(std::addressof(f)),
        call_([](const void* o, int64_t b, int64_t e) { (*static_cast<const F*>(o))(b, e); }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int64_t);
};

// While one lives, loops of its thread call interrupt_hook about every 50 ms; what it throws ends them as an exception of
// the body does.
class Interruptible {
 public:
  explicit Interruptible(bool on);
  ~Interruptible();

 private:
  bool before_;
};
// For long work inside of one piece of a loop: calls the hook if it is time to.
void look_for_interrupt();

// Calls body for [0, grain), [grain, 2 grain) ... up to n, each once, on any thread, in any order. Which ranges there
// are does not depend on the number of threads. The first exception is rethrown when all threads have left the loop.
void parallel_for(int64_t n, int64_t grain, const Body& body);

}  // namespace sg::cpu
