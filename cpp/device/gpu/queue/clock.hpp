// The device's ticks on the host's clock. Exact where the driver reads both clocks at one moment (calibrate); else from
// the fact that nothing begins before it was submitted (not_before). Arithmetic only; threads: the caller's lock.
#pragma once
#include <cstdint>

namespace sg {

class DeviceClock {
 public:
  DeviceClock(uint32_t bits, double nanoseconds) : bits_(bits), nanoseconds_(nanoseconds) {}
  // Nanoseconds of the host's steady clock. Ticks within half a turn of the counter from the last fact.
  int64_t host(uint64_t ticks) const { return host_ + static_cast<int64_t>(span(ticks_, ticks)); }
  double span(uint64_t from, uint64_t to) const {  // nanoseconds; the counter may have turned over
    const uint32_t unused = 64 - bits_;
    return static_cast<double>(static_cast<int64_t>((to - from) << unused) >> unused) * nanoseconds_;
  }
  void calibrate(uint64_t ticks, int64_t host) {
    ticks_ = ticks;
    host_ = host;
    known_ = true;
  }
  void not_before(uint64_t ticks, int64_t host_time) {
    if (!known_ || host(ticks) < host_time) calibrate(ticks, host_time);
  }

 private:
  uint32_t bits_;
  double nanoseconds_;
  uint64_t ticks_ = 0;
  int64_t host_ = 0;
  bool known_ = false;
};

}  // namespace sg
