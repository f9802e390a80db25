// Bytes between host and device, through mapped staging cut in chunks: threads copy one chunk while the device moves
// another. Threads: upload under the device's lock; download any, one at a time.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include "device/gpu/memory.hpp"
#include "device/gpu/timing.hpp"

namespace sg {

class Transfer {
 public:
  Transfer(const Context& context, Queue& queue, Timing& timing);
  // Returns when the source was read; the device may still be copying.
  void upload(GpuBuffer& to, const void* from, size_t bytes);
  // Waits for all work submitted before, then copies. Interruptible.
  void download(void* to, const GpuBuffer& from, size_t offset, size_t bytes);

 private:
  struct Chunk {
    HostBuffer memory;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t value = 0;  // the submission that uses it
  };
  using Chunks = std::array<Chunk, 3>;
  void prepare(Chunk& chunk, size_t bytes, bool interruptible);
  uint64_t start_download(Chunk& chunk, const GpuBuffer& from, size_t offset, size_t bytes);

  const Context& context_;
  Queue& queue_;
  Timing& timing_;
  Chunks up_, down_;  // made at the first transfer, grown to the largest chunk
  std::mutex download_mutex_;
};

}  // namespace sg
