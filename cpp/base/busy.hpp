// How long GPUs have computed, while somebody watches, such as a progress bar: their queues add to it. Threads: any.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "base/device_id.hpp"

namespace sg::busy {

inline std::atomic<int> watchers{0};
inline std::array<std::atomic<int64_t>, 256> nanoseconds{};  // by index, of submissions that have finished

inline bool watched() { return watchers.load(std::memory_order_relaxed) > 0; }
inline void add(DeviceId gpu, int64_t time) { nanoseconds[gpu.index].fetch_add(time, std::memory_order_relaxed); }

}  // namespace sg::busy
