// How long a queue computes: two timestamps around what is given to it at once, while somebody watches (base/busy.hpp).
// The first waits for what came before, so that the times of one queue add up without overlap. Commands with stamps are
// recorded once and used in turn; a submission that finds all of them in flight is not measured.
// Threads: the queue's lock.
#pragma once
#include <array>
#include <cstdint>

#include "device/gpu/driver/context.hpp"
#include "device/gpu/queue/clock.hpp"

namespace sg {

class BusyTime {
 public:
  struct Stamps {
    VkCommandBuffer first = VK_NULL_HANDLE, last = VK_NULL_HANDLE;
    uint64_t value = 0;  // the submission in flight; 0: none
  };
  explicit BusyTime(const Context& context);
  // Counts what is completed. Returns what to record around the next submission; nullptr: nothing.
  Stamps* next(uint64_t completed);

 private:
  static constexpr uint32_t kStamps = 16;
  void record();
  void count(uint32_t i);

  const Context& context_;
  DeviceClock clock_;
  VkQueryPool queries_ = VK_NULL_HANDLE;  // two for each of stamps_
  std::array<Stamps, kStamps> stamps_;
  uint32_t next_ = 0;
};

}  // namespace sg
