// Owns the question which vector instructions may run, asked of the processor itself: the compilers' own answer
// (__builtin_cpu_supports) comes from their runtime libraries, and some of these leave it empty.
#include "os/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sg::os {

#if defined(__x86_64__)
namespace {

// Which registers the operating system saves: bits of XCR0.
uint64_t saved_state() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | uint64_t(high) << 32;
}

}  // namespace

VectorInstructions vector_instructions() {
  constexpr uint32_t kFma = 1u << 12, kSavesState = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;      // leaf 1, c
  constexpr uint32_t kAvx2 = 1u << 5, kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;  // leaf 7, b
  constexpr uint32_t kBfloat16 = 1u << 5, kTiles = 1u << 22 | 1u << 24;  // leaf 7: part 1, a; part 0, d
  // Of XCR0: SSE and AVX; besides, masks and the two parts of ZMM; besides, the two parts of tiles.
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTile = 0x600e6;
  VectorInstructions has;
  uint32_t a, b, c, d;
  const auto all = [](uint32_t word, uint32_t bits) { return (word & bits) == bits; };
  if (!__get_cpuid(1, &a, &b, &c, &d) || !all(c, kFma | kSavesState | kAvx | kF16c)) return has;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return has;
  const uint64_t saved = saved_state();
  has.avx2 = (b & kAvx2) && (saved & kYmm) == kYmm;
  has.avx512 = has.avx2 && all(b, kF | kDq | kBw | kVl) && (saved & kZmm) == kZmm;
  const bool tiles = all(d, kTiles) && (saved & kTile) == kTile;
  has.bfloat16 = has.avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kBfloat16);
  has.tiles = has.bfloat16 && tiles;
  return has;
}
#else
VectorInstructions vector_instructions() { return {}; }
#endif

}  // namespace sg::os
