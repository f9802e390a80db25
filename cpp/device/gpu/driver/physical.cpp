// Owns the table of the features that kernels and the recorder use, and reads the facts of a GPU. Makes no device.
#include "device/gpu/driver/physical.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/device_fault.hpp"
#include "device/gpu/driver/external.hpp"
#include "device/gpu/driver/matrix.hpp"

namespace sg {
namespace {

// Every feature that kernels or the recorder use: its name, and where Vulkan's structures hold it.
struct FeatureRow {
  const char* name;
  bool required;
  VkBool32& (*of)(FeatureChain&);
};
#define SG_FEATURE(where, name, required) {#name, required, [](FeatureChain& c) -> VkBool32& { return c.where.name; }}
const FeatureRow kFeatures[] = {
    SG_FEATURE(v12, bufferDeviceAddress, true),
    SG_FEATURE(v12, timelineSemaphore, true),
    SG_FEATURE(v13, synchronization2, true),
    SG_FEATURE(core.features, shaderInt64, true),
    SG_FEATURE(v12, storageBuffer8BitAccess, false),
    SG_FEATURE(v12, shaderInt8, false),
    SG_FEATURE(v12, scalarBlockLayout, true),
    SG_FEATURE(v13, maintenance4, true),
    SG_FEATURE(core.features, shaderFloat64, false),
    SG_FEATURE(core.features, shaderInt16, false),
    SG_FEATURE(v11, storageBuffer16BitAccess, false),
    SG_FEATURE(v12, shaderFloat16, false),
    SG_FEATURE(v12, shaderSubgroupExtendedTypes, false),
    SG_FEATURE(v12, hostQueryReset, false),
    SG_FEATURE(v12, vulkanMemoryModel, false),
    SG_FEATURE(v12, vulkanMemoryModelDeviceScope, false),
    SG_FEATURE(v13, subgroupSizeControl, false),
    SG_FEATURE(v13, computeFullSubgroups, false),
};
#undef SG_FEATURE

std::string version_text(uint32_t v) {
  return std::to_string(VK_API_VERSION_MAJOR(v)) + "." + std::to_string(VK_API_VERSION_MINOR(v)) + "." +
         std::to_string(VK_API_VERSION_PATCH(v));
}

const char* type_text(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    default:
      return "software";
  }
}

std::string vendor_text(uint32_t id) {
  const std::pair<uint32_t, const char*> known[] = {
      {0x10DE, "NVIDIA"}, {0x1002, "AMD"},      {0x8086, "Intel"},       {0x106B, "Apple"},
      {0x13B5, "Arm"},    {0x5143, "Qualcomm"}, {0x1010, "Imagination"}, {VK_VENDOR_ID_MESA, "Mesa"}};
  for (const auto& [number, name] : known)
    if (number == id) return name;
  return "vendor " + std::to_string(id);
}

std::string hex(const uint8_t* bytes, size_t n) {
  static const char digits[] = "0123456789abcdef";
  std::string s;
  for (size_t i = 0; i < n; ++i) {
    if (n == VK_UUID_SIZE && (i == 4 || i == 6 || i == 8 || i == 10)) s += '-';
    s += digits[bytes[i] >> 4];
    s += digits[bytes[i] & 15];
  }
  return s;
}

std::vector<std::string> extensions_of(VkPhysicalDevice handle) {
  uint32_t n = 0;
  vk_check(vkEnumerateDeviceExtensionProperties(handle, nullptr, &n, nullptr), "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> all(n);
  vk_check(vkEnumerateDeviceExtensionProperties(handle, nullptr, &n, all.data()),
           "vkEnumerateDeviceExtensionProperties");
  std::vector<std::string> names;
  for (const auto& e : all) names.emplace_back(e.extensionName);
  return names;
}

// Whether the driver can read its clock together with the host's steady clock, once the extension is enabled.
bool calibrates(VkPhysicalDevice handle, const std::string& extension) {
  const bool khr = extension == VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
  if (!khr && extension != VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) return false;
  const auto ask =
      khr ? vkGetPhysicalDeviceCalibrateableTimeDomainsKHR : vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
  uint32_t n = 0;
  if (!ask || ask(handle, &n, nullptr) != VK_SUCCESS) return false;
  std::vector<VkTimeDomainKHR> domains(n);
  if (ask(handle, &n, domains.data()) != VK_SUCCESS) return false;
  const auto has = [&](VkTimeDomainKHR d) { return std::find(domains.begin(), domains.end(), d) != domains.end(); };
  return has(VK_TIME_DOMAIN_DEVICE_KHR) && has(kSteadyClock);
}

// The family for graphics and compute, which drivers tune; else a pure compute family.
void choose_family(Physical& p) {
  uint32_t n = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(p.handle, &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  vkGetPhysicalDeviceQueueFamilyProperties(p.handle, &n, families.data());
  const auto pick = [&](VkQueueFlags flags) {
    for (uint32_t i = 0; i < n; ++i)
      if ((families[i].queueFlags & flags) == flags && families[i].queueCount > 0) {
        p.family = i;
        p.timestamp_bits = families[i].timestampValidBits;
        return true;
      }
    return false;
  };
  if (!pick(VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT) && !pick(VK_QUEUE_COMPUTE_BIT))
    p.missing += (p.missing.empty() ? "" : ", ") + std::string("a compute queue");
  constexpr VkQueueFlags kWork = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;
  for (uint32_t i = 0; i < n && !p.copies; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_TRANSFER_BIT) || families[i].queueFlags & kWork) continue;
    p.copies = true;
    p.copy_family = i;
    p.copy_timestamp_bits = families[i].timestampValidBits;
  }
}

void read_memory(Physical& p, bool budget) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT free{};
  free.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  if (budget) memory.pNext = &free;
  vkGetPhysicalDeviceMemoryProperties2(p.handle, &memory);
  const auto& m = memory.memoryProperties;
  for (uint32_t i = 0; i < m.memoryHeapCount; ++i)
    if ((m.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && m.memoryHeaps[i].size > p.heap_bytes) {
      p.heap = i;
      p.heap_bytes = m.memoryHeaps[i].size;
    }
  p.info.memory_total = static_cast<int64_t>(p.heap_bytes);
  p.info.memory_free = p.info.memory_total;
  if (budget && free.heapBudget[p.heap] > free.heapUsage[p.heap])
    p.info.memory_free = static_cast<int64_t>(free.heapBudget[p.heap] - free.heapUsage[p.heap]);
  p.features.memory_bytes = p.info.memory_total;
}

// SPIROGRAD_TILES, or the row for the maker and the architecture.
const Tiles* tiles_for(const VkPhysicalDeviceProperties& p, VkDriverId driver, uint32_t least_subgroup) {
  if (const std::string wanted = env("SPIROGRAD_TILES"); !wanted.empty()) {
    if (const Tiles* named = find_tiles(wanted)) return named;
    std::string names;
    for (const Tiles& t : all_tiles()) names += (names.empty() ? "" : ", ") + std::string(t.name);
    fail<ValueError>("SPIROGRAD_TILES", "'" + wanted + "' is not a row of tiles", "use one of " + names);
  }
  const auto named = [](const char* name) { return find_tiles(name); };
  if (p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) return named("software");
  if (driver == VK_DRIVER_ID_MESA_HONEYKRISP) return named("apple");  // it names Mesa as the maker
  if (driver == VK_DRIVER_ID_MESA_NVK) return named("nvk");
  switch (p.vendorID) {
    case 0x1002:
      return named(least_subgroup == 64 ? "gcn" : "amd");
    case 0x8086:
      return named("intel");
    case 0x106B:
      return named("apple");
    case 0x13B5:
    case 0x5143:
    case 0x1010:
      return named("mobile");
    default:
      return default_tiles();
  }
}

struct Properties {
  VkPhysicalDeviceProperties2 core{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceVulkan13Properties v13{};
  explicit Properties(VkPhysicalDevice handle) {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.pNext = &v13;
    vkGetPhysicalDeviceProperties2(handle, &core);
  }
};

void read_limits(Physical& p, const Properties& properties) {
  const VkPhysicalDeviceLimits& l = properties.core.properties.limits;
  Features& f = p.features;
  f.software = properties.core.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  f.tiles = tiles_for(properties.core.properties, properties.v12.driverID, properties.v13.minSubgroupSize);
  f.shared_bytes = l.maxComputeSharedMemorySize;
  f.max_groups =
      std::min({l.maxComputeWorkGroupCount[0], l.maxComputeWorkGroupCount[1], l.maxComputeWorkGroupCount[2]});
  f.max_group_threads = std::min(l.maxComputeWorkGroupInvocations, l.maxComputeWorkGroupSize[0]);
  f.max_buffer_bytes = static_cast<int64_t>(
      std::min<uint64_t>(properties.v13.maxBufferSize ? properties.v13.maxBufferSize : INT64_MAX, INT64_MAX));
  p.timestamp_ns = l.timestampPeriod;
  p.storage_alignment = std::max<VkDeviceSize>(1, l.minStorageBufferOffsetAlignment);
  p.storage_range = l.maxStorageBufferRange;
  const auto limit = [&](const char* name, uint64_t value) { p.info.limits.emplace_back(name, std::to_string(value)); };
  limit("maxBufferSize", static_cast<uint64_t>(f.max_buffer_bytes));
  limit("maxMemoryAllocationSize", properties.v11.maxMemoryAllocationSize);
  limit("maxComputeSharedMemorySize", l.maxComputeSharedMemorySize);
  limit("maxComputeWorkGroupCount", static_cast<uint64_t>(f.max_groups));
  limit("maxComputeWorkGroupInvocations", l.maxComputeWorkGroupInvocations);
  limit("maxPushConstantsSize", l.maxPushConstantsSize);
  limit("subgroupSize", properties.v11.subgroupSize);
  limit("minSubgroupSize", properties.v13.minSubgroupSize);
  limit("maxSubgroupSize", properties.v13.maxSubgroupSize);
}

// A processor of NVIDIA's has room for one workgroup at least, and its driver starts a kernel's before those of the next.
int64_t resident_workgroups(VkPhysicalDevice handle, VkDriverId driver) {
  if (driver != VK_DRIVER_ID_NVIDIA_PROPRIETARY) return 0;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV processors{};
  processors.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &processors;
  vkGetPhysicalDeviceProperties2(handle, &properties);
  return processors.shaderSMCount;
}

// Whether the threads of a workgroup are in order in subgroups of at least eight.
bool has_shuffles(const Properties& properties, const FeatureChain& has) {
  const uint32_t least = properties.v13.minSubgroupSize, most = properties.v13.maxSubgroupSize;
  return env_flag("SPIROGRAD_SHUFFLES") && least >= 8 && most <= 128 && has.v13.computeFullSubgroups &&
         has.v12.shaderSubgroupExtendedTypes &&
         (properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
         (properties.v11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
}

bool has_ballots(const Features& f, const Properties& properties, const FeatureChain& has) {
  return env_flag("SPIROGRAD_SHUFFLES") && (f.subgroup == 16 || f.subgroup == 32) && has.v13.computeFullSubgroups &&
         (properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
         (properties.v11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT);
}

// Where a kernel may ask for a number of threads, it asks for the least, which all matrix units take.
void read_subgroup(Physical& p, const Properties& properties, const FeatureChain& has) {
  const auto& v13 = properties.v13;
  p.subgroups_vary = v13.minSubgroupSize != v13.maxSubgroupSize;
  if (!p.subgroups_vary)
    p.features.subgroup = properties.v11.subgroupSize;
  else if (has.v13.subgroupSizeControl && has.v13.computeFullSubgroups &&
           (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
           v13.minSubgroupSize * v13.maxComputeWorkgroupSubgroups >= 256)  // threads of most workgroups
    p.features.subgroup = v13.minSubgroupSize;
}

void read_features(Physical& p, const Properties& properties) {
  FeatureChain has;
  vkGetPhysicalDeviceFeatures2(p.handle, &has.core);
  for (const FeatureRow& row : kFeatures) {
    const bool there = row.of(has) == VK_TRUE;
    p.info.features.emplace_back(row.name, there ? "yes" : "no");
    if (row.required && !there) p.missing += (p.missing.empty() ? "" : ", ") + std::string(row.name);
  }
  p.features.float64 = has.core.features.shaderFloat64 == VK_TRUE;
  p.info.features.emplace_back("scalar Values", p.features.float64 ? "float64" : "float32");
  p.host_query_reset = has.v12.hostQueryReset == VK_TRUE;
  p.features.int64 = has.core.features.shaderInt64 == VK_TRUE;
  p.features.storage16 = has.v11.storageBuffer16BitAccess == VK_TRUE;
  p.features.shuffles = has_shuffles(properties, has);
  read_subgroup(p, properties, has);
  p.features.ballots = has_ballots(p.features, properties, has);
  p.info.features.emplace_back("shuffles", p.features.shuffles ? "yes" : "no");
  p.info.features.emplace_back("ballots", p.features.ballots ? "yes" : "no");
  p.features.storage8 = has.v12.storageBuffer8BitAccess == VK_TRUE && has.v12.shaderInt8 == VK_TRUE;
}

std::string path_text(const MatrixUnits& units) {
  return units.path == MatrixUnits::Path::none ? "float32 arithmetic"
                                               : std::string("matrix units, ") + name_of(units.path);
}

}  // namespace

FeatureChain::FeatureChain() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
}

void choose_features(VkPhysicalDevice handle, FeatureChain& enable) {
  FeatureChain has;
  vkGetPhysicalDeviceFeatures2(handle, &has.core);
  for (const FeatureRow& row : kFeatures) row.of(enable) = row.of(has);
}

Physical describe(VkPhysicalDevice handle) {
  Physical p;
  p.handle = handle;
  VkPhysicalDeviceProperties first;
  vkGetPhysicalDeviceProperties(handle, &first);
  p.type = first.deviceType;
  p.info.type = type_text(first.deviceType);
  p.info.name = first.deviceName;
  p.info.vendor = vendor_text(first.vendorID);
  p.info.api_version = version_text(first.apiVersion);
  if (first.apiVersion < VK_API_VERSION_1_3) {  // what follows is asked through structures of 1.3
    p.missing = "Vulkan 1.3 (it has " + p.info.api_version + ")";
    return p;
  }
  const Properties properties(handle);
  std::memcpy(p.uuid.data(), properties.v11.deviceUUID, VK_UUID_SIZE);
  p.info.uuid = hex(p.uuid.data(), VK_UUID_SIZE);
  p.info.driver = std::string(properties.v12.driverName) + " " + properties.v12.driverInfo;
  p.cache_key = p.info.uuid + "/" + std::to_string(first.vendorID) + "/" + std::to_string(first.deviceID) + "/" +
                std::to_string(first.driverVersion) + "/" + hex(first.pipelineCacheUUID, VK_UUID_SIZE);
  read_limits(p, properties);
  read_features(p, properties);
  choose_family(p);
  p.info.features.emplace_back("tiles", p.features.tiles->name);
  p.info.features.emplace_back("copy_queue", p.copies ? "yes" : "no");
  bool budget = false;
  const std::vector<std::string> offered = extensions_of(handle);
  read_matrix_units(handle, offered, p.features, p.extensions);
  const std::string float16 = path_text(p.features.float16_units), bfloat16 = path_text(p.features.bfloat16_units);
  p.info.features.emplace_back("float16 products", float16);
  p.info.features.emplace_back("bfloat16 products", bfloat16);
  debug(1, p.info.name + ": products of float16 by " + float16 + ", of bfloat16 by " + bfloat16);
  for (const std::string& name : offered) {
    if (name == VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)
      p.features.resident = resident_workgroups(handle, properties.v12.driverID);
    if (!p.calibrated && calibrates(handle, name)) {
      p.calibrated = true;
      p.extensions.push_back(name == VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME
                                 ? VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME
                                 : VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    }
    if (name == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) {
      budget = true;
      p.extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    }
    if (name == VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME && debug_level() >= 2) {
      p.statistics = true;
      p.extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    }
    if (name == VK_EXT_DEVICE_FAULT_EXTENSION_NAME && reports_faults(handle)) {
      p.device_fault = true;
      p.extensions.push_back(VK_EXT_DEVICE_FAULT_EXTENSION_NAME);
    }
    if (name == VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME && can_export(handle)) {
      p.exports = true;
      p.extensions.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    }
    if (name == "VK_KHR_portability_subset") p.extensions.push_back("VK_KHR_portability_subset");
  }
  p.info.features.emplace_back("memory_budget", budget ? "yes" : "no");
  p.info.features.emplace_back("external_memory", p.exports ? "yes" : "no");
  p.info.features.emplace_back("calibrated_timestamps", p.calibrated ? "yes" : "no");
  read_memory(p, budget);
  return p;
}

}  // namespace sg
