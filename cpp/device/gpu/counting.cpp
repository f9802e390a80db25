#include "device/gpu/counting.hpp"

#include <atomic>

#include "device/gpu/instance.hpp"

namespace sg {
namespace {

struct Counts {
  std::atomic<int64_t> submits{0}, dispatches{0}, barriers{0}, memory_allocations{0};
};
Counts counts;

PFN_vkQueueSubmit2 driver_submit = nullptr;
PFN_vkCmdDispatch driver_dispatch = nullptr;
PFN_vkCmdDispatchBase driver_dispatch_base = nullptr;
PFN_vkCmdDispatchIndirect driver_dispatch_indirect = nullptr;
PFN_vkCmdPipelineBarrier2 driver_barrier = nullptr;
PFN_vkAllocateMemory driver_allocate = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo2* infos, VkFence fence) {
  counts.submits += n;
  return driver_submit(queue, n, infos, fence);
}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  ++counts.dispatches;
  driver_dispatch(commands, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x,
                                         uint32_t y, uint32_t z) {
  ++counts.dispatches;
  driver_dispatch_base(commands, bx, by, bz, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL dispatch_indirect(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset) {
  ++counts.dispatches;
  driver_dispatch_indirect(commands, buffer, offset);
}
VKAPI_ATTR void VKAPI_CALL pipeline_barrier(VkCommandBuffer commands, const VkDependencyInfo* info) {
  ++counts.barriers;
  driver_barrier(commands, info);
}
VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                                        const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  ++counts.memory_allocations;
  return driver_allocate(device, info, callbacks, memory);
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
  put(vkCmdDispatch, driver_dispatch, dispatch, on);
  put(vkCmdDispatchBase, driver_dispatch_base, dispatch_base, on);
  put(vkCmdDispatchIndirect, driver_dispatch_indirect, dispatch_indirect, on);
  put(vkCmdPipelineBarrier2, driver_barrier, pipeline_barrier, on);
  put(vkAllocateMemory, driver_allocate, allocate, on);
  if (on) counts.submits = counts.dispatches = counts.barriers = counts.memory_allocations = 0;
}

VulkanCalls vulkan_calls() { return {counts.submits, counts.dispatches, counts.barriers, counts.memory_allocations}; }

VkResult VKAPI_CALL counted_allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  return vkAllocateMemory(device, info, callbacks, memory);
}

}  // namespace sg
