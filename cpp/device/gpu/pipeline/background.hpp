// A few threads that work while the caller goes on. They start when there is work.
// Threads: one thread calls add() and stop().
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sg {

// Threads start one by one, as there is work, and sleep when there is none; stop(false) leaves them to end with the
// process.
class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  ~Background() { stop(true); }
  void add(std::function<void()> work);  // must not throw
  // Begins no more work. `wait`: finishes what has begun.
  void stop(bool wait);

 private:
  void start();
  void run();

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> work_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace sg
