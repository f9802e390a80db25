#include "device/gpu/autopsy.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

namespace sg {
namespace {

const char* words_for(VkDeviceFaultAddressTypeEXT type) {
  switch (type) {
    case VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT:
      return "read at ";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT:
      return "write at ";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_EXECUTE_INVALID_EXT:
      return "execution at ";
    default:
      return "instruction at ";
  }
}

std::string hex(uint64_t address) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
}

}  // namespace

bool has_autopsy(VkPhysicalDevice physical) {
  VkPhysicalDeviceFaultFeaturesEXT faults{};
  faults.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &faults;
  vkGetPhysicalDeviceFeatures2(physical, &features);
  return faults.deviceFault == VK_TRUE;
}

std::string autopsy(VkDevice lost) {
  constexpr uint32_t kMost = 4;
  VkDeviceFaultCountsEXT counts{};
  counts.sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT;
  if (vkGetDeviceFaultInfoEXT(lost, &counts, nullptr) < 0) return "";
  std::vector<VkDeviceFaultAddressInfoEXT> addresses(counts.addressInfoCount);
  std::vector<VkDeviceFaultVendorInfoEXT> words(counts.vendorInfoCount);
  counts.vendorBinarySize = 0;
  VkDeviceFaultInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT;
  info.pAddressInfos = addresses.data();
  info.pVendorInfos = words.data();
  if (vkGetDeviceFaultInfoEXT(lost, &counts, &info) < 0) return "";
  std::string text = info.description;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  for (uint32_t i = 0; i < std::min(counts.addressInfoCount, kMost); ++i)
    add(words_for(addresses[i].addressType) + hex(addresses[i].reportedAddress));
  for (uint32_t i = 0; i < std::min(counts.vendorInfoCount, kMost); ++i) add(words[i].description);
  return text;
}

}  // namespace sg
