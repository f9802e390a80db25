// Owns the free blocks of the CPU. Under SPIROGRAD_POISON new memory is full of NaN and ends at a guard page. Knows no
// tensors.
#include "device/cpu/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "base/round.hpp"

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
  void* p = nullptr;
  if (posix_memalign(&p, size >= kHuge ? kHuge : kAlign, size) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
  if (size >= kHuge) madvise(p, size, MADV_HUGEPAGE);  // a wish: nothing is wrong when it is not granted
#endif
  return p;
}

size_t in_pages(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return round_up(bytes, page);
}

// The block ends where a guard page begins. nullptr: the system has no more of these.
void* guarded_allocate(size_t size) {
  const size_t pages = in_pages(size), guard = in_pages(1);
  void* all = mmap(nullptr, pages + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* end = static_cast<char*>(all) + pages;
  if (mprotect(end, guard, PROT_NONE) == 0) return end - size;
  munmap(all, pages + guard);
  return nullptr;
}

}  // namespace

void poison(void* at, size_t bytes) {
  if (poisons()) std::memset(at, 0xff, bytes);
}

void CpuBuffer::recycle() { pool_->put(this); }

void CpuBuffer::give_back() {
  if (!guarded_) return std::free(host);
  const size_t pages = in_pages(bytes);
  munmap(static_cast<char*>(host) + bytes - pages, pages + in_pages(1));
}

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
  if (profile::with_memory) profile::count_memory({}, stats_.bytes_live);
  return BufferRef(b);
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
  void* p = poisons() && !over() ? guarded_allocate(size) : nullptr;
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
      b->give_back();
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
  poison(b->host, b->bytes);
  std::lock_guard lock(mutex_);
  CpuBuffer*& list = free_.find(b->bytes)->second;
  b->next_ = list;
  list = b;
  stats_.bytes_live -= static_cast<int64_t>(b->bytes);
  stats_.bytes_cached += static_cast<int64_t>(b->bytes);
  if (profile::with_memory) profile::count_memory({}, stats_.bytes_live);
}

}  // namespace sg::cpu
