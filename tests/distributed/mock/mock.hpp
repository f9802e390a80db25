// What the two mock libraries share: a stream, which does its work in order in a thread of its own.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

struct MockStream {
  MockStream() { std::thread([this] { work(); }).detach(); }

  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    changed.notify_one();
  }
  bool idle() {
    const std::lock_guard lock(mutex);
    return tasks.empty();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return !tasks.empty(); });
      const std::function<void()> task = tasks.front();
      lock.unlock();
      task();
      lock.lock();
      tasks.pop_front();
    }
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // the first one is under way
};
