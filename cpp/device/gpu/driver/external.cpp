// Owns the numbers of exported blocks and the structures that make memory exportable. Knows nothing of the other driver.
#include "device/gpu/driver/external.hpp"

#include <atomic>

#include "base/error.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/context.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr VkExternalMemoryBufferCreateInfo kBuffer{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr,
                                                   kHandle};
constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
// VMA keeps the address.
VkExportMemoryAllocateInfo export_info{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, nullptr, kHandle};

}  // namespace

bool can_export(VkPhysicalDevice device) {
  VkPhysicalDeviceExternalBufferInfo what{};
  what.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
  what.usage = kUsage;
  what.handleType = kHandle;
  VkExternalBufferProperties answer{};
  answer.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
  vkGetPhysicalDeviceExternalBufferProperties(device, &what, &answer);
  const VkExternalMemoryFeatureFlags can = answer.externalMemoryProperties.externalMemoryFeatures;
  return (can & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) && !(can & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
}

VmaDeviceMemoryCallbacks External::callbacks() {
  VmaDeviceMemoryCallbacks c{};
  c.pfnFree = [](VmaAllocator, uint32_t, VkDeviceMemory memory, VkDeviceSize, void* self) {
    static_cast<External*>(self)->forget(memory);
  };
  c.pUserData = this;
  return c;
}

// Never the same twice, also when the device is opened anew.
uint64_t External::number_of(VkDeviceMemory memory) {
  static std::atomic<uint64_t> last{0};
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = numbers_.try_emplace(memory, 0);
  if (is_new) at->second = ++last;
  return at->second;
}

void External::forget(VkDeviceMemory memory) noexcept {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = numbers_.find(memory);
    if (at == numbers_.end()) return;
    number = at->second;
    numbers_.erase(at);
  }
  if (freed_) freed_(number);
}

const void* external_buffer() { return &kBuffer; }

VmaPool make_external_pool(const Context& context) {
  uint32_t families[2];
  VkBufferCreateInfo info = buffer_info(context, 1 << 16, families);
  info.pNext = external_buffer();
  VmaAllocationCreateInfo how{};
  how.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
  how.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  VmaPoolCreateInfo pool{};
  pool.pMemoryAllocateNext = &export_info;
  vk_check(vmaFindMemoryTypeIndexForBufferInfo(context.vma, &info, &how, &pool.memoryTypeIndex),
           "vmaFindMemoryTypeIndexForBufferInfo");
  VmaPool made = VK_NULL_HANDLE;
  vk_check(vmaCreatePool(context.vma, &pool, &made), "vmaCreatePool");
  return made;
}

int open_memory(const Context& context, VkDeviceMemory memory) {
  VkMemoryGetFdInfoKHR what{};
  what.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
  what.memory = memory;
  what.handleType = kHandle;
  int file = -1;
  vk_check(vkGetMemoryFdKHR(context.device, &what, &file), "vkGetMemoryFdKHR");
  return file;
}

void import_memory(const Context& context, int file, size_t bytes, VkBuffer& buffer, VmaAllocation& allocation) {
  uint32_t families[2];
  VkBufferCreateInfo info = buffer_info(context, bytes, families);
  info.pNext = external_buffer();
  VkImportMemoryFdInfoKHR from{};
  from.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
  from.handleType = kHandle;
  from.fd = file;
  VmaAllocationCreateInfo how{};
  how.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  VkMemoryRequirements needs{};
  VkResult answer = vkCreateBuffer(context.device, &info, nullptr, &buffer);
  if (answer == VK_SUCCESS) {
    vkGetBufferMemoryRequirements(context.device, buffer, &needs);
    needs.size = bytes;  // the specification wants the size that was exported
    answer = vmaAllocateDedicatedMemory(context.vma, &needs, &how, &from, &allocation, nullptr);
  }
  if (answer != VK_SUCCESS) os::close_descriptor(file);
  if (answer == VK_SUCCESS) answer = vmaBindBufferMemory(context.vma, allocation, buffer);
  if (answer != VK_SUCCESS) vmaDestroyBuffer(context.vma, buffer, allocation);
  vk_check(answer, "a buffer of another driver's memory");
}

// A buffer of several queue families belongs to none of them.
void change_owner(const Context& context, VkCommandBuffer commands, const std::vector<VkBuffer>& buffers, Owner next) {
  const bool leaves = next == Owner::other_driver;
  const uint32_t here = context.copies ? VK_QUEUE_FAMILY_IGNORED : context.physical.family;
  std::vector<VkBufferMemoryBarrier2> barriers;
  for (VkBuffer buffer : buffers) {
    VkBufferMemoryBarrier2& b = barriers.emplace_back();
    b = {};
    b.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2;
    b.buffer = buffer;
    b.size = VK_WHOLE_SIZE;
    b.srcQueueFamilyIndex = leaves ? here : VK_QUEUE_FAMILY_EXTERNAL;
    b.dstQueueFamilyIndex = leaves ? VK_QUEUE_FAMILY_EXTERNAL : here;
    (leaves ? b.srcStageMask : b.dstStageMask) = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    (leaves ? b.srcAccessMask : b.dstAccessMask) = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
  }
  VkDependencyInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.bufferMemoryBarrierCount = static_cast<uint32_t>(barriers.size());
  info.pBufferMemoryBarriers = barriers.data();
  if (!barriers.empty()) vkCmdPipelineBarrier2(commands, &info);
}

}  // namespace sg
