// Commands of a plan that are submitted again unchanged. What differs from run to run (addresses, numbers, offsets) is
// in argument blocks, which the host writes before each submission. The commands contain only where these blocks begin,
// and barriers for one way in which the plan's memories coincide. One for each slot of the queue, whose blocks they
// read: they are idle whenever their slot is.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/gpu/queue/queue.hpp"

namespace sg {

struct CachedCommands {
  struct OfSlot {
    std::vector<VkCommandBuffer> buffers;
    size_t used = 0;                     // of them: one for each submission of the plan
    std::vector<uint64_t> recorded_for;  // empty: nothing that can be submitted
    int64_t dispatches = 0, barriers = 0;
    std::span<const VkCommandBuffer> commands() const { return std::span(buffers).first(used); }
  };
  std::array<OfSlot, Queue::kSlots> slots;
};

// Those of plans that are gone are used for new plans, so that a program whose plans come and go does not collect them.
class CommandCache {
 public:
  CommandCache(const Context& context, Queue& queue) : context_(context), queue_(queue) {}
  std::shared_ptr<CachedCommands> take();                      // new ones, or those of a plan that no longer exists
  VkCommandBuffer begin_next(CachedCommands::OfSlot& cached);  // another buffer, to be recorded anew
  void empty();  // those of plans that are gone. Waits for the work in flight

 private:
  const Context& context_;
  Queue& queue_;
  VkCommandPool pool_ = VK_NULL_HANDLE;  // made when first needed
  std::vector<std::shared_ptr<CachedCommands>> all_;
};

}  // namespace sg
