// Owns the choice of the instruction set, made once, and the status blocks that loops report to.
#include "device/cpu/blocks.hpp"

#include "device/device.hpp"
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

StatusBlock status_blocks[kMostRuns];

// Whoever sets the bit writes the report, which is read when the run has ended.
void report_index(int64_t index, int64_t bound, uint64_t word) {
  const uint64_t bit = word & 63, mask = uint64_t{1} << bit;
  StatusBlock& block = status_blocks[word >> kBlockShift];
  if (block.failed.fetch_or(mask, std::memory_order_relaxed) & mask) return;
  block.reports[bit] = {static_cast<uint32_t>(word >> kReportShift), index, bound};
}

}  // namespace sg::cpu
