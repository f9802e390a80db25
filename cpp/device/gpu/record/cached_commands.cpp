// Owns the pool of cached commands.
#include "device/gpu/record/cached_commands.hpp"

#include <algorithm>

#include "device/gpu/driver/check.hpp"

namespace sg {

std::shared_ptr<CachedCommands> CommandCache::take() {
  for (const auto& unused : all_)
    if (unused.use_count() == 1) {
      for (CachedCommands::OfSlot& cached : unused->slots) cached.recorded_for.clear();
      return unused;
    }
  return all_.emplace_back(std::make_shared<CachedCommands>());
}

VkCommandBuffer CommandCache::begin_next(CachedCommands::OfSlot& cached) {
  if (!pool_) pool_ = make_command_pool(context_, context_.physical.family, Submissions::many);
  if (cached.used == cached.buffers.size()) cached.buffers.push_back(make_command_buffer(context_, pool_));
  const VkCommandBuffer commands = cached.buffers[cached.used];
  vk_check(vkResetCommandBuffer(commands, 0), "vkResetCommandBuffer");
  begin_commands(commands, Submissions::many);
  ++cached.used;
  return commands;
}

void CommandCache::empty() {
  const auto unused = std::partition(all_.begin(), all_.end(), [](const auto& c) { return c.use_count() > 1; });
  if (unused == all_.end()) return;
  queue_.wait(queue_.submitted(), false);
  for (auto it = unused; it != all_.end(); ++it)
    for (const CachedCommands::OfSlot& cached : (*it)->slots)
      if (!cached.buffers.empty())
        vkFreeCommandBuffers(context_.device, pool_, static_cast<uint32_t>(cached.buffers.size()),
                             cached.buffers.data());
  all_.erase(unused, all_.end());
}

}  // namespace sg
