// Faults on request, for tests and debugging: under SPIROGRAD_FAULTS the functions of volk's table that can fail ask here
// first, so that any call can answer anything, and the driver's host memory comes from here.
//
//   rules    = rule { ";" rule }, or "on": none yet, but they can be set later
//   rule     = function "@" n [ "+" | "!" ] "=" result
//            | "host@" n [ "+" ]
//   function = a function of Vulkan
//   n        = which of its calls since the rules were set, from 1; "+": and all later ones of this function; "!": and all
//              later ones of any function, until another device is made, as after a loss
//   result   = a VkResult without VK_ or VK_ERROR_. The driver is not called: SUCCESS makes vkQueueSubmit2 a device that
//              hangs
//   host     = the n-th request of the driver for host memory is refused, of those inside a function that can say so
//
// Threads: any.
#pragma once
#include <string>
#include <vector>

#include "device/gpu/driver/vulkan_calls.hpp"

namespace sg {

// Puts the functions that volk has loaded so far behind the rules; nothing without SPIROGRAD_FAULTS.
// ValueError for a rule that cannot be read.
void install_faults();

}  // namespace sg
