// Device facts that choose kernels: plain data, so that choosing is a pure function and tests can make facts up.
#pragma once
#include <cstdint>

namespace sg {

struct Features {
  bool float64 = true;
  bool int64 = true;
  bool storage8 = true;   // 1-byte elements in buffers: bool, uint8, int8
  bool storage16 = true;  // 2-byte elements in buffers: int16, float16, bfloat16
  bool software = false;  // a driver that runs on the CPU: no memory latency to hide
  bool shuffles = false;  // eight neighbouring threads or more exchange values without shared memory
  int64_t shared_bytes = 32768;
  int64_t max_groups = 65535;  // workgroups along one axis
  int64_t max_group_threads = 256;
  int64_t max_buffer_bytes = INT64_MAX;
  int64_t memory_bytes = 0;  // total
  bool operator==(const Features&) const = default;
};

}  // namespace sg
