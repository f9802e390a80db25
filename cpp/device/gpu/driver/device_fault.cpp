// Reads the report of a lost device and puts it into words. Called after the loss only; knows no plans.
#include "device/gpu/driver/device_fault.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

namespace sg {
namespace {

const char* words_for(VkDeviceFaultAddressTypeEXT type) {
  switch (type) {
    case VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT:
      return "read";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT:
      return "write";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_EXECUTE_INVALID_EXT:
      return "execution";
    default:
      return "instruction";
  }
}

std::string hex(uint64_t address) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
}

std::string text_of(const VkDeviceFaultAddressInfoEXT& a) {
  const std::string what = words_for(a.addressType);
  if (a.addressPrecision <= 1) return what + " at " + hex(a.reportedAddress);
  const uint64_t unknown = a.addressPrecision - 1;  // its lowest bits
  return what + " between " + hex(a.reportedAddress & ~unknown) + " and " + hex(a.reportedAddress | unknown);
}

std::string text_of(const VkDeviceFaultVendorInfoEXT& word) {
  const std::string codes = "code " + hex(word.vendorFaultCode) + ", data " + hex(word.vendorFaultData);
  return *word.description ? word.description + (" (" + codes + ")") : codes;
}

}  // namespace

bool reports_faults(VkPhysicalDevice physical) {
  VkPhysicalDeviceFaultFeaturesEXT faults{};
  faults.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &faults;
  vkGetPhysicalDeviceFeatures2(physical, &features);
  return faults.deviceFault == VK_TRUE;
}

std::string describe_fault(VkDevice lost) {
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
    if (addresses[i].addressType != VK_DEVICE_FAULT_ADDRESS_TYPE_NONE_EXT) add(text_of(addresses[i]));
  for (uint32_t i = 0; i < std::min(counts.vendorInfoCount, kMost); ++i) add(text_of(words[i]));
  return text;
}

}  // namespace sg
