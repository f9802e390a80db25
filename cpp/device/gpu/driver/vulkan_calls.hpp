// Counts of the Vulkan calls that reach the driver, taken in volk's table, for tests and benchmarks; and faults in
// place of calls (faults.hpp). The contents of a command buffer count each time it is submitted; one that was recorded
// while counting was off counts as empty.
// Threads: switch on and off while no other thread uses the GPU; counting itself from any.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sg {

struct VulkanCalls {
  int64_t submits = 0, dispatches = 0, barriers = 0, memory_allocations = 0;
  int64_t memory_bytes = 0;  // allocated and not freed
};
// Puts counting functions in place (counts start at 0) or the driver's back. Loads Vulkan when nothing has.
void count_vulkan_calls(bool on);
VulkanCalls vulkan_calls();

// Replaces the rules and begins counting anew; "" for none. ValueError when they cannot be read, or without
// SPIROGRAD_FAULTS.
void set_faults(const std::string& rules);
struct FaultReport {
  std::vector<std::string> calls;  // in order, since the rules were set; faulty ones too
  int64_t host_requests = 0;       // of the driver for host memory
  int64_t host_blocks = 0;         // that it has now
  int64_t fired = 0;               // answers that the rules gave
};
FaultReport fault_report();

}  // namespace sg
