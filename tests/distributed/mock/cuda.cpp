// MOCK of CUDA's driver, for tests: a libcuda.so.1 whose only GPU is Mesa's software device, the UUID of which the test
// gives in MOCK_CUDA_UUID. Device memory is what Mesa exports: a file with a header, whose second word says where the
// data begins. Memory made here has a header like that of the last one opened, so that Mesa takes it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "mock.hpp"

namespace {

enum { kSuccess = 0, kInvalid = 1, kNoContext = 201, kNotReady = 600 };
thread_local int contexts = 0;
int opened = 0, mapped = 0;
char context;
constexpr size_t kPage = 4096, kHeader = 4 * sizeof(size_t);
char header[kHeader];

struct Memory {
  char* file;
  size_t bytes;
  size_t begin() const { return reinterpret_cast<const size_t*>(file)[1]; }
};
struct Handle {
  int type, unused, file, more[3];
  unsigned long long size;
  unsigned flags;
};
struct Range {
  unsigned long long offset, size;
};

}  // namespace

extern "C" {

int cuInit(unsigned flags) { return flags ? kInvalid : kSuccess; }
int cuGetErrorName(int error, const char** name) {
  *name = error == kNoContext ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
int cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
int cuDeviceGet(int* device, int) { return *device = 0, kSuccess; }
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  const char* text = getenv("MOCK_CUDA_UUID");
  if (!text) return kInvalid;
  for (int i = 0; i < 16; ++i, text += 2) {
    if (*text == '-') ++text;
    const char digits[] = {text[0], text[1], 0};
    bytes[i] = static_cast<unsigned char>(strtoul(digits, nullptr, 16));
  }
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** made, int) { return *made = &context, kSuccess; }
int cuCtxPushCurrent_v2(void* pushed) { return pushed == &context ? ++contexts, kSuccess : kInvalid; }
int cuCtxPopCurrent_v2(void** popped) { return *popped = &context, --contexts < 0 ? kInvalid : kSuccess; }
int cuStreamCreate(void** made, unsigned) {
  if (!contexts) return kNoContext;
  return *made = new MockStream, kSuccess;
}
int cuStreamQuery(void* stream) { return static_cast<MockStream*>(stream)->idle() ? kSuccess : kNotReady; }

int cuImportExternalMemory(void** made, const Handle* what) {
  struct stat facts;
  if (!contexts) return kNoContext;
  if (what->type != 1 || fstat(what->file, &facts) != 0) return kInvalid;
  auto* file = static_cast<char*>(
      mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, what->file, 0));
  if (file == MAP_FAILED) return kInvalid;
  auto* memory = new Memory{file, static_cast<size_t>(facts.st_size)};
  if (memory->begin() + what->size > memory->bytes) return kInvalid;
  close(what->file);
  memcpy(header, file, kHeader);
  ++opened;
  return *made = memory, kSuccess;
}
int cuExternalMemoryGetMappedBuffer(unsigned long long* address, void* memory, const Range* range) {
  auto* m = static_cast<Memory*>(memory);
  ++mapped;
  return *address = reinterpret_cast<uintptr_t>(m->file + m->begin() + range->offset), kSuccess;
}
int cuMemFree_v2(unsigned long long) { return contexts ? --mapped, kSuccess : kNoContext; }
int cuDestroyExternalMemory(void* memory) {
  auto* m = static_cast<Memory*>(memory);
  munmap(m->file, m->bytes);
  delete m;
  return --opened, kSuccess;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  if (!contexts) return kNoContext;
  static_cast<MockStream*>(stream)->add(
      [=] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
  return kSuccess;
}

int cuMemHostAlloc(void** made, size_t bytes, unsigned) { return *made = calloc(1, bytes), kSuccess; }
int cuStreamWaitValue32_v2(void* stream, unsigned long long at, uint32_t value, unsigned) {
  static_cast<MockStream*>(stream)->add([=] {
    const auto* word = reinterpret_cast<const volatile uint32_t*>(at);
    while (static_cast<int32_t>(*word - value) < 0) usleep(20);
  });
  return kSuccess;
}

int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuMemGetAllocationGranularity(size_t* bytes, const void*, int) { return *bytes = 2 << 20, kSuccess; }
// A handle is a file.
int cuMemCreate(unsigned long long* handle, size_t bytes, const void*, unsigned long long) {
  const size_t all[2] = {kPage + bytes, kPage}, begin = kPage;
  const int file = memfd_create("mock", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(all[0])) != 0) return kInvalid;
  memcpy(header, all, sizeof all);
  if (pwrite(file, header, kHeader, 0) < 0 || pwrite(file, &begin, sizeof begin, kPage - sizeof begin) < 0)
    return kInvalid;
  return *handle = static_cast<unsigned>(file), kSuccess;
}
int cuMemExportToShareableHandle(int* file, unsigned long long handle, int type, unsigned long long) {
  return *file = dup(static_cast<int>(handle)), type == 1 ? kSuccess : kInvalid;
}
int cuMemAddressReserve(unsigned long long* address, size_t bytes, size_t, unsigned long long, unsigned long long) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *address = reinterpret_cast<uintptr_t>(at), at == MAP_FAILED ? kInvalid : kSuccess;
}
int cuMemMap(unsigned long long address, size_t bytes, size_t, unsigned long long handle, unsigned long long) {
  const void* at = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                        static_cast<int>(handle), kPage);
  return at == MAP_FAILED ? kInvalid : kSuccess;
}
int cuMemSetAccess(unsigned long long, size_t, const void*, size_t) { return kSuccess; }
int cuMemUnmap(unsigned long long address, size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes) ? kInvalid : kSuccess;
}
int cuMemAddressFree(unsigned long long, size_t) { return kSuccess; }
int cuMemRelease(unsigned long long handle) { return close(static_cast<int>(handle)), kSuccess; }

// For tests: blocks that are open, and ranges of them that are mapped.
int mock_opened() { return opened; }
int mock_mapped() { return mapped; }

}  // extern "C"
