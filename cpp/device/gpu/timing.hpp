// SPIROGRAD_DEBUG=2: one line a kernel with its time on the device. Waits after each submission, so it slows
// everything down; times of kernels without a barrier between them overlap.
#pragma once
#include <string>
#include <vector>

#include "device/gpu/queue.hpp"

namespace sg {

class Timing {
 public:
  Timing(const Context& context, Queue& queue) : context_(context), queue_(queue) {}
  bool on() const;
  void begin(VkCommandBuffer commands, size_t steps);
  void after(VkCommandBuffer commands, const std::string& line);
  void print(uint64_t value);  // waits for submission `value`

 private:
  void stamp(VkCommandBuffer commands);

  const Context& context_;
  Queue& queue_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  uint32_t capacity_ = 0, used_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace sg
