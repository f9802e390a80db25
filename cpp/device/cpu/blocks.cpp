// Owns the choice of the instruction set, made once, and the status word that loops report to.
#include "device/cpu/blocks.hpp"

#include <mutex>

namespace sg::cpu {

const BlockTable& blocks() {
  static const BlockTable& chosen = []() -> const BlockTable& {
#if SG_HAS_X86_ISAS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      return kBlocksAvx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kBlocksAvx2;
#endif
    return kBlocksBaseline;
  }();
  return chosen;
}

StatusWord status_word;

void report_index(int64_t index, int64_t bound, int64_t tag) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (status_word.tag.load(std::memory_order_relaxed)) return;
  status_word.index = index;
  status_word.bound = bound;
  status_word.tag.store(static_cast<int32_t>(tag), std::memory_order_release);
}

}  // namespace sg::cpu
