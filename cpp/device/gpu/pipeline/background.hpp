// Threads that work while the caller goes on: started when there is work, a few of the machine's.
// Threads: one adds and stops.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sg {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  ~Background() { stop(true); }
  void add(std::function<void()> work);  // which must not throw
  // Nothing more is begun. `wait`: and what is at hand is done.
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
