// Owns the counters of Vulkan calls, and the functions of volk's table that count before they call the driver. Knows no
// plans.
#include <map>
#include <mutex>

#include "device/gpu/driver/instance.hpp"
#include "device/gpu/driver/vulkan_calls.hpp"

namespace sg {
namespace {

// Counts of recorded commands, added each time they are submitted.
struct Recorded {
  int64_t dispatches = 0, barriers = 0;
};
struct Counts {
  std::mutex mutex;  // all below
  VulkanCalls calls;
  std::map<VkCommandBuffer, Recorded> recorded;
  std::map<VkDeviceMemory, int64_t> memory;  // bytes of each
};
Counts counts;

PFN_vkQueueSubmit2 driver_submit = nullptr;
PFN_vkBeginCommandBuffer driver_begin = nullptr;
PFN_vkCmdDispatch driver_dispatch = nullptr;
PFN_vkCmdDispatchBase driver_dispatch_base = nullptr;
PFN_vkCmdDispatchIndirect driver_dispatch_indirect = nullptr;
PFN_vkCmdPipelineBarrier2 driver_barrier = nullptr;
PFN_vkAllocateMemory driver_allocate = nullptr;
PFN_vkFreeMemory driver_free = nullptr;

void add(VkCommandBuffer commands, int64_t Recorded::* kind) {
  const std::lock_guard lock(counts.mutex);
  ++(counts.recorded[commands].*kind);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo2* infos, VkFence fence) {
  {
    const std::lock_guard lock(counts.mutex);
    counts.calls.submits += n;
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t c = 0; c < infos[i].commandBufferInfoCount; ++c) {
        const Recorded& recorded = counts.recorded[infos[i].pCommandBufferInfos[c].commandBuffer];
        counts.calls.dispatches += recorded.dispatches;
        counts.calls.barriers += recorded.barriers;
      }
  }
  return driver_submit(queue, n, infos, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  {
    const std::lock_guard lock(counts.mutex);
    counts.recorded[commands] = {};
  }
  return driver_begin(commands, info);
}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  add(commands, &Recorded::dispatches);
  driver_dispatch(commands, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x,
                                         uint32_t y, uint32_t z) {
  add(commands, &Recorded::dispatches);
  driver_dispatch_base(commands, bx, by, bz, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL dispatch_indirect(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset) {
  add(commands, &Recorded::dispatches);
  driver_dispatch_indirect(commands, buffer, offset);
}
VKAPI_ATTR void VKAPI_CALL pipeline_barrier(VkCommandBuffer commands, const VkDependencyInfo* info) {
  add(commands, &Recorded::barriers);
  driver_barrier(commands, info);
}
VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                                        const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  const VkResult result = driver_allocate(device, info, callbacks, memory);
  const std::lock_guard lock(counts.mutex);
  ++counts.calls.memory_allocations;
  if (result == VK_SUCCESS) {
    counts.memory[*memory] = static_cast<int64_t>(info->allocationSize);
    counts.calls.memory_bytes += static_cast<int64_t>(info->allocationSize);
  }
  return result;
}
VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  {
    const std::lock_guard lock(counts.mutex);
    if (const auto entry = counts.memory.find(memory); entry != counts.memory.end()) {
      counts.calls.memory_bytes -= entry->second;
      counts.memory.erase(entry);
    }
  }
  driver_free(device, memory, callbacks);
}

template <class F>
void put(F& slot, F& kept, F ours, bool on) {
  if (on && slot != ours) {
    kept = slot;
    slot = ours;
  } else if (!on && slot == ours) {
    slot = kept;
  }
}

}  // namespace

void count_vulkan_calls(bool on) {
  if (vulkan().gpus.empty()) return;
  put(vkQueueSubmit2, driver_submit, submit, on);
  put(vkBeginCommandBuffer, driver_begin, begin, on);
  put(vkCmdDispatch, driver_dispatch, dispatch, on);
  put(vkCmdDispatchBase, driver_dispatch_base, dispatch_base, on);
  put(vkCmdDispatchIndirect, driver_dispatch_indirect, dispatch_indirect, on);
  put(vkCmdPipelineBarrier2, driver_barrier, pipeline_barrier, on);
  put(vkAllocateMemory, driver_allocate, allocate, on);
  put(vkFreeMemory, driver_free, release, on);
  const std::lock_guard lock(counts.mutex);
  if (!on) return;
  counts.calls = {};
  counts.memory.clear();
}

VulkanCalls vulkan_calls() {
  const std::lock_guard lock(counts.mutex);
  return counts.calls;
}

}  // namespace sg
