// Memory from the operating system. Nothing here throws: nullptr says that there is none.
// Threads: any.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sg::os {

// `alignment`: a power of two. Given back with free_aligned alone.
void* allocate_aligned(size_t bytes, size_t alignment) noexcept;
void free_aligned(void* at) noexcept;

// The block ends where a page begins that nobody may touch. free_guarded wants the same size.
void* allocate_guarded(size_t bytes) noexcept;
void free_guarded(void* at, size_t bytes) noexcept;

// A wish for large pages in [at, at + bytes): nothing is wrong when it is not granted.
void prefer_large_pages(void* at, size_t bytes) noexcept;

// Whether so many bytes are free behind the heap that malloc has it grow in; true where there is no such heap.
bool heap_has_room(size_t bytes) noexcept;

int64_t memory_total() noexcept;  // bytes of this machine; 0 where it does not say
int64_t memory_free() noexcept;

}  // namespace sg::os
