// A piece of device memory, reference-counted. What it is made of is the device's business:
// a CPU buffer has a host pointer, a GPU buffer an address that only shaders may follow.
// When the last reference goes, the owner takes it back into its pool (never frees while work is in flight).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/device_id.hpp"
#include "base/ref.hpp"

namespace sg {

class Buffer : public RefCounted<Buffer> {
 public:
  virtual ~Buffer() = default;
  virtual void recycle() = 0;  // called once, by the last reference; never throws, waits or submits
  static void destroy(Buffer* b) { b->recycle(); }
  // Returns when the bytes are there: those of a CPU buffer may be on their way from a GPU. May throw what a read does.
  void arrive() {
    if (arriving.load(std::memory_order_acquire)) fetch();
  }

  DeviceId device;
  size_t bytes = 0;               // usable size, at least what was asked for
  void* host = nullptr;           // CPU buffers: where the bytes are
  uint64_t address = 0;           // GPU buffers: device address of the first byte
  std::atomic<bool> gone{false};  // with its device, which was opened anew since
  // How many others (NumPy, DLPack) see these bytes. While any does, work that reads or writes them runs at once.
  std::atomic<int32_t> shared{0};
  std::atomic<bool> arriving{false};

 protected:
  virtual void fetch() {}
};
using BufferRef = Ref<Buffer>;

}  // namespace sg
