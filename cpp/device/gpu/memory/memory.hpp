// Device memory for tensors: a caching pool over VMA. A returned block may be handed out again at once, although work
// that uses it is still in flight: one queue works in order and each submission begins with a barrier. Where uploads
// have a separate queue, a buffer knows which submissions of either queue come first, and an upload gets a block that
// no work in flight uses: otherwise it would wait for the very work that it should overlap with. Only giving memory
// back to the driver waits.
// Threads: any; destructors of buffers come from everywhere.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/buffer.hpp"
#include "base/round.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/queue/queue.hpp"

namespace sg {

class BufferPool;

class GpuBuffer final : public Buffer {
 public:
  void recycle() override;

  VkBuffer handle = VK_NULL_HANDLE;
  uint64_t arrives = 0;  // submission of the copying queue that fills it
  uint64_t free_at = 0;  // submission of the working queue after which an upload may write it
  // The recorder's: a run that has a place for it, and the first such place.
  uint64_t placed_by = 0;
  size_t place = 0;

 private:
  friend class BufferPool;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  size_t block_ = 0;       // bytes of the block; `bytes` is what was asked for, rounded up to 16
  bool external_ = false;  // another driver can open its memory
  bool scratch_ = false;   // the arena: counted as cached
  BufferPool* pool_ = nullptr;
  GpuBuffer* next_ = nullptr;  // in the list of free blocks of this size
};
using GpuBufferRef = Ref<GpuBuffer>;

// The size of block that serves `bytes`: four steps between powers of two up to 16 MiB, then multiples of 2 MiB.
// Leaves room for 16-byte loads of the last element.
// At most a quarter is wasted, and a tensor that grows a little finds a block of its size.
size_t block_size(size_t bytes);

struct PoolCounters {
  int64_t allocations = 0, live = 0, cached = 0, peak = 0;
};

// Invariant: every block is either with a holder (counted as live, or as cached if it is the arena) or in the list of
// its size. Blocks of a lost device are marked `gone` and deleted by their last holder.
class BufferPool {
 public:
  BufferPool(const Context& context, Queue& queue, Queue* copies = nullptr);
  enum class Use { values, upload, scratch };
  // OutOfMemoryError after the cache was emptied and one retry; LimitError beyond the largest buffer.
  GpuBuffer* take(size_t bytes, Use use = Use::values);
  // From now on, blocks are made in memory that another driver can open; the cached ones go.
  void make_external();
  ExternalMemory external_memory(const GpuBuffer& buffer) const;
  int open_external(const GpuBuffer& buffer) const;
  // A block of another driver's memory, whose file it takes. Given back, it is a block like any other.
  GpuBuffer* import_external(int file, size_t bytes);
  // Frees every cached block. Waits for the work in flight.
  void trim();
  // The device is lost: all blocks are gone. Their memory goes back to the driver when no work can be running on it.
  void abandon(bool idle);
  int64_t budget() const { return budget_; }
  // A run that is submitted now uses so many bytes of the arena.
  void count_run(int64_t inside);
  // Of the device's memory, what the driver has given and not got back.
  int64_t reserved() const;
  // Allocations and peak since the last call; live and cached as they are.
  PoolCounters read_counters();

 private:
  friend class GpuBuffer;
  struct FreeList {
    GpuBuffer* head = nullptr;
  };
  void give(GpuBuffer* buffer) noexcept;
  GpuBuffer* reuse(size_t block, uint64_t done);
  GpuBuffer* create(size_t block, VkResult& why);
  GpuBuffer* add(std::unique_ptr<GpuBuffer> buffer, size_t block);
  void count(GpuBuffer* buffer, int sign);
  void note(int64_t used);
  [[noreturn]] void out_of_memory(size_t bytes, VkResult why);

  const Context& context_;
  Queue& queue_;
  Queue* copies_;
  int64_t budget_;
  VmaPool external_ = VK_NULL_HANDLE;
  mutable std::mutex mutex_;
  std::map<size_t, FreeList> free_;        // a size stays once seen, so that giving back never allocates
  std::unordered_set<GpuBuffer*> blocks_;  // all there are
  PoolCounters counters_;
};

}  // namespace sg
