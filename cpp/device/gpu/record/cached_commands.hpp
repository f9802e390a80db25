// Commands of a plan that are submitted again unchanged. What differs from run to run (addresses, numbers, offsets) is
// in argument blocks, which the host writes before each submission. The commands contain only where these blocks begin,
// and barriers for one way in which the plan's memories coincide. One for each slot of the queue, whose blocks they
// read: they are idle whenever their slot is.
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
