// Blocks of device memory that another driver of the same GPU opens (CUDA, for NCCL): their numbers, their files, the
// change of ownership, and who hears when one goes. Knows no buffers of tensors. Threads: any.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "device/gpu/driver/vulkan.hpp"

namespace sg {

struct Context;

// Whether buffers like those of tensors can be exported as file descriptors without an allocation for each.
bool can_export(VkPhysicalDevice device);

class External {
 public:
  // VMA calls forget() for all its memory.
  VmaDeviceMemoryCallbacks callbacks();
  void on_freed(std::function<void(uint64_t block)> freed) { freed_ = std::move(freed); }
  // The number of the block, which gets one when it is asked for first.
  uint64_t number_of(VkDeviceMemory memory);

 private:
  void forget(VkDeviceMemory memory) noexcept;
  std::mutex mutex_;
  std::map<VkDeviceMemory, uint64_t> numbers_;
  std::function<void(uint64_t)> freed_;
};

// A VMA pool whose memory can be opened.
VmaPool make_external_pool(const Context& context);
// To be chained to a buffer in such memory.
const void* external_buffer();
// A new file descriptor, which belongs to the caller.
int open_memory(const Context& context, VkDeviceMemory memory);
// A buffer that is all of another driver's memory. The file descriptor is Vulkan's or closed on return.
void import_memory(const Context& context, int file, size_t bytes, VkBuffer& buffer, VmaAllocation& allocation);

enum class Owner { other_driver, us };
// The specification wants it of memory that two drivers use, whatever the sharing mode.
void change_owner(const Context& context, VkCommandBuffer commands, const std::vector<VkBuffer>& buffers, Owner next);

}  // namespace sg
