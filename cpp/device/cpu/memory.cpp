// Owns the free blocks of the CPU. Under SPIROGRAD_POISON new memory is full of NaN and ends at a guard page. Knows no
// tensors.
#include "device/cpu/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "base/round.hpp"
#include "os/memory.hpp"

namespace sg::cpu {

bool poisons() {
  static const bool on = env_flag("SPIROGRAD_POISON");
  return on;
}

namespace {

constexpr size_t kAlign = 64, kSmall = size_t(1) << 20, kHuge = 2 * kSmall, kMost = size_t(1) << 46;

// Larger sizes are rounded more, so that almost equal sizes share blocks: at most 1/8 is lost.
size_t rounded(size_t bytes) {
  size_t unit = kAlign;
  while (!poisons() && unit * 16 < bytes && unit < kHuge) unit *= 2;
  return std::max(kAlign, round_up(bytes, unit));
}

void* system_allocate(size_t size) {
  void* p = os::allocate_aligned(size, size >= kHuge ? kHuge : kAlign);
  if (p && size >= kHuge) os::prefer_large_pages(p, size);
  return p;
}

}  // namespace

void poison(void* at, size_t bytes) {
  if (poisons()) std::memset(at, 0xff, bytes);
}

void CpuBuffer::recycle() { pool_->put(this); }

void CpuBuffer::give_back() { guarded_ ? os::free_guarded(host, bytes) : os::free_aligned(host); }

MemoryPool::MemoryPool(DeviceStats& stats) : stats_(stats) {}

BufferRef MemoryPool::allocate(size_t bytes, bool scratch) {
  if (bytes > kMost)
    fail<OutOfMemoryError>("cpu", "asked for " + std::to_string(bytes) + " bytes, more than can be addressed",
                           "check the shape");
  const size_t size = rounded(bytes);
  std::lock_guard lock(mutex_);
  CpuBuffer* b = take_free(size);
  if (!b) b = from_system(bytes, size);
  b->scratch_ = scratch;
  (scratch ? stats_.bytes_cached : stats_.bytes_live) += static_cast<int64_t>(b->bytes);
  count();
  return BufferRef(b);
}

void MemoryPool::use_inside(int64_t bytes) noexcept {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  inside_ += bytes;
  count();
}

void MemoryPool::count() {
  const int64_t used = stats_.bytes_live + inside_;
  stats_.bytes_peak = std::max<int64_t>(stats_.bytes_peak, used);
  if (profile::with_memory) profile::count_memory({}, used);
}

// The smallest free block that wastes at most a quarter or, of a small one, a half.
CpuBuffer* MemoryPool::take_free(size_t size) {
  const size_t most = size + std::max(size / 4, std::min(size, kSmall));
  for (auto it = free_.lower_bound(size); it != free_.end() && it->first <= most; ++it) {
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
  const int64_t limit = env_bytes("SPIROGRAD_MEMORY_LIMIT");
  const auto over = [&] {
    return limit > 0 && stats_.bytes_live + stats_.bytes_cached + static_cast<int64_t>(size) > limit;
  };
  const int64_t cached = stats_.bytes_cached;
  if (over()) give_back_free();
  void* p = poisons() && !over() ? os::allocate_guarded(size) : nullptr;
  b->guarded_ = p != nullptr;
  if (!p && !over()) p = system_allocate(size);
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
  poison(p, size);
  ++stats_.allocations;
  return b.release();
}

void MemoryPool::give_back_free() {
  for (auto& [size, list] : free_) {
    while (CpuBuffer* b = list) {
      list = b->next_;
      stats_.bytes_cached -= static_cast<int64_t>(b->bytes);
      b->give_back();
      delete b;
    }
  }
}

void MemoryPool::empty_cache() {
  std::lock_guard lock(mutex_);
  give_back_free();
}

void MemoryPool::put(CpuBuffer* b) noexcept {
  poison(b->host, b->bytes);
  std::lock_guard lock(mutex_);
  CpuBuffer*& list = free_.find(b->bytes)->second;
  b->next_ = list;
  list = b;
  if (b->scratch_) return;
  stats_.bytes_live -= static_cast<int64_t>(b->bytes);
  stats_.bytes_cached += static_cast<int64_t>(b->bytes);
  count();
}

}  // namespace sg::cpu
