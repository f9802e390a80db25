// Other limits and features than the real driver's, by Vulkan's names for them: FAKE_DRIVER_LIMITS=name=value,...
// A name that no table here has ends the program, since a test that fakes nothing proves nothing.
#include <cstdio>
#include <map>
#include <string_view>

#include "fake.hpp"

namespace fake {
namespace {

const std::map<std::string, uint64_t>& wanted() {
  static const auto* all = [] {
    auto* list = new std::map<std::string, uint64_t>;
    const std::string text = variable("FAKE_DRIVER_LIMITS");
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size()), is = text.find('=', at);
      if (is < end) (*list)[text.substr(at, is - at)] = std::strtoull(text.c_str() + is + 1, nullptr, 0);
      at = end + 1;
    }
    return list;
  }();
  return *all;
}

template <class S>
struct Row {
  const char* name;
  void (*set)(S&, uint64_t);
};
#define ROW(S, field) {#field, [](S& s, uint64_t v) { s.field = static_cast<decltype(s.field)>(v); }}
#define LIMIT(field) \
  {#field, [](VkPhysicalDeviceProperties& p, uint64_t v) { p.limits.field = static_cast<decltype(p.limits.field)>(v); }}

const Row<VkPhysicalDeviceProperties> kProperties[] = {LIMIT(maxComputeSharedMemorySize),
                                                       LIMIT(maxComputeWorkGroupInvocations),
                                                       LIMIT(maxPushConstantsSize),
                                                       LIMIT(maxStorageBufferRange),
                                                       LIMIT(minStorageBufferOffsetAlignment),
                                                       LIMIT(maxMemoryAllocationCount),
                                                       {"maxComputeWorkGroupSize",
                                                        [](VkPhysicalDeviceProperties& p, uint64_t v) {
                                                          for (uint32_t& axis : p.limits.maxComputeWorkGroupSize)
                                                            axis = static_cast<uint32_t>(v);
                                                        }},
                                                       {"maxComputeWorkGroupCount",
                                                        [](VkPhysicalDeviceProperties& p, uint64_t v) {
                                                          for (uint32_t& axis : p.limits.maxComputeWorkGroupCount)
                                                            axis = static_cast<uint32_t>(v);
                                                        }},
                                                       ROW(VkPhysicalDeviceProperties, apiVersion),
                                                       ROW(VkPhysicalDeviceProperties, vendorID),
                                                       ROW(VkPhysicalDeviceProperties, deviceID),
                                                       ROW(VkPhysicalDeviceProperties, deviceType)};
using Properties11 = VkPhysicalDeviceVulkan11Properties;
const Row<Properties11> kProperties11[] = {ROW(Properties11, maxMemoryAllocationSize), ROW(Properties11, subgroupSize),
                                           ROW(Properties11, subgroupSupportedOperations)};
using Properties12 = VkPhysicalDeviceVulkan12Properties;
const Row<Properties12> kProperties12[] = {ROW(Properties12, driverID)};
using Properties13 = VkPhysicalDeviceVulkan13Properties;
const Row<Properties13> kProperties13[] = {ROW(Properties13, maxBufferSize), ROW(Properties13, minSubgroupSize),
                                           ROW(Properties13, maxSubgroupSize)};
using Features = VkPhysicalDeviceFeatures;
const Row<Features> kFeatures[] = {ROW(Features, shaderInt64), ROW(Features, shaderFloat64),
                                   ROW(Features, shaderInt16)};
using Features11 = VkPhysicalDeviceVulkan11Features;
const Row<Features11> kFeatures11[] = {ROW(Features11, storageBuffer16BitAccess)};
using Features12 = VkPhysicalDeviceVulkan12Features;
const Row<Features12> kFeatures12[] = {
    ROW(Features12, bufferDeviceAddress),         ROW(Features12, timelineSemaphore),
    ROW(Features12, storageBuffer8BitAccess),     ROW(Features12, shaderInt8),
    ROW(Features12, scalarBlockLayout),           ROW(Features12, shaderFloat16),
    ROW(Features12, shaderSubgroupExtendedTypes), ROW(Features12, hostQueryReset),
    ROW(Features12, vulkanMemoryModel),           ROW(Features12, vulkanMemoryModelDeviceScope)};
using Features13 = VkPhysicalDeviceVulkan13Features;
const Row<Features13> kFeatures13[] = {ROW(Features13, synchronization2), ROW(Features13, maintenance4),
                                       ROW(Features13, subgroupSizeControl), ROW(Features13, computeFullSubgroups)};
#undef ROW
#undef LIMIT

template <class S, size_t n>
bool knows(const Row<S> (&rows)[n], std::string_view name) {
  for (const Row<S>& row : rows)
    if (row.name == name) return true;
  return false;
}

void check_names() {
  for (const auto& [name, value] : wanted()) {
    if (knows(kProperties, name) || knows(kProperties11, name) || knows(kProperties12, name) ||
        knows(kProperties13, name) || knows(kFeatures, name) || knows(kFeatures11, name) || knows(kFeatures12, name) ||
        knows(kFeatures13, name))
      continue;
    std::fprintf(stderr, "fake driver: FAKE_DRIVER_LIMITS names '%s', which limits.cpp does not know\n", name.c_str());
    std::abort();
  }
}

template <class S, size_t n>
void fake_fields(const Row<S> (&rows)[n], S& s) {
  for (const Row<S>& row : rows)
    if (const auto at = wanted().find(row.name); at != wanted().end()) row.set(s, at->second);
}

// Those of the structures behind `next` that the tables name.
template <class S, size_t n>
void fake_in_chain(void* next, VkStructureType type, const Row<S> (&rows)[n]) {
  for (auto* s = static_cast<VkBaseOutStructure*>(next); s; s = s->pNext)
    if (s->sType == type) fake_fields(rows, *reinterpret_cast<S*>(s));
}

PFN_vkCreateInstance real_instance;
VkResult VKAPI_CALL instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* memory, VkInstance* out) {
  check_names();
  return real_instance(info, memory, out);
}

PFN_vkGetPhysicalDeviceProperties real_properties;
void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* p) {
  real_properties(device, p);
  fake_fields(kProperties, *p);
}

PFN_vkGetPhysicalDeviceProperties2 real_properties2;
void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* p) {
  real_properties2(device, p);
  fake_fields(kProperties, p->properties);
  fake_in_chain(p->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, kProperties11);
  fake_in_chain(p->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES, kProperties12);
  fake_in_chain(p->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES, kProperties13);
}

PFN_vkGetPhysicalDeviceFeatures2 real_features2;
void VKAPI_CALL features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* f) {
  real_features2(device, f);
  fake_fields(kFeatures, f->features);
  fake_in_chain(f->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, kFeatures11);
  fake_in_chain(f->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, kFeatures12);
  fake_in_chain(f->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, kFeatures13);
}

}  // namespace

PFN_vkVoidFunction limits_hook(const char* name, PFN_vkVoidFunction real) {
  if (wanted().empty()) return nullptr;
  static const Hook hooks[] = {hook("vkCreateInstance", &instance, real_instance),
                               hook("vkGetPhysicalDeviceProperties", &properties, real_properties),
                               hook("vkGetPhysicalDeviceProperties2", &properties2, real_properties2),
                               hook("vkGetPhysicalDeviceFeatures2", &features2, real_features2)};
  return find(hooks, name, real);
}

}  // namespace fake
