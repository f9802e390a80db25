// Owns the declarations of the few functions of CUDA's driver, and what was opened with them. Knows no collectives.
#include "exchange/nccl/cuda.hpp"

#include <atomic>
#include <memory>

#include "base/error.hpp"
#include "base/round.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kNotReady = 600;           // CUDA_ERROR_NOT_READY
constexpr int kOpaqueFile = 1;           // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
constexpr unsigned kDedicated = 1;       // CUDA_EXTERNAL_MEMORY_DEDICATED
constexpr unsigned kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr unsigned kGreaterOrEqual = 0;  // CU_STREAM_WAIT_VALUE_GEQ
constexpr int kFile = 1;                 // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kFirstCopyBatches = 12050;

// CUDA_EXTERNAL_MEMORY_HANDLE_DESC and CUDA_EXTERNAL_MEMORY_BUFFER_DESC.
struct MemoryHandle {
  int type = kOpaqueFile;
  union {
    int file;
    struct {
      void* handle;
      const void* name;
    } windows;
  } handle = {};
  unsigned long long size = 0;
  unsigned flags = 0;
  unsigned reserved[16] = {};
};
struct MemoryRange {
  unsigned long long offset = 0, size = 0;
  unsigned flags = 0;
  unsigned reserved[16] = {};
};
struct Uuid {
  unsigned char bytes[16];
};

// CUmemAllocationProp and CUmemAccessDesc.
struct Location {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int device = 0;
};
struct SharedKind {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handles = kFile;
  Location location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
struct AccessOf {
  Location location;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

struct Driver {
  int (*init)(unsigned);
  int (*error_name)(int, const char**);
  int (*count)(int*);
  int (*get)(int*, int);
  int (*uuid)(Uuid*, int);
  int (*retain_context)(void**, int);
  int (*push_context)(void*);
  int (*pop_context)(void**);
  int (*make_stream)(void**, unsigned);
  int (*query_stream)(void*);
  int (*import)(void**, const MemoryHandle*);
  int (*map)(Cuda::Address*, void*, const MemoryRange*);
  int (*unmap)(Cuda::Address);
  int (*close)(void*);
  int (*copy)(Cuda::Address, Cuda::Address, size_t, void*);
  int (*host_memory)(void**, size_t, unsigned);
  int (*wait_for)(void*, Cuda::Address, uint32_t, unsigned);
  int (*version)(int*);
  int (*granularity)(size_t*, const SharedKind*, int);
  int (*create)(unsigned long long*, size_t, const SharedKind*, unsigned long long);
  int (*export_file)(int*, unsigned long long, int, unsigned long long);
  int (*reserve)(Cuda::Address*, size_t, size_t, Cuda::Address, unsigned long long);
  int (*place)(Cuda::Address, size_t, size_t, unsigned long long, unsigned long long);
  int (*allow)(Cuda::Address, size_t, const AccessOf*, size_t);
  int (*remove)(Cuda::Address, size_t);
  int (*unreserve)(Cuda::Address, size_t);
  int (*drop)(unsigned long long);

  Driver() {
    find("cuInit", init);
    find("cuGetErrorName", error_name);
    find("cuDeviceGetCount", count);
    find("cuDeviceGet", get);
    find("cuDeviceGetUuid_v2", uuid);
    find("cuDevicePrimaryCtxRetain", retain_context);
    find("cuCtxPushCurrent_v2", push_context);
    find("cuCtxPopCurrent_v2", pop_context);
    find("cuStreamCreate", make_stream);
    find("cuStreamQuery", query_stream);
    find("cuImportExternalMemory", import);
    find("cuExternalMemoryGetMappedBuffer", map);
    find("cuMemFree_v2", unmap);
    find("cuDestroyExternalMemory", close);
    find("cuMemcpyDtoDAsync_v2", copy);
    find("cuMemHostAlloc", host_memory);
    find("cuStreamWaitValue32_v2", wait_for);
    find("cuDriverGetVersion", version);
    find("cuMemGetAllocationGranularity", granularity);
    find("cuMemCreate", create);
    find("cuMemExportToShareableHandle", export_file);
    find("cuMemAddressReserve", reserve);
    find("cuMemMap", place);
    find("cuMemSetAccess", allow);
    find("cuMemUnmap", remove);
    find("cuMemAddressFree", unreserve);
    find("cuMemRelease", drop);
    check("cuInit", init(0));
  }
  void check(const char* call, int answer) const {
    if (answer == 0) return;
    const char* name = nullptr;
    if (error_name(answer, &name) != 0 || !name) name = "an unknown error";
    fail<DistributedError>("CUDA", std::string(call) + " answered " + name + " (" + std::to_string(answer) + ")");
  }

 private:
  template <class F>
  static void find(const char* name, F& function) {
    std::string why;
    function = reinterpret_cast<F>(os::function_of(kLibrary, name, why));
    if (!function)
      fail<DistributedError>("CUDA", std::string(kLibrary) + " gives no " + name + " (" + why + ")",
                             "install NVIDIA's driver");
  }
};

const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

std::string text_of(const Uuid& uuid) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[uuid.bytes[i] >> 4];
    text += digits[uuid.bytes[i] & 15];
  }
  return text;
}

}  // namespace

// Numbers of devices say nothing: CUDA_VISIBLE_DEVICES hides some from CUDA and none from Vulkan.
Cuda& Cuda::of(const std::string& uuid) {
  static auto* all = new std::map<std::string, std::unique_ptr<Cuda>>;
  std::unique_ptr<Cuda>& known = (*all)[uuid];
  if (known) return *known;
  const Driver& d = driver();
  int count = 0;
  d.check("cuDeviceGetCount", d.count(&count));
  for (int i = 0; i < count; ++i) {
    int device = 0;
    Uuid own;
    d.check("cuDeviceGet", d.get(&device, i));
    d.check("cuDeviceGetUuid", d.uuid(&own, device));
    if (text_of(own) != uuid) continue;
    known.reset(new Cuda(device));
    return *known;
  }
  fail<DistributedError>("CUDA", "of its " + std::to_string(count) + " GPUs none has the UUID " + uuid,
                         "look at CUDA_VISIBLE_DEVICES");
}

Cuda::Cuda(int device) : device_(device) {
  const Driver& d = driver();
  d.check("cuDevicePrimaryCtxRetain", d.retain_context(&context_, device));
  const Current current(*this);
  d.check("cuStreamCreate", d.make_stream(&stream_, kNonBlocking));
  void* gate = nullptr;
  d.check("cuMemHostAlloc", d.host_memory(&gate, sizeof *gate_, 0));
  gate_ = static_cast<uint32_t*>(gate);
  *gate_ = 0;
}

Cuda::Current::Current(Cuda& gpu) { driver().check("cuCtxPushCurrent", driver().push_context(gpu.context_)); }
Cuda::Current::~Current() {
  void* ignored = nullptr;
  driver().pop_context(&ignored);
}

// A block is opened once, with all of it as one range. CUDA owns the file once that has succeeded.
Cuda::Address Cuda::address(Device& device, const BufferRef& buffer, const ExternalMemory& place) {
  const auto at = blocks_.find(place.block);
  if (at != blocks_.end()) return at->second.begin + place.at;
  const Driver& d = driver();
  const Current current(*this);
  MemoryHandle handle;
  handle.handle.file = device.open_external(buffer);
  handle.size = place.block_bytes;
  handle.flags = place.dedicated ? kDedicated : 0;
  Block block{};
  if (const int answer = d.import(&block.memory, &handle)) {
    os::close_descriptor(handle.handle.file);
    d.check("cuImportExternalMemory", answer);
  }
  MemoryRange all;
  all.size = place.block_bytes;
  if (const int answer = d.map(&block.begin, block.memory, &all)) {
    d.close(block.memory);
    d.check("cuExternalMemoryGetMappedBuffer", answer);
  }
  blocks_.emplace(place.block, block);
  return block.begin + place.at;
}

void Cuda::close(const Block& block) noexcept {
  driver().unmap(block.begin);
  driver().close(block.memory);
}

void Cuda::forget(uint64_t block) noexcept {
  const auto at = blocks_.find(block);
  if (at == blocks_.end()) return;
  void* ignored = nullptr;
  if (held_ != let_go_) {
    forgotten_.push_back(at->second);
  } else if (closes_ && driver().push_context(context_) == 0) {
    close(at->second);
    driver().pop_context(&ignored);
  }
  blocks_.erase(at);
}

Cuda::Shared Cuda::share(size_t bytes, int& file) {
  const Driver& d = driver();
  const Current current(*this);
  SharedKind kind;
  kind.location.device = device_;
  AccessOf access;
  access.location = kind.location;
  size_t step = 0;
  d.check("cuMemGetAllocationGranularity", d.granularity(&step, &kind, 0));
  Shared made;
  made.bytes = round_up(bytes, step);
  d.check("cuMemCreate", d.create(&made.handle, made.bytes, &kind, 0));
  try {
    d.check("cuMemAddressReserve", d.reserve(&made.begin, made.bytes, 0, 0, 0));
    d.check("cuMemMap", d.place(made.begin, made.bytes, 0, made.handle, 0));
    d.check("cuMemSetAccess", d.allow(made.begin, made.bytes, &access, 1));
    d.check("cuMemExportToShareableHandle", d.export_file(&file, made.handle, kFile, 0));
  } catch (...) {
    release(made);
    throw;
  }
  return made;
}

void Cuda::release(const Shared& memory) noexcept {
  const Driver& d = driver();
  void* ignored = nullptr;
  if (!memory.handle || !closes_ || d.push_context(context_) != 0) return;
  if (memory.begin) {
    d.remove(memory.begin, memory.bytes);
    d.unreserve(memory.begin, memory.bytes);
  }
  d.drop(memory.handle);
  d.pop_context(&ignored);
}

void Cuda::copy(Address to, Address from, size_t bytes) {
  driver().check("cuMemcpyDtoDAsync", driver().copy(to, from, bytes, stream_));
}

uint32_t Cuda::hold() {
  driver().check("cuStreamWaitValue32",
                 driver().wait_for(stream_, reinterpret_cast<uintptr_t>(gate_), held_ + 1, kGreaterOrEqual));
  return ++held_;
}

void Cuda::let_go(uint32_t number) noexcept {
  if (static_cast<int32_t>(number - let_go_) <= 0) return;
  let_go_ = number;
  std::atomic_ref(*gate_).store(number, std::memory_order_release);
}

bool Cuda::idle() {
  const int answer = driver().query_stream(stream_);
  if (answer == kNotReady) return false;
  driver().check("cuStreamQuery", answer);
  for (; !forgotten_.empty(); forgotten_.pop_back()) close(forgotten_.back());
  return true;
}

void Cuda::give_up_stream() {
  closes_ = false;
  forgotten_.clear();
  driver().check("cuStreamCreate", driver().make_stream(&stream_, kNonBlocking));
}

bool Cuda::has_copy_batches() const {
  int version = 0;
  return driver().version(&version) == 0 && version >= kFirstCopyBatches;
}

}  // namespace sg
