// Vulkan itself: the loader, one instance a process, and the GPUs that may be used, in our order.
// The first call of vulkan() loads everything; no vk* function is called before. Never throws because there is no GPU.
// Threads: any.
#pragma once
#include <mutex>
#include <vector>

#include "device/gpu/driver/physical.hpp"

namespace sg {

struct Vulkan {
  VkInstance instance = VK_NULL_HANDLE;
  bool labels = false;  // debug-utils is on: names and labels are worth giving
  bool portability = false;
  std::vector<Physical> gpus;  // list.devices[i] describes gpus[i]
  GpuList list;
};
const Vulkan& vulkan();

// Drivers crash when instances and devices are made at once from several threads: hold this around either.
std::mutex& vulkan_lock();
// True in a process that was forked after vulkan() was first called: nothing of Vulkan may be touched there.
bool forked();
// ForkError when forked().
void check_fork(const char* op);

}  // namespace sg
