// Bytes that a job copies into host memory. Readbacks that nobody else refers to are used again.
// Threads: waiting any.
#pragma once
#include <memory>
#include <vector>

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
  bool ready() override { return queue_.completed() >= value; }

  HostBuffer memory;
  uint64_t value = 0;  // of the submission

 private:
  Queue& queue_;
};

class Readbacks {
 public:
  Readbacks(const Context& context, Queue& queue) : context_(context), queue_(queue) {}
  std::shared_ptr<GpuReadback> take(size_t bytes);

 private:
  const Context& context_;
  Queue& queue_;
  std::vector<std::shared_ptr<GpuReadback>> all_;
};

}  // namespace sg
