// What really goes to the driver: counts taken in volk's table, under everything else, for tests and benchmarks.
// Threads: switch on and off while no other thread uses the GPU; counting itself is atomic.
#pragma once
#include <cstdint>

#include "device/gpu/vulkan.hpp"

namespace sg {

struct VulkanCalls {
  int64_t submits = 0, dispatches = 0, barriers = 0, memory_allocations = 0;
};
// Puts counting functions in place (counts start at 0) or the driver's back. Loads Vulkan when nothing has.
void count_vulkan_calls(bool on);
VulkanCalls vulkan_calls();

// VMA's vkAllocateMemory: volk's, seen by the counter although VMA keeps a table of its own.
VKAPI_ATTR VkResult VKAPI_CALL counted_allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                       const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory);

}  // namespace sg
