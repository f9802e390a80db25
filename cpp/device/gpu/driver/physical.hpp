// What one physical device is and whether we can use it: facts read once, no device is made here.
// Called by instance.cpp under the Vulkan lock.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/driver/vulkan.hpp"

namespace sg {

struct Physical {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceInfo info;
  Features features;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  std::array<uint8_t, VK_UUID_SIZE> uuid{};
  std::string missing;          // required things it lacks, "" when it will do
  uint32_t family = 0;          // the queue family to compute on
  uint32_t timestamp_bits = 0;  // 0: its queue has no timestamps
  bool copies = false;          // it has a queue that does nothing but copy, of this family, with timestamps or not
  uint32_t copy_family = 0, copy_timestamp_bits = 0;
  float timestamp_ns = 1;       // nanoseconds a tick
  bool calibrated = false;      // the driver reads its clock and the host's at one moment
  bool subgroups_vary = false;  // in how many threads they have, from kernel to kernel
  bool host_query_reset = false;
  bool device_fault = false;  // of a lost device the driver says what happened
  bool exports = false;       // its memory can be opened by another driver
  bool statistics = false;    // SPIROGRAD_DEBUG=2: the driver tells registers and spills of what it compiles
  uint32_t heap = 0;          // the largest device-local heap
  VkDeviceSize heap_bytes = 0;
  VkDeviceSize storage_alignment = 256, storage_range = 0;  // descriptors only (the proxy lane)
  std::string cache_key;                                    // device and driver, for what compilers left on disk
  std::vector<const char*> extensions;                      // optional ones that it has and we enable
};

// What std::chrono::steady_clock reads.
#ifdef __APPLE__
inline constexpr VkTimeDomainKHR kSteadyClock = VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_KHR;
#else
inline constexpr VkTimeDomainKHR kSteadyClock = VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR;
#endif

Physical describe(VkPhysicalDevice handle);

// The features to enable: the required ones and those optional ones that the device has, chained behind `core`.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  FeatureChain();
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
};
void choose_features(VkPhysicalDevice handle, FeatureChain& enable);

}  // namespace sg
