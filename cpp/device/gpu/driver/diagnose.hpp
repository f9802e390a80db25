// Why there is no GPU, in words that tell what to do. Looks at files and permissions only when something failed.
// Called by instance.cpp.
#pragma once
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/driver/vulkan.hpp"

namespace sg {

struct Rejected {
  std::vector<std::string> software, unfit;  // names; names with what they lack
  size_t hidden = 0;                         // by SPIROGRAD_VISIBLE_DEVICES
};

void no_loader(GpuList& list);
void no_instance(GpuList& list, VkResult result);  // vkCreateInstance or the enumeration failed
void no_gpu(GpuList& list, const Rejected& rejected);

}  // namespace sg
