// Owns host memory for what jobs bring back.
#include "device/gpu/record/readback.hpp"

#include <algorithm>
#include <utility>

namespace sg {

std::shared_ptr<GpuReadback> Readbacks::take(size_t bytes) {
  const auto free = std::find_if(all_.begin(), all_.end(), [](const auto& r) { return r.use_count() == 1; });
  std::shared_ptr<GpuReadback> readback = free != all_.end() ? *free : std::make_shared<GpuReadback>(queue_);
  if (free == all_.end()) all_.push_back(readback);
  queue_.wait(readback->value, false);  // dropped before it arrived: rare
  if (readback->memory.bytes < bytes) {
    HostBuffer larger = make_host_buffer(context_, std::max<size_t>(2 * bytes, 64 << 10), HostUse::staging);
    std::swap(readback->memory, larger);
    free_host_buffer(context_, larger);
  }
  return readback;
}

}  // namespace sg
