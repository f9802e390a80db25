// A render node of Intel's that is not there: preloaded in front of Mesa's shim for AMD, which pretends the device file,
// this library answers as the kernel's i915 driver would. Intel's Vulkan driver starts and compiles; nothing runs.
//   FAKE_INTEL=0x56a0   the PCI number of the device (Arc A770)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <i915_drm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

constexpr int kSubslices = 8, kUnits = 16;  // of the one slice; execution units of a subslice
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr int kHandleShift = 36;  // the offset at which a buffer is mapped names it

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

int pci_number() {
  const char* text = std::getenv("FAKE_INTEL");
  return static_cast<int>(std::strtol(text ? text : "0x56a0", nullptr, 16));
}

std::mutex mutex;
std::map<uint32_t, int> buffers;  // handle: a file in memory
std::set<int> nodes;              // open files that are the device
uint32_t last_handle = 0;

uint32_t make_buffer(uint64_t bytes) {
  const std::lock_guard lock(mutex);
  const int file = memfd_create("buffer", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes))) return 0;
  buffers[++last_handle] = file;
  return last_handle;
}

int file_of(uint32_t handle) {
  const std::lock_guard lock(mutex);
  const auto at = buffers.find(handle);
  return at == buffers.end() ? -1 : at->second;
}

void free_buffer(uint32_t handle) {
  const int file = file_of(handle);
  if (file < 0) return;
  next<int (*)(int)>("close")(file);
  const std::lock_guard lock(mutex);
  buffers.erase(handle);
}

// What the system's files say of the device; empty: not one of them.
std::string text_of(const char* path) {
  const char* at = std::strstr(path, "/device/");
  if (!at || std::strncmp(path, "/sys/dev/char/226:", 18)) return "";
  char number[16], wide[16];
  std::snprintf(number, sizeof number, "0x%x\n", pci_number());
  std::snprintf(wide, sizeof wide, "%04X", pci_number());
  const std::map<std::string, std::string> files = {
      {"uevent", "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:" + std::string(wide) +
                     "\nPCI_SUBSYS_ID=1028:075B\nPCI_SLOT_NAME=0000:00:02.0\n"},
      {"vendor", "0x8086\n"},
      {"subsystem_vendor", "0x8086\n"},
      {"device", number},
      {"subsystem_device", "0x1234\n"},
      {"revision", "0x0\n"}};
  const auto file = files.find(at + 8);
  return file == files.end() ? "" : file->second;
}

FILE* open_stream(const char* name, const char* path, const char* mode) {
  const std::string text = text_of(path);
  if (text.empty()) return next<FILE* (*)(const char*, const char*)>(name)(path, mode);
  FILE* file = std::tmpfile();
  std::fwrite(text.data(), 1, text.size(), file);
  std::rewind(file);
  return file;
}

int open_file(const char* name, const char* path, int flags, unsigned mode) {
  if (const std::string text = text_of(path); !text.empty()) {
    const int file = memfd_create("text", MFD_CLOEXEC);
    if (write(file, text.data(), text.size()) < 0) return -1;
    lseek(file, 0, SEEK_SET);
    return file;
  }
  const int file = next<int (*)(const char*, int, ...)>(name)(path, flags, mode);
  if (file >= 0 && !std::strncmp(path, "/dev/dri/renderD", 16)) {
    const std::lock_guard lock(mutex);
    nodes.insert(file);
  }
  return file;
}

int control(const char* name, int file, int command, long argument) {
  const int result = next<int (*)(int, int, ...)>(name)(file, command, argument);
  const std::lock_guard lock(mutex);
  if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && result >= 0 && nodes.count(file)) nodes.insert(result);
  return result;
}

// A list that is asked for twice: its length first.
template <class Fill>
void answer(drm_i915_query_item& item, size_t bytes, Fill fill) {
  if (item.length) {
    auto* to = reinterpret_cast<char*>(static_cast<uintptr_t>(item.data_ptr));
    std::memset(to, 0, bytes);
    fill(to);
  }
  item.length = static_cast<int32_t>(bytes);
}

void put_topology(char* to) {
  auto* t = reinterpret_cast<drm_i915_query_topology_info*>(to);
  t->max_slices = 1;
  t->max_subslices = kSubslices;
  t->max_eus_per_subslice = kUnits;
  t->subslice_offset = 1;
  t->subslice_stride = 1;
  t->eu_offset = 2;
  t->eu_stride = kUnits / 8;
  std::memset(t->data, 0xff, 2 + kSubslices * kUnits / 8);
  t->data[0] = 1;
}

void put_engines(char* to) {
  auto* e = reinterpret_cast<drm_i915_query_engine_info*>(to);
  const uint16_t classes[] = {I915_ENGINE_CLASS_RENDER, I915_ENGINE_CLASS_COPY, I915_ENGINE_CLASS_COMPUTE};
  e->num_engines = 3;
  for (int i = 0; i < 3; ++i) e->engines[i].engine.engine_class = classes[i];
}

void put_regions(char* to) {
  auto* m = reinterpret_cast<drm_i915_query_memory_regions*>(to);
  const uint16_t classes[] = {I915_MEMORY_CLASS_SYSTEM, I915_MEMORY_CLASS_DEVICE};
  m->num_regions = 2;
  for (int i = 0; i < 2; ++i) {
    m->regions[i].region.memory_class = classes[i];
    m->regions[i].probed_size = m->regions[i].unallocated_size = 16 * kGiB;
    m->regions[i].probed_cpu_visible_size = m->regions[i].unallocated_cpu_visible_size = 16 * kGiB;
  }
}

void query(const drm_i915_query& list) {
  auto* items = reinterpret_cast<drm_i915_query_item*>(static_cast<uintptr_t>(list.items_ptr));
  for (uint32_t i = 0; i < list.num_items; ++i) switch (items[i].query_id) {
      case DRM_I915_QUERY_TOPOLOGY_INFO:
      case DRM_I915_QUERY_GEOMETRY_SUBSLICES:
        answer(items[i], sizeof(drm_i915_query_topology_info) + 2 + kSubslices * kUnits / 8, put_topology);
        break;
      case DRM_I915_QUERY_ENGINE_INFO:
        answer(items[i], sizeof(drm_i915_query_engine_info) + 3 * sizeof(drm_i915_engine_info), put_engines);
        break;
      case DRM_I915_QUERY_MEMORY_REGIONS:
        answer(items[i], sizeof(drm_i915_query_memory_regions) + 2 * sizeof(drm_i915_memory_region_info), put_regions);
        break;
      default:
        items[i].length = -EINVAL;
    }
}

int parameter(const drm_i915_getparam& p) {
  switch (p.param) {
    case I915_PARAM_CHIPSET_ID:
      *p.value = pci_number();
      break;
    case I915_PARAM_REVISION:
    case I915_PARAM_HAS_LLC:
    case I915_PARAM_HAS_USERPTR_PROBE:
      *p.value = 0;
      break;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
      *p.value = 19200000;
      break;
    case I915_PARAM_HAS_ALIASING_PPGTT:
      *p.value = 3;
      break;
    case I915_PARAM_NUM_FENCES_AVAIL:
      *p.value = 8;
      break;
    case I915_PARAM_MMAP_VERSION:
    case I915_PARAM_MMAP_GTT_VERSION:
      *p.value = 4;
      break;
    case I915_PARAM_SUBSLICE_TOTAL:
      *p.value = kSubslices;
      break;
    case I915_PARAM_EU_TOTAL:
      *p.value = kSubslices * kUnits;
      break;
    case I915_PARAM_CMD_PARSER_VERSION:
      *p.value = 10;
      break;
    case I915_PARAM_PERF_REVISION:
      errno = EINVAL;
      return -1;
    default:
      *p.value = 1;
  }
  return 0;
}

void put_version(drm_version& v) {
  const auto put = [](char* to, __kernel_size_t& length, const char* text) {
    if (to && length) std::strncpy(to, text, length);
    length = std::strlen(text);
  };
  v.version_major = 1;
  v.version_minor = 6;
  v.version_patchlevel = 0;
  put(v.name, v.name_len, "i915");
  put(v.date, v.date_len, "20201103");
  put(v.desc, v.desc_len, "Intel Graphics");
}

template <class T>
T& as(void* argument) {
  return *static_cast<T*>(argument);
}

// The calls that every kernel driver has.
int common(unsigned number, void* argument) {
  if (number == _IOC_NR(DRM_IOCTL_VERSION)) put_version(as<drm_version>(argument));
  if (number == _IOC_NR(DRM_IOCTL_GET_CAP))
    as<drm_get_cap>(argument).value = as<drm_get_cap>(argument).capability == DRM_CAP_PRIME ? 3 : 1;
  if (number == _IOC_NR(DRM_IOCTL_GEM_CLOSE)) free_buffer(as<drm_gem_close>(argument).handle);
  if (number == _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE)) {
    static uint32_t handle = 0;
    as<drm_syncobj_create>(argument).handle = ++handle;
  }
  if (number != _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD) && number != _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE)) return 0;
  errno = ENOSYS;
  return -1;
}

void* map_whole(uint32_t handle, size_t bytes, uint64_t offset) {
  return next<void* (*)(void*, size_t, int, int, int, off64_t)>("mmap64")(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_of(handle), static_cast<off64_t>(offset));
}

// Intel's own.
int own(unsigned number, void* argument) {
  static uint32_t contexts = 0;
  switch (number) {
    case DRM_I915_GETPARAM:
      return parameter(as<drm_i915_getparam_t>(argument));
    case DRM_I915_QUERY:
      query(as<drm_i915_query>(argument));
      return 0;
    case DRM_I915_GEM_CREATE:
      as<drm_i915_gem_create>(argument).handle = make_buffer(as<drm_i915_gem_create>(argument).size);
      return 0;
    case DRM_I915_GEM_CREATE_EXT:
      as<drm_i915_gem_create_ext>(argument).handle = make_buffer(as<drm_i915_gem_create_ext>(argument).size);
      return 0;
    case DRM_I915_GEM_USERPTR:
      as<drm_i915_gem_userptr>(argument).handle = make_buffer(as<drm_i915_gem_userptr>(argument).user_size);
      return 0;
    case DRM_I915_GEM_MMAP_GTT:
      as<drm_i915_gem_mmap_offset>(argument).offset = uint64_t{as<drm_i915_gem_mmap_offset>(argument).handle}
                                                      << kHandleShift;
      return 0;
    case DRM_I915_GEM_MMAP: {
      auto& m = as<drm_i915_gem_mmap>(argument);
      void* at = map_whole(m.handle, m.size, m.offset);
      m.addr_ptr = reinterpret_cast<uintptr_t>(at);
      return at == MAP_FAILED ? -1 : 0;
    }
    case DRM_I915_GEM_CONTEXT_CREATE:
      as<drm_i915_gem_context_create>(argument).ctx_id = ++contexts;
      return 0;
    case DRM_I915_GEM_CONTEXT_GETPARAM: {
      auto& p = as<drm_i915_gem_context_param>(argument);
      p.value = p.param == I915_CONTEXT_PARAM_GTT_SIZE ? uint64_t{1} << 48 : p.param == I915_CONTEXT_PARAM_VM;
      return 0;
    }
    case DRM_I915_GEM_VM_CREATE:
      as<drm_i915_gem_vm_control>(argument).vm_id = 1;
      return 0;
    case DRM_I915_GEM_GET_APERTURE:
      as<drm_i915_gem_get_aperture>(argument).aper_size = uint64_t{1} << 48;
      as<drm_i915_gem_get_aperture>(argument).aper_available_size = uint64_t{1} << 48;
      return 0;
    case DRM_I915_GEM_BUSY:
      as<drm_i915_gem_busy>(argument).busy = 0;
      return 0;
    case DRM_I915_PERF_OPEN:
      errno = ENODEV;
      return -1;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default")))

EXPORTED FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
EXPORTED FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

EXPORTED int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return open_file("open", path, flags, mode);
}
EXPORTED int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return open_file("open64", path, flags, mode);
}

EXPORTED int close(int file) {
  {
    const std::lock_guard lock(mutex);
    nodes.erase(file);
  }
  return next<int (*)(int)>("close")(file);
}

EXPORTED int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return control("fcntl", file, command, argument);
}
EXPORTED int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return control("fcntl64", file, command, argument);
}

EXPORTED void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t offset) {
  bool mine;
  {
    const std::lock_guard lock(mutex);
    mine = nodes.count(file) != 0;
  }
  if (mine) file = file_of(static_cast<uint32_t>(static_cast<uint64_t>(offset) >> kHandleShift)), offset = 0;
  return next<void* (*)(void*, size_t, int, int, int, off64_t)>("mmap64")(at, bytes, protection, flags, file, offset);
}
EXPORTED void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap64(at, bytes, protection, flags, file, offset);
}

EXPORTED int ioctl(int file, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (_IOC_TYPE(request) != DRM_IOCTL_BASE)
    return next<int (*)(int, unsigned long, ...)>("ioctl")(file, request, argument);
  const unsigned number = _IOC_NR(request);
  if (number < DRM_COMMAND_BASE || number >= DRM_COMMAND_END) return common(number, argument);
  return own(number - DRM_COMMAND_BASE, argument);
}
}
