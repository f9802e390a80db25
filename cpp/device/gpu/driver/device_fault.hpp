// What a driver with VK_EXT_device_fault knows of a device that it lost.
#pragma once
#include <string>

#include "device/gpu/driver/vulkan.hpp"

namespace sg {

bool reports_faults(VkPhysicalDevice physical);  // asked of a device that has the extension
// "page fault, read at 0x7f10000000"; "" when the driver knows nothing. Of a lost device only.
std::string describe_fault(VkDevice lost);

}  // namespace sg
