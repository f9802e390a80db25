// Owns the choice of the instruction set, made once, and the status word that loops report to.
#include "device/cpu/blocks.hpp"

#include <mutex>

#include "os/processor.hpp"

namespace sg::cpu {

const BlockTable& blocks() {
  static const BlockTable& chosen = []() -> const BlockTable& {
#if SG_HAS_X86_ISAS
    const os::VectorInstructions has = os::vector_instructions();
    if (has.avx512) return kBlocksAvx512;
    if (has.avx2) return kBlocksAvx2;
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
