// One opened GPU: the logical device, its queues and VMA. Never destroyed: a device that hangs cannot be destroyed, and
// drivers that are torn down at exit crash.
// Everything below device/gpu holds a reference to it. Threads: reading any; calls on a queue belong to Queue.
#pragma once
#include <cstdint>

#include "device/gpu/driver/external.hpp"
#include "device/gpu/driver/health.hpp"
#include "device/gpu/driver/physical.hpp"

namespace sg {

struct Context {
  Physical physical;
  DeviceId id;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkQueue copies = VK_NULL_HANDLE;  // uploads beside the work of `queue`; null where there is none
  VmaAllocator vma = VK_NULL_HANDLE;
  PFN_vkGetCalibratedTimestampsKHR read_clocks = nullptr;  // only where the driver can
  std::shared_ptr<Health> health;
  std::shared_ptr<External> external;
  bool labels = false;  // names and labels for the validation layer
  std::string name() const { return id.str(); }
};

// DeviceUnavailableError when the driver refuses.
Context open_context(int index);

// A buffer that host and device see, mapped for good.
struct HostBuffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VmaAllocation allocation = VK_NULL_HANDLE;
  void* mapped = nullptr;
  uint64_t address = 0;
  size_t bytes = 0;
};
enum class HostUse {
  arguments,  // written once by the host, read by shaders: on the device where the bus allows
  staging,    // copied through: cached host memory
};
HostBuffer make_host_buffer(const Context& context, size_t bytes, HostUse use);
void free_host_buffer(const Context& context, HostBuffer& buffer);

enum class Submissions { one, many };  // of the same commands
VkCommandPool make_command_pool(const Context& context, uint32_t family, Submissions submissions = Submissions::one);
// A buffer for anything that kernels and copies do. It belongs to all queues of the device at once; `families` lives as
// long as the result.
VkBufferCreateInfo buffer_info(const Context& context, size_t bytes, uint32_t (&families)[2]);
// Its memory as well. What the driver answers, a loss of the device included.
VkResult create_buffer(const Context& context, const VkBufferCreateInfo& info, const VmaAllocationCreateInfo& how,
                       VkBuffer& handle, VmaAllocation& allocation, VmaAllocationInfo* made = nullptr);
VkCommandBuffer make_command_buffer(const Context& context, VkCommandPool pool);
void begin_commands(VkCommandBuffer commands, Submissions submissions = Submissions::one);
void end_commands(VkCommandBuffer commands);

// The device's ticks and nanoseconds of the host's steady clock at one moment. false: the driver cannot.
bool read_clocks(const Context& context, uint64_t& ticks, int64_t& host);

// What was done before to what comes after, between kernels alone or between kernels and copies.
enum class Work { kernels, kernels_and_copies };
// One global memory barrier, not one a buffer: kernels reach memory by address, which Vulkan's buffer barriers do not
// see.
void barrier(VkCommandBuffer commands, Work work = Work::kernels_and_copies);
// What was done before to the host's reads after the submission was waited for.
void barrier_to_host(VkCommandBuffer commands);

}  // namespace sg
