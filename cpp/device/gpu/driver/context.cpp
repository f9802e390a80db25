// Opens a device, and owns the small Vulkan calls that every room needs: host buffers, command pools, barriers, clocks.
// Knows no plans.
#include "device/gpu/driver/context.hpp"

#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/device_fault.hpp"
#include "device/gpu/driver/instance.hpp"
#include "device/gpu/driver/matrix.hpp"

namespace sg {
namespace {

void make_device(Context& c) {
  FeatureChain features;
  choose_features(c.physical.handle, features);
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queues[2]{};
  for (VkDeviceQueueCreateInfo& queue : queues) {
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = &queue == queues ? c.physical.family : c.physical.copy_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
  }
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{};
  executables.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  executables.pipelineExecutableInfo = VK_TRUE;
  VkPhysicalDeviceFaultFeaturesEXT faults{};
  faults.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT;
  faults.deviceFault = VK_TRUE;
  if (c.physical.statistics) features.v13.pNext = &executables;
  if (c.physical.device_fault) faults.pNext = std::exchange(features.v13.pNext, &faults);
  MatrixFeatures matrices;
  features.v13.pNext = matrices.chain(c.physical.extensions, features.v13.pNext);
  info.queueCreateInfoCount = c.physical.copies ? 2 : 1;
  info.pQueueCreateInfos = queues;
  info.enabledExtensionCount = static_cast<uint32_t>(c.physical.extensions.size());
  info.ppEnabledExtensionNames = c.physical.extensions.data();
  vk_check(vkCreateDevice(c.physical.handle, &info, nullptr, &c.device), "vkCreateDevice");
  vkGetDeviceQueue(c.device, c.physical.family, 0, &c.queue);
  if (c.physical.copies) vkGetDeviceQueue(c.device, c.physical.copy_family, 0, &c.copies);
  for (const char* e : c.physical.extensions)
    for (const char* name : {"vkGetCalibratedTimestampsKHR", "vkGetCalibratedTimestampsEXT"})
      if (!c.read_clocks && std::string(e).find("calibrated_timestamps") != std::string::npos)
        c.read_clocks = reinterpret_cast<PFN_vkGetCalibratedTimestampsKHR>(vkGetDeviceProcAddr(c.device, name));
}

// VMA tries other memory when the driver answers that the device is lost, and says in the end that there is none.
thread_local bool lost_in_vma = false;

// VMA has its own table of functions. These look into volk's table at each call, so that replaced functions there
// (counting.cpp, faults.cpp, a test) also see VMA's calls.
template <auto* kSlot, class F>
struct ByTable;
template <auto* kSlot, class R, class... A>
struct ByTable<kSlot, R(VKAPI_PTR*)(A...)> {
  static VKAPI_ATTR R VKAPI_CALL call(A... a) {
    if constexpr (std::is_same_v<R, VkResult>) {
      const VkResult result = (*kSlot)(a...);
      lost_in_vma = lost_in_vma || result == VK_ERROR_DEVICE_LOST;
      return result;
    } else {
      return (*kSlot)(a...);
    }
  }
};
template <auto* kSlot, class F>
void use_table(F& function) {
  if (function) function = ByTable<kSlot, F>::call;
}

void make_vma(Context& c, VkInstance instance) {
  VmaAllocatorCreateInfo info{};
  info.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
  for (const char* e : c.physical.extensions)
    if (std::string(e) == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) info.flags |= VMA_ALLOCATOR_CREATE_EXT_MEMORY_BUDGET_BIT;
  info.physicalDevice = c.physical.handle;
  info.device = c.device;
  info.instance = instance;
  info.vulkanApiVersion = VK_API_VERSION_1_3;
  VmaVulkanFunctions functions{};
  vk_check(vmaImportVulkanFunctionsFromVolk(&info, &functions), "vmaImportVulkanFunctionsFromVolk");
  use_table<&vkAllocateMemory>(functions.vkAllocateMemory);
  use_table<&vkFreeMemory>(functions.vkFreeMemory);
  use_table<&vkMapMemory>(functions.vkMapMemory);
  use_table<&vkBindBufferMemory>(functions.vkBindBufferMemory);
  use_table<&vkBindBufferMemory2>(functions.vkBindBufferMemory2KHR);
  use_table<&vkCreateBuffer>(functions.vkCreateBuffer);
  use_table<&vkDestroyBuffer>(functions.vkDestroyBuffer);
  info.pVulkanFunctions = &functions;
  const VmaDeviceMemoryCallbacks callbacks = c.external->callbacks();
  info.pDeviceMemoryCallbacks = &callbacks;
  vk_check(vmaCreateAllocator(&info, &c.vma), "vmaCreateAllocator");
}

}  // namespace

Context open_context(int index) {
  const Vulkan& v = vulkan();
  Context c;
  c.physical = v.gpus.at(static_cast<size_t>(index));
  c.id = c.physical.info.id;
  c.labels = v.labels;
  c.health = std::make_shared<Health>(c.name());
  c.external = std::make_shared<External>();
  const std::lock_guard lock(vulkan_lock());
  try {
    make_device(c);
    make_vma(c, v.instance);
    if (c.physical.device_fault && env("SPIROGRAD_FAULTS").empty())
      c.health->ask_driver = [device = c.device] { return describe_fault(device); };
  } catch (const Error& e) {
    if (c.device) vkDestroyDevice(c.device, nullptr);
    fail<DeviceUnavailableError>(c.name(), c.physical.info.name + " cannot be opened, " + e.what());
  }
  return c;
}

// Shared by both families at once, a buffer needs no transfer of ownership when an upload is done.
VkBufferCreateInfo buffer_info(const Context& context, size_t bytes, uint32_t (&families)[2]) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  families[0] = context.physical.family;
  families[1] = context.physical.copy_family;
  if (context.copies) {
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = 2;
    info.pQueueFamilyIndices = families;
  }
  return info;
}

VkResult create_buffer(const Context& context, const VkBufferCreateInfo& info, const VmaAllocationCreateInfo& how,
                       VkBuffer& handle, VmaAllocation& allocation, VmaAllocationInfo* made) {
  lost_in_vma = false;
  const VkResult result = vmaCreateBufferWithAlignment(context.vma, &info, &how, 256, &handle, &allocation, made);
  return result < 0 && lost_in_vma ? VK_ERROR_DEVICE_LOST : result;
}

// Coherent memory needs no flush. Arguments are written once and read by shaders; staging is read by the host, too, so
// it should be cached.
HostBuffer make_host_buffer(const Context& context, size_t bytes, HostUse use) {
  uint32_t families[2];
  const VkBufferCreateInfo info = buffer_info(context, bytes, families);
  VmaAllocationCreateInfo how{};
  how.usage = VMA_MEMORY_USAGE_AUTO_PREFER_HOST;
  how.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT | VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT;
  how.requiredFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (use == HostUse::arguments) {
    how.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
    how.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT | VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT;
  } else {
    how.preferredFlags = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  }
  HostBuffer b;
  VmaAllocationInfo made{};
  vk_check(create_buffer(context, info, how, b.handle, b.allocation, &made), "vmaCreateBuffer for host memory");
  b.mapped = made.pMappedData;
  b.bytes = bytes;
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = b.handle;
  b.address = vkGetBufferDeviceAddress(context.device, &address);
  return b;
}

void free_host_buffer(const Context& context, HostBuffer& buffer) {
  if (buffer.handle) vmaDestroyBuffer(context.vma, buffer.handle, buffer.allocation);
  buffer = {};
}

VkCommandPool make_command_pool(const Context& context, uint32_t family, Submissions submissions) {
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  if (submissions == Submissions::one) info.flags |= VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  info.queueFamilyIndex = family;
  VkCommandPool pool = VK_NULL_HANDLE;
  vk_check(vkCreateCommandPool(context.device, &info, nullptr, &pool), "vkCreateCommandPool");
  return pool;
}

VkCommandBuffer make_command_buffer(const Context& context, VkCommandPool pool) {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  vk_check(vkAllocateCommandBuffers(context.device, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

void begin_commands(VkCommandBuffer commands, Submissions submissions) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  if (submissions == Submissions::one) info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  vk_check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void end_commands(VkCommandBuffer commands) { vk_check(vkEndCommandBuffer(commands), "vkEndCommandBuffer"); }

bool read_clocks(const Context& context, uint64_t& ticks, int64_t& host) {
  VkCalibratedTimestampInfoKHR clocks[2]{};
  for (auto& c : clocks) c.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_KHR;
  clocks[0].timeDomain = VK_TIME_DOMAIN_DEVICE_KHR;
  clocks[1].timeDomain = kSteadyClock;
  uint64_t times[2], deviation = 0;
  if (!context.read_clocks || context.read_clocks(context.device, 2, clocks, times, &deviation) != VK_SUCCESS)
    return false;
  ticks = times[0];
  host = static_cast<int64_t>(times[1]);
  return true;
}

namespace {
struct Scope {
  VkPipelineStageFlags2 stages;
  VkAccessFlags2 reads, writes;
};
constexpr Scope kKernels{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                         VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT};
constexpr Scope kAll{kKernels.stages | VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT,
                     kKernels.reads | VK_ACCESS_2_TRANSFER_READ_BIT, kKernels.writes | VK_ACCESS_2_TRANSFER_WRITE_BIT};

void memory_barrier(VkCommandBuffer commands, const Scope& from, VkPipelineStageFlags2 to, VkAccessFlags2 access) {
  VkMemoryBarrier2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  memory.srcStageMask = from.stages;
  memory.srcAccessMask = from.writes;
  memory.dstStageMask = to;
  memory.dstAccessMask = access;
  VkDependencyInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &memory;
  vkCmdPipelineBarrier2(commands, &info);
}
}  // namespace

void barrier(VkCommandBuffer commands, Work work) {
  const Scope& scope = work == Work::kernels ? kKernels : kAll;
  memory_barrier(commands, scope, scope.stages, scope.reads | scope.writes);
}

void barrier_to_host(VkCommandBuffer commands) {
  memory_barrier(commands, kAll, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
}

}  // namespace sg
