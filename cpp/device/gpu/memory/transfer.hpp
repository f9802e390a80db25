// Bytes between host and device, through mapped staging cut in chunks: threads copy one chunk while the device moves
// another. Threads: upload under the device's lock; download any, one at a time.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/queue/timing.hpp"

namespace sg {

class Transfer {
 public:
  // Uploads go through `copies`, in parallel with the work of `queue`, if it is not null.
  Transfer(const Context& context, Queue& queue, Timing& timing, Queue* copies, Timing* copy_timing);
  // Returns when the source was read; the device may still be copying.
  void upload(GpuBuffer& to, const void* from, size_t bytes);
  // The next submission of `queue` reads or writes the buffer.
  void expect(GpuBuffer& buffer);
  void expect_all();  // or any buffer
  // While the lock lives, no download looks at a buffer.
  std::unique_lock<std::mutex> stop_downloads() { return std::unique_lock(download_mutex_); }
  // Waits for all work submitted before, then copies. Interruptible.
  void download(void* to, GpuBuffer& from, size_t offset, size_t bytes);

 private:
  struct Chunk {
    HostBuffer memory;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t value = 0;  // the submission that uses it
  };
  using Chunks = std::array<Chunk, 3>;
  void prepare(Queue& queue, uint32_t family, Chunk& chunk, size_t bytes, bool interruptible);
  uint64_t start_download(Chunk& chunk, const GpuBuffer& from, size_t offset, size_t bytes);

  const Context& context_;
  Queue& queue_;
  Timing& timing_;
  Queue* copies_;
  Timing* copy_timing_;
  Chunks up_, down_;  // made at the first transfer, grown to the largest chunk
  std::mutex download_mutex_;
};

}  // namespace sg
