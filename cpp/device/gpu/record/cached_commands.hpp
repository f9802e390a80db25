// Commands of a plan that are submitted again as they are. What changes from run to run (addresses, numbers, offsets)
// stands in argument blocks, which the host writes before each submission; the commands only know where these blocks
// begin, and have their barriers for one way in which the plan's memories are the same or apart. One for each slot of
// the queue, whose blocks they read: they are idle whenever their slot is.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "device/gpu/queue/queue.hpp"

namespace sg {

struct CachedCommands {
  struct OfSlot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<uint64_t> recorded_for;  // empty: nothing that can be submitted
    int64_t dispatches = 0, barriers = 0;
  };
  std::array<OfSlot, Queue::kSlots> slots;
};

}  // namespace sg
