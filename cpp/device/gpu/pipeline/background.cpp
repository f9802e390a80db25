// A queue of work and the few threads that do it. The work may not throw, call into Python, or use what the device's
// lock guards.
#include "device/gpu/pipeline/background.hpp"

#include <algorithm>
#include <system_error>

namespace sg {

void Background::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  work_.push_back(std::move(work));
  if (idle_ < work_.size()) start();
  more_.notify_one();
}

void Background::start() {
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency() / 4, 1, 4);
  if (threads_.size() == most) return;
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {  // the system gives no more threads
  }
}

void Background::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    more_.wait(lock, [&] { return stopped_ || !work_.empty(); });
    --idle_;
    if (stopped_) return;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void Background::stop(bool wait) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    more_.notify_all();
  }
  for (std::thread& t : threads_) wait ? t.join() : t.detach();
  threads_.clear();
}

}  // namespace sg
