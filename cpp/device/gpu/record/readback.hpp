// Bytes that a job copies into host memory. The recorder keeps readbacks and reuses those that only it refers to.
// Threads: waiting any.
#pragma once
#include "device/device.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/queue/queue.hpp"

namespace sg {

class GpuReadback final : public Readback {
 public:
  explicit GpuReadback(Queue& queue) : queue_(queue) {}
  const std::byte* wait() override {
    queue_.check("read");
    queue_.wait(value, true);
    return static_cast<const std::byte*>(memory.mapped);
  }

  HostBuffer memory;
  uint64_t value = 0;  // of the submission

 private:
  Queue& queue_;
};

}  // namespace sg
