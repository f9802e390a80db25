// When the device did what, by timestamp queries between the commands: for SPIROGRAD_DEBUG=2 (one line a kernel; waits
// after each submission, so it slows everything down) and for profiles (nothing waits: results are collected when their
// submission is done). Kernels without a barrier between them overlap: time counts for the one that ends later.
// Threads: any; a batch belongs to who records it.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "device/gpu/queue/clock.hpp"
#include "device/gpu/queue/queue.hpp"

namespace sg {

class Timing {
 public:
  struct Mark {  // what lies between two stamps
    std::string name, grid = {};
    const char* category = "kernel";
    int64_t bytes = 0, flops = 0;
    std::string shapes = {};
  };
  struct Batch {  // one submission
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t capacity = 0, used = 0;
    std::vector<Mark> marks;
    uint64_t value = 0;
    int64_t recorded = 0;  // host time, before it was submitted
  };
  using BatchRef = std::unique_ptr<Batch>;

  Timing(const Context& context, Queue& queue, uint32_t timestamp_bits);
  static bool wanted();
  // nullptr when no times are wanted; `after` and `submitted` then do nothing.
  BatchRef begin(VkCommandBuffer commands, size_t marks);
  void after(const BatchRef& batch, VkCommandBuffer commands, const Mark& mark);
  void submitted(BatchRef batch, uint64_t value);
  void collect();  // from submissions that are done

 private:
  BatchRef take_batch(uint32_t queries);
  void report(const Batch& batch);
  void calibrate();

  const Context& context_;
  Queue& queue_;
  const uint32_t timestamp_bits_;  // 0: its queue has no timestamps
  std::mutex mutex_;               // all below
  DeviceClock clock_;
  int64_t calibrated_ = 0;  // when
  std::deque<BatchRef> flying_;
  std::vector<BatchRef> free_;
};

}  // namespace sg
