// How memory that VMA asks for is counted: see vulkan_calls.hpp.
#pragma once
#include "device/gpu/vulkan.hpp"
#include "device/gpu/vulkan_calls.hpp"

namespace sg {

// VMA's vkAllocateMemory: volk's, seen by the counter although VMA keeps a table of its own.
VKAPI_ATTR VkResult VKAPI_CALL counted_allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                       const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory);

}  // namespace sg
