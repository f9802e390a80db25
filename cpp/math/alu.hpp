// Machine functions on the CPU: one function template for each row of alu.def, for float, double, int32_t, int64_t and
// bool where the row makes sense. The GLSL twin is shaders/alu.glsl: same formulas, same order of operations, compiled
// without contraction, so that both give the same bits (docs/numerics.md has the measured bounds).
//
// Callers: the CPU device, in loops that the compiler vectorises: no branches, and no table in memory but the one for
// sin and cos of double. Build with -ffp-contract=off -fno-math-errno -fno-trapping-math (with trapping math GCC leaves
// AVX2 loops scalar). Any thread; nothing is kept.
// Every function has internal linkage, so translation units built for different instruction sets never share one.
// To have several copies in one translation unit, define SG_ALU_NAMESPACE before each include.
// `check_index` is not here: it reports to a device, so each back end writes its own.
// Must not know: tensors, programs, devices.
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(SG_ALU_NAMESPACE) || !defined(SG_MATH_ALU_HPP)
#ifndef SG_ALU_NAMESPACE
#define SG_MATH_ALU_HPP
#define SG_ALU_NAMESPACE sg::alu
#endif
#define SG_ALU_FN [[gnu::always_inline]] static inline
namespace SG_ALU_NAMESPACE {
// Each builds on those before it.
// clang-format off
#include "math/alu_basic.inl"
#include "math/alu_float.inl"
#include "math/alu_log.inl"
#include "math/alu_random.inl"
#include "math/alu_trig.inl"
#include "math/alu_inverse.inl"
#include "math/alu_erf.inl"
#include "math/alu_whole.inl"
// clang-format on
}  // namespace SG_ALU_NAMESPACE
#undef SG_ALU_FN
#undef SG_ALU_NAMESPACE
#endif
