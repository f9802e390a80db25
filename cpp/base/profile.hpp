// What happened when, while a profile runs: the host's stages, and what devices report of their kernels.
// Times are nanoseconds of the host's steady clock. Without a profile, a stage costs one relaxed load.
// Called from everywhere that does work; engine/ starts and stops it. Threads: any.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/device_id.hpp"

namespace sg {

struct ProfileEvent {
  std::string name;
  const char* category = "stage";  // cpu_op, stage, user_annotation; on a device: step, kernel, gpu_memcpy; counter
  DeviceId device;
  int32_t thread = -1;  // of the host, numbered by first use; -1: the device did it
  int64_t start = 0, end = 0;
  int64_t bytes = 0, flops = 0;  // counter: `bytes` is the value
  std::string shapes, stack;
};

namespace profile {
inline std::atomic<bool> on{false};
inline std::atomic<bool> with_lines{false};   // each cpu_op notes the line of the user's program that runs
inline std::atomic<bool> with_memory{false};  // each allocation and each return of memory is a counter
int64_t now();
int32_t thread_number();
void add(ProfileEvent event);  // dropped when no profile runs
void count_memory(DeviceId device, int64_t live);
void start();
std::vector<ProfileEvent> stop();
}  // namespace profile

inline bool profiling() { return profile::on.load(std::memory_order_relaxed); }

// One stage of the host, from here to the end of the scope. `name` must live as long.
class Stage {
 public:
  explicit Stage(const char* name, const char* category = "stage", DeviceId device = {})
      : name_(profiling() ? name : nullptr), category_(category), device_(device) {
    if (name_) start_ = profile::now();
  }
  ~Stage() {
    if (name_) end();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  int64_t bytes = 0, flops = 0;
  const char* shapes = "";

 private:
  void end() const noexcept;
  const char *name_, *category_;
  DeviceId device_;
  int64_t start_ = 0;
};

}  // namespace sg
