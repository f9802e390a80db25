// Memory on Windows.
#include "os/memory.hpp"

#include <malloc.h>
#include <windows.h>

namespace sg::os {
namespace {

size_t page_bytes() {
  static const size_t bytes = [] {
    SYSTEM_INFO facts;
    GetSystemInfo(&facts);
    return size_t{facts.dwPageSize};
  }();
  return bytes;
}
size_t in_pages(size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

MEMORYSTATUSEX status() {
  MEMORYSTATUSEX s{};
  s.dwLength = sizeof s;
  GlobalMemoryStatusEx(&s);
  return s;
}

}  // namespace

void* allocate_aligned(size_t bytes, size_t alignment) noexcept { return _aligned_malloc(bytes, alignment); }
void free_aligned(void* at) noexcept { _aligned_free(at); }

void* allocate_guarded(size_t bytes) noexcept {
  const size_t pages = in_pages(bytes), guard = page_bytes();
  void* all = VirtualAlloc(nullptr, pages + guard, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (!all) return nullptr;
  char* end = static_cast<char*>(all) + pages;
  DWORD before = 0;
  if (VirtualProtect(end, guard, PAGE_NOACCESS, &before)) return end - bytes;
  VirtualFree(all, 0, MEM_RELEASE);
  return nullptr;
}
void free_guarded(void* at, size_t bytes) noexcept {
  VirtualFree(static_cast<char*>(at) + bytes - in_pages(bytes), 0, MEM_RELEASE);
}

void prefer_large_pages(void*, size_t) noexcept {}  // they need a right that users lack

bool heap_has_room(size_t) noexcept { return true; }

int64_t memory_total() noexcept { return static_cast<int64_t>(status().ullTotalPhys); }
int64_t memory_free() noexcept { return static_cast<int64_t>(status().ullAvailPhys); }

}  // namespace sg::os
