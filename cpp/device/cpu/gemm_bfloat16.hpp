// Products of bfloat16 into float32, where the processor has instructions for them. Any thread.
#pragma once
#include <cstdint>

#include "kernel/gemm.hpp"

namespace sg::cpu {

inline constexpr int64_t kBfloat16Side = 32;             // tiles of a product should be multiples of it
inline constexpr int64_t kBfloat16Scratch = 448 * 1024;  // bytes that GemmTile::scratch holds

// a and b are bfloat16, c is float32; no `inner`, no `b_m`.
using GemmBfloat16 = void (*)(const GemmTile&);
GemmBfloat16 gemm_bfloat16();  // the best of these; nullptr: there is none
GemmBfloat16 bfloat16_by_tiles();
GemmBfloat16 bfloat16_by_vectors();

}  // namespace sg::cpu
