#include "device/cpu/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"

namespace sg::cpu {
namespace {

constexpr size_t kAlign = 64, kHuge = size_t(2) << 20, kMost = size_t(1) << 46;

// Larger sizes are rounded more, so that almost equal sizes share blocks: at most 1/8 is lost.
size_t rounded(size_t bytes) {
  size_t unit = kAlign;
  while (unit * 16 < bytes && unit < kHuge) unit *= 2;
  return std::max(kAlign, (bytes + unit - 1) / unit * unit);
}

void* system_allocate(size_t size) {
  void* p = nullptr;
  if (posix_memalign(&p, size >= kHuge ? kHuge : kAlign, size) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
  if (size >= kHuge) madvise(p, size, MADV_HUGEPAGE);  // a wish: nothing is wrong when it is not granted
#endif
  return p;
}

}  // namespace

void CpuBuffer::recycle() { pool_->put(this); }

MemoryPool::MemoryPool(DeviceStats& stats) : stats_(stats) {}

BufferRef MemoryPool::allocate(size_t bytes) {
  if (bytes > kMost)
    fail<OutOfMemoryError>("cpu", "asked for " + std::to_string(bytes) + " bytes, more than can be addressed",
                           "check the shape");
  const size_t size = rounded(bytes);
  std::lock_guard lock(mutex_);
  CpuBuffer* b = take_free(size);
  if (!b) b = from_system(bytes, size);
  stats_.bytes_live += static_cast<int64_t>(b->bytes);
  stats_.bytes_peak = std::max<int64_t>(stats_.bytes_peak, stats_.bytes_live);
  return BufferRef(b);
}

// The smallest free block that wastes at most a quarter.
CpuBuffer* MemoryPool::take_free(size_t size) {
  for (auto it = free_.lower_bound(size); it != free_.end() && it->first <= size + size / 4; ++it) {
    if (CpuBuffer* b = it->second) {
      it->second = b->next_;
      stats_.bytes_cached -= static_cast<int64_t>(b->bytes);
      return b;
    }
  }
  return nullptr;
}

CpuBuffer* MemoryPool::from_system(size_t asked, size_t size) {
  free_.try_emplace(size, nullptr);
  auto b = std::make_unique<CpuBuffer>();
  const long long limit = std::atoll(env("SPIROGRAD_MEMORY_LIMIT").c_str());
  const auto over = [&] {
    return limit > 0 && stats_.bytes_live + stats_.bytes_cached + static_cast<int64_t>(size) > limit;
  };
  const int64_t cached = stats_.bytes_cached;
  if (over()) give_back_free();
  void* p = over() ? nullptr : system_allocate(size);
  if (!p && !over()) {
    give_back_free();
    p = system_allocate(size);
  }
  if (!p)
    fail<OutOfMemoryError>("cpu",
                           "asked for " + std::to_string(asked) + " bytes with " + std::to_string(stats_.bytes_live) +
                               " live and " + std::to_string(cached) + " cached (now freed), budget " +
                               (limit > 0 ? std::to_string(limit) : std::string("none")),
                           "free tensors, use smaller batches, or raise SPIROGRAD_MEMORY_LIMIT");
  b->pool_ = this;
  b->host = p;
  b->bytes = size;
  ++stats_.allocations;
  return b.release();
}

void MemoryPool::give_back_free() {
  for (auto& [size, list] : free_) {
    while (CpuBuffer* b = list) {
      list = b->next_;
      std::free(b->host);
      delete b;
    }
  }
  stats_.bytes_cached = 0;
}

void MemoryPool::empty_cache() {
  std::lock_guard lock(mutex_);
  give_back_free();
}

void MemoryPool::put(CpuBuffer* b) noexcept {
  std::lock_guard lock(mutex_);
  CpuBuffer*& list = free_.find(b->bytes)->second;
  b->next_ = list;
  list = b;
  stats_.bytes_live -= static_cast<int64_t>(b->bytes);
  stats_.bytes_cached += static_cast<int64_t>(b->bytes);
}

}  // namespace sg::cpu
