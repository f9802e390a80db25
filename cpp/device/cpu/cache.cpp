// Asks the system once, and assumes 32 MiB where it does not tell. Knows nothing of programs.
#include "device/cpu/cache.hpp"

#include "os/processor.hpp"

namespace sg::cpu {

int64_t last_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t largest = os::last_cache_bytes();
    return largest ? largest : int64_t(32) << 20;
  }();
  return bytes;
}

}  // namespace sg::cpu
