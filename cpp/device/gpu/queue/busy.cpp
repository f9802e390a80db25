// Owns the queries and the commands that write them. Makes them when the first submission is watched.
#include "device/gpu/queue/busy.hpp"

#include <algorithm>

#include "base/busy.hpp"
#include "device/gpu/driver/check.hpp"

namespace sg {

BusyTime::BusyTime(const Context& context)
    : context_(context), clock_(std::max(1u, context.physical.timestamp_bits), context.physical.timestamp_ns) {}

BusyTime::Stamps* BusyTime::next(uint64_t completed) {
  if (!busy::watched() || context_.physical.timestamp_bits == 0) return nullptr;
  if (!queries_) record();
  for (uint32_t i = 0; i < kStamps; ++i)
    if (stamps_[i].value && stamps_[i].value <= completed) count(i);
  Stamps& stamps = stamps_[next_];
  if (stamps.value) return nullptr;
  next_ = (next_ + 1) % kStamps;
  return &stamps;
}

void BusyTime::record() {
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2 * kStamps;
  VkQueryPool queries = VK_NULL_HANDLE;
  vk_check(vkCreateQueryPool(context_.device, &info, nullptr, &queries), "vkCreateQueryPool");
  const VkCommandPool pool = make_command_pool(context_, context_.physical.family, Submissions::many);
  for (uint32_t i = 0; i < kStamps; ++i) {
    for (const uint32_t query : {2 * i, 2 * i + 1}) {
      const VkCommandBuffer commands = make_command_buffer(context_, pool);
      begin_commands(commands, Submissions::many);
      if (query == 2 * i) vkCmdResetQueryPool(commands, queries, query, 2);
      vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, query);
      end_commands(commands);
      (query == 2 * i ? stamps_[i].first : stamps_[i].last) = commands;
    }
  }
  queries_ = queries;
}

void BusyTime::count(uint32_t i) {
  stamps_[i].value = 0;
  uint64_t ticks[2];
  if (vkGetQueryPoolResults(context_.device, queries_, 2 * i, 2, sizeof ticks, ticks, sizeof *ticks,
                            VK_QUERY_RESULT_64_BIT) == VK_SUCCESS)
    busy::add(context_.id, static_cast<int64_t>(clock_.span(ticks[0], ticks[1])));
}

}  // namespace sg
