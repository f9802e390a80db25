// VkResult -> exception: the only place that turns a Vulkan answer into an Error.
// Called after every vk* call that can fail. Positive answers (VK_TIMEOUT, VK_INCOMPLETE ...) are the caller's.
#pragma once
#include <string>

#include "base/error.hpp"
#include "device/gpu/driver/vulkan.hpp"

namespace sg {

const char* name_of(VkResult result);

// The driver has just reported it; the caller that knows the device notes it in its Health.
struct DriverLostError : DeviceLostError {
  using DeviceLostError::DeviceLostError;
};
// `what` names the Vulkan call and what it was for.
[[noreturn]] void throw_vk(VkResult result, const std::string& what);

inline void vk_check(VkResult result, const char* what) {
  if (result < 0) throw_vk(result, what);
}

}  // namespace sg
