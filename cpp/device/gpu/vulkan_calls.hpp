// What really goes to the driver: counts taken in volk's table, under everything else, for tests and benchmarks. What a
// command buffer holds counts as often as it is submitted; one recorded while nobody counted holds nothing.
// Threads: switch on and off while no other thread uses the GPU; counting itself from any.
#pragma once
#include <cstdint>

namespace sg {

struct VulkanCalls {
  int64_t submits = 0, dispatches = 0, barriers = 0, memory_allocations = 0;
};
// Puts counting functions in place (counts start at 0) or the driver's back. Loads Vulkan when nothing has.
void count_vulkan_calls(bool on);
VulkanCalls vulkan_calls();

}  // namespace sg
