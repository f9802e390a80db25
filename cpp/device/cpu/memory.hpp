// CPU tensor memory: 64-byte aligned blocks that are kept and reused, because fresh pages are slow (the system zeroes
// each one). Any thread; a forked child keeps its copy. NumPy may view a block: Buffer::host is its address.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

#include "base/buffer.hpp"
#include "device/device.hpp"

namespace sg::cpu {

class MemoryPool;

// With SPIROGRAD_POISON: memory without values is full of NaN, and a guard page follows each block.
bool poisons();
void poison(void* at, size_t bytes);

class CpuBuffer final : public Buffer {
 public:
  void recycle() override;

 private:
  friend class MemoryPool;
  void give_back();  // to the system

  bool guarded_ = false;
  bool scratch_ = false;  // the arena: counted as cached
  MemoryPool* pool_ = nullptr;
  CpuBuffer* next_ = nullptr;  // in its free list
};

class MemoryPool {
 public:
  explicit MemoryPool(DeviceStats& stats);
  ~MemoryPool() { give_back_free(); }  // all its buffers must be gone
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  // OutOfMemoryError after the free blocks were given back and one retry. No bytes are a legal size.
  BufferRef allocate(size_t bytes, bool scratch = false);
  // A run begins to use so many bytes of its arena, or (negative) has done with them.
  void use_inside(int64_t bytes) noexcept;
  void empty_cache();
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class CpuBuffer;
  CpuBuffer* take_free(size_t size);
  CpuBuffer* from_system(size_t asked, size_t size);
  void give_back_free();
  void count();
  void put(CpuBuffer* buffer) noexcept;

  std::mutex mutex_;
  std::map<size_t, CpuBuffer*> free_;  // size -> list; a size stays once it was seen, so that put() never allocates
  DeviceStats& stats_;
  int64_t inside_ = 0;  // bytes of arenas that runs use now
};

}  // namespace sg::cpu
