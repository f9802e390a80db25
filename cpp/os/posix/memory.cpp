// Memory on Linux and macOS.
#include "os/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include <cstdlib>

namespace sg::os {
namespace {

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
size_t in_pages(size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

}  // namespace

void* allocate_aligned(size_t bytes, size_t alignment) noexcept {
  void* at = nullptr;
  return posix_memalign(&at, alignment, bytes) == 0 ? at : nullptr;
}
void free_aligned(void* at) noexcept { std::free(at); }

void* allocate_guarded(size_t bytes) noexcept {
  const size_t pages = in_pages(bytes), guard = page_bytes();
  void* all = mmap(nullptr, pages + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* end = static_cast<char*>(all) + pages;
  if (mprotect(end, guard, PROT_NONE) == 0) return end - bytes;
  munmap(all, pages + guard);
  return nullptr;
}
void free_guarded(void* at, size_t bytes) noexcept {
  const size_t pages = in_pages(bytes);
  munmap(static_cast<char*>(at) + bytes - pages, pages + page_bytes());
}

void prefer_large_pages(void* at, size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  madvise(at, bytes, MADV_HUGEPAGE);
#else
  static_cast<void>(at);
  static_cast<void>(bytes);
#endif
}

bool heap_has_room(size_t bytes) noexcept {
#if defined(__linux__) && defined(MAP_FIXED_NOREPLACE)
  void* end = reinterpret_cast<void*>(in_pages(reinterpret_cast<uintptr_t>(sbrk(0))));
  constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* at = mmap(end, bytes, PROT_NONE, kHow, -1, 0);
  if (at != MAP_FAILED) munmap(at, bytes);
  return at == end;
#else
  static_cast<void>(bytes);
  return true;
#endif
}

int64_t memory_total() noexcept { return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

int64_t memory_free() noexcept {
#if defined(__APPLE__)
  vm_statistics64_data_t pages;
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) != 0)
    return 0;
  return static_cast<int64_t>(pages.free_count + pages.inactive_count) * sysconf(_SC_PAGESIZE);
#else
  return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
#endif
}

}  // namespace sg::os
