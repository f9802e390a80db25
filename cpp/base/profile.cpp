// Owns the list of events of the profile that is running, under one mutex. Does not know what the events mean.
#include "base/profile.hpp"

#include <chrono>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "base/source_location.hpp"

namespace sg {
namespace profile {
namespace {

std::mutex& mutex() {
  static auto* m = new std::mutex;  // threads may end after main()
  return *m;
}
std::vector<ProfileEvent>& events() {
  static auto* all = new std::vector<ProfileEvent>;
  return *all;
}

}  // namespace

int64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

int32_t thread_number() {
  static std::atomic<int32_t> used{0};
  thread_local const int32_t number = used.fetch_add(1);
  return number;
}

void add(ProfileEvent event) {
  const std::lock_guard lock(mutex());
  if (!profiling()) return;
  try {
    events().push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    // The event is missing, the work that it measured is not.
  }
}

void count_memory(DeviceId device, int64_t live) {
  ProfileEvent e;
  e.name = "bytes_live";
  e.category = "counter";
  e.device = device;
  e.start = e.end = now();
  e.bytes = live;
  add(std::move(e));
}

void start() {
  const std::lock_guard lock(mutex());
  events().clear();
  on = true;
}

std::vector<ProfileEvent> stop() {
  const std::lock_guard lock(mutex());
  on = false;
  return std::exchange(events(), {});
}

}  // namespace profile

void Stage::end() const noexcept {
  try {
    ProfileEvent e;
    e.end = profile::now();
    e.name = name_;
    e.category = category_;
    e.device = device_;
    e.thread = profile::thread_number();
    e.start = start_;
    e.bytes = bytes;
    e.flops = flops;
    e.shapes = shapes;
    if (profile::with_lines && std::string_view(category_) == "cpu_op") e.stack = current_location().str();
    profile::add(std::move(e));
  } catch (...) {
    // As above.
  }
}

}  // namespace sg
