#include "device/gpu/timing.hpp"

#include <algorithm>
#include <cstdio>

#include "base/log.hpp"
#include "device/gpu/check.hpp"

namespace sg {

bool Timing::on() const { return debug_level() >= 2; }

void Timing::stamp(VkCommandBuffer commands) {
  if (context_.physical.timestamp_bits == 0) return;
  vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_, used_++);
}

void Timing::begin(VkCommandBuffer commands, size_t steps) {
  lines_.clear();
  used_ = 0;
  if (context_.physical.timestamp_bits == 0) return;
  if (capacity_ < steps + 1) {
    if (pool_) vkDestroyQueryPool(context_.device, pool_, nullptr);
    capacity_ = static_cast<uint32_t>(std::max<size_t>(steps + 1, 256));
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = capacity_;
    vk_check(vkCreateQueryPool(context_.device, &info, nullptr, &pool_), "vkCreateQueryPool");
  }
  vkCmdResetQueryPool(commands, pool_, 0, capacity_);
  stamp(commands);
}

void Timing::after(VkCommandBuffer commands, const std::string& line) {
  lines_.push_back(line);
  stamp(commands);
}

void Timing::print(uint64_t value) {
  queue_.wait(value, false);
  std::vector<uint64_t> ticks(used_);
  const bool timed =
      used_ > 0 && vkGetQueryPoolResults(context_.device, pool_, 0, used_, used_ * sizeof(uint64_t), ticks.data(),
                                         sizeof(uint64_t), VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
  for (size_t i = 0; i < lines_.size(); ++i) {
    char time[32] = "";
    if (timed)
      std::snprintf(time, sizeof time, " %.1f us",
                    static_cast<double>(ticks[i + 1] - ticks[i]) * context_.physical.timestamp_ns * 1e-3);
    debug(2, lines_[i] + time);
  }
}

}  // namespace sg
