// Owns all blocks of device memory, in use or free. Knows neither tensors nor plans: only sizes, and the submissions
// that use a block.
#include "device/gpu/memory/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/instance.hpp"

namespace sg {
namespace {

constexpr size_t kAlignment = 256;
constexpr uint64_t kWhenever = UINT64_MAX;
constexpr size_t kLargeFrom = size_t{16} << 20, kLargeStep = size_t{2} << 20;

// The software driver grants any size and crashes later, so we use the heap's size as the limit.
int64_t budget_of(const Context& c) {
  const int64_t heap = static_cast<int64_t>(c.physical.heap_bytes);
  const int64_t limit = env_bytes("SPIROGRAD_MEMORY_LIMIT");
  return limit > 0 ? std::min(limit, heap) : heap;
}

}  // namespace

size_t block_size(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return bytes;
  const size_t n = std::max(round_up(bytes, 16), kAlignment);
  if (n > kLargeFrom) return round_up(n, kLargeStep);
  const size_t power = std::bit_floor(n);
  return power == n ? n : round_up(n, std::max(power / 4, kAlignment));
}

void GpuBuffer::recycle() { pool_->give(this); }

BufferPool::BufferPool(const Context& context, Queue& queue, Queue* copies)
    : context_(context), queue_(queue), copies_(copies), budget_(budget_of(context)) {}

void BufferPool::count(GpuBuffer* buffer, int sign) {
  const int64_t bytes = sign * static_cast<int64_t>(buffer->block_);
  (buffer->scratch_ ? counters_.cached : counters_.live) += bytes;
  note(counters_.live);
}

void BufferPool::note(int64_t used) {
  counters_.peak = std::max(counters_.peak, used);
  if (profile::with_memory) profile::count_memory(context_.id, used);
}

void BufferPool::count_run(int64_t inside) {
  if (inside == 0) return;
  const std::lock_guard lock(mutex_);
  note(counters_.live + inside);
  note(counters_.live);
}

int64_t BufferPool::reserved() const {
  const VkPhysicalDeviceMemoryProperties* memory = nullptr;
  vmaGetMemoryProperties(context_.vma, &memory);
  VmaBudget heaps[VK_MAX_MEMORY_HEAPS];
  vmaGetHeapBudgets(context_.vma, heaps);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < memory->memoryHeapCount; ++i)
    if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      bytes += static_cast<int64_t>(heaps[i].statistics.blockBytes);
  return bytes;
}

// In this order: a free block, new memory within the budget, a block that an upload would have to wait for, and after
// giving all free blocks back, new memory once more.
GpuBuffer* BufferPool::take(size_t bytes, Use use) {
  const size_t block = block_size(bytes);
  if (block > static_cast<size_t>(context_.physical.features.max_buffer_bytes) && block <= static_cast<size_t>(budget_))
    fail<LimitError>("allocate",
                     std::to_string(bytes) + " bytes in one buffer, " + context_.name() + " allows " +
                         std::to_string(context_.physical.features.max_buffer_bytes),
                     "split the tensor");
  VkResult why = VK_SUCCESS;
  const uint64_t done = use == Use::upload && copies_ ? queue_.completed() : kWhenever;
  GpuBuffer* buffer = reuse(block, done);
  if (!buffer) buffer = create(block, why);
  if (!buffer && done != kWhenever) buffer = reuse(block, kWhenever);  // rather waits than empties the cache
  if (!buffer && why != VK_ERROR_DEVICE_LOST) {
    trim();
    buffer = create(block, why);
  }
  if (!buffer) out_of_memory(bytes, why);
  buffer->bytes = std::max<size_t>(round_up(bytes, 16), 16);
  buffer->scratch_ = use == Use::scratch;
  const std::lock_guard lock(mutex_);
  count(buffer, 1);
  return buffer;
}

// Best fit, at most a quarter too large, of the blocks whose last use is done with submission `done`.
GpuBuffer* BufferPool::reuse(size_t block, uint64_t done) {
  const std::lock_guard lock(mutex_);
  for (auto it = free_.lower_bound(block); it != free_.end() && it->first <= block + block / 4; ++it)
    for (GpuBuffer** at = &it->second.head; *at; at = &(*at)->next_)
      if (GpuBuffer* b = *at; b->free_at <= done) {
        *at = b->next_;
        b->next_ = nullptr;
        counters_.cached -= static_cast<int64_t>(b->block_);
        return b;
      }
  return nullptr;
}

GpuBuffer* BufferPool::create(size_t block, VkResult& why) {
  {
    const std::lock_guard lock(mutex_);
    why = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (block > static_cast<size_t>(budget_) ||
        counters_.live + counters_.cached > budget_ - static_cast<int64_t>(block))
      return nullptr;
    free_.try_emplace(block);
  }
  uint32_t families[2];
  VkBufferCreateInfo info = buffer_info(context_, block, families);
  if (external_) info.pNext = external_buffer();
  VmaAllocationCreateInfo how{};
  how.pool = external_;
  how.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
  how.flags = VMA_ALLOCATION_CREATE_WITHIN_BUDGET_BIT;
  how.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  auto buffer = std::make_unique<GpuBuffer>();
  {
    const std::lock_guard lock(mutex_);
    blocks_.insert(buffer.get());  // before there is memory that could be forgotten
  }
  why = create_buffer(context_, info, how, buffer->handle, buffer->allocation_);
  if (why < 0) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(buffer.get());
    return nullptr;
  }
  buffer->external_ = external_ != VK_NULL_HANDLE;
  return add(std::move(buffer), block);
}

GpuBuffer* BufferPool::add(std::unique_ptr<GpuBuffer> buffer, size_t block) {
  buffer->device = context_.id;
  buffer->block_ = block;
  buffer->pool_ = this;
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = buffer->handle;
  buffer->address = vkGetBufferDeviceAddress(context_.device, &address);
  const std::lock_guard lock(mutex_);
  ++counters_.allocations;
  return buffer.release();
}

void BufferPool::give(GpuBuffer* buffer) noexcept {
  if (forked()) return;  // the parent's memory: nothing of it may be touched
  const std::lock_guard lock(mutex_);
  if (buffer->gone) {
    delete buffer;
    return;
  }
  count(buffer, -1);
  counters_.cached += static_cast<int64_t>(buffer->block_);
  buffer->free_at = queue_.submitted();  // no later submission uses it
  GpuBuffer*& head = free_.find(buffer->block_)->second.head;
  buffer->next_ = head;
  head = buffer;
}

void BufferPool::make_external() {
  if (external_) return;
  trim();
  external_ = make_external_pool(context_);
}

ExternalMemory BufferPool::external_memory(const GpuBuffer& buffer) const {
  if (!buffer.external_) return {};
  VmaAllocationInfo2 info{};
  vmaGetAllocationInfo2(context_.vma, buffer.allocation_, &info);
  return {context_.external->number_of(info.allocationInfo.deviceMemory), info.allocationInfo.offset, info.blockSize,
          info.dedicatedMemory == VK_TRUE};
}

int BufferPool::open_external(const GpuBuffer& buffer) const {
  VmaAllocationInfo info{};
  vmaGetAllocationInfo(context_.vma, buffer.allocation_, &info);
  return open_memory(context_, info.deviceMemory);
}

GpuBuffer* BufferPool::import_external(int file, size_t bytes) {
  auto buffer = std::make_unique<GpuBuffer>();
  {
    const std::lock_guard lock(mutex_);
    free_.try_emplace(bytes);
    blocks_.insert(buffer.get());
  }
  try {
    import_memory(context_, file, bytes, buffer->handle, buffer->allocation_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(buffer.get());
    throw;
  }
  buffer->bytes = bytes;
  GpuBuffer* made = add(std::move(buffer), bytes);
  const std::lock_guard lock(mutex_);
  count(made, 1);
  return made;
}

// Holds no lock while it waits: buffers are given back from any thread meanwhile.
void BufferPool::trim() {
  std::vector<GpuBuffer*> gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [block, list] : free_) {
      for (GpuBuffer* b = list.head; b; b = b->next_) gone.push_back(b);
      list.head = nullptr;
    }
    for (GpuBuffer* b : gone) counters_.cached -= static_cast<int64_t>(b->block_);
  }
  if (gone.empty()) return;
  if (copies_) copies_->wait(copies_->submitted(), false);
  queue_.wait(queue_.submitted(), false);  // a device that is lost or hung throws here and keeps the memory
  debug(1, context_.name() + ": " + std::to_string(gone.size()) + " cached blocks freed");
  {
    const std::lock_guard lock(mutex_);
    for (GpuBuffer* b : gone) blocks_.erase(b);
  }
  for (GpuBuffer* b : gone) {
    vmaDestroyBuffer(context_.vma, b->handle, b->allocation_);
    delete b;
  }
}

void BufferPool::abandon(bool idle) {
  const std::lock_guard lock(mutex_);
  for (auto& [block, list] : free_)
    while (GpuBuffer* b = list.head) {
      list.head = b->next_;
      if (idle) vmaDestroyBuffer(context_.vma, b->handle, b->allocation_);
      blocks_.erase(b);
      delete b;
    }
  for (GpuBuffer* b : blocks_) {  // the rest end with whoever holds them
    b->gone = true;
    if (idle) vmaDestroyBuffer(context_.vma, b->handle, b->allocation_);
  }
  blocks_.clear();
  counters_ = {};
}

void BufferPool::out_of_memory(size_t bytes, VkResult why) {
  if (why != VK_ERROR_OUT_OF_DEVICE_MEMORY && why != VK_ERROR_OUT_OF_HOST_MEMORY)
    throw_vk(why, "allocate on " + context_.name());
  const std::lock_guard lock(mutex_);
  fail<OutOfMemoryError>("allocate",
                         "out of memory on " + context_.name() + ", asked " + std::to_string(bytes) + " bytes, live " +
                             std::to_string(counters_.live) + ", cached " + std::to_string(counters_.cached) +
                             ", budget " + std::to_string(budget_),
                         "free tensors, use a smaller batch, or raise SPIROGRAD_MEMORY_LIMIT if it is set");
}

PoolCounters BufferPool::read_counters() {
  const std::lock_guard lock(mutex_);
  const PoolCounters c = counters_;
  counters_.allocations = 0;
  counters_.peak = counters_.live;
  return c;
}

}  // namespace sg
