// What every kernel shares: the argument block, references to tensors, the status block.
// Included after `#version 460`. A kernel gets one push constant, the address of its block of 64-bit words.
#include "address.glsl"
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_8bit_storage : require
#ifdef SG_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifdef SG_SHUFFLES
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif
#ifdef SG_BALLOTS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#if defined(SG_MATRIX_cm1) || defined(SG_MATRIX_cm2)
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifdef SG_BFLOAT16
#extension GL_EXT_bfloat16 : require
#endif
#ifdef SG_MATRIX_cm2
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#endif
#endif
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

// Compilers may otherwise fold x - x to 0 although x may be infinite, or drop the sign of a zero.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
#ifdef SG_FLOAT64
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 64);
#endif

layout(push_constant) uniform Push { Address block; } push;

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Words { Word at[]; };

// n / size for n below 2^31; Granlund and Montgomery, "Division by invariant integers using multiplication" (1994). C++:
// divisor_word() in cpp/base/round.hpp.
uint quotient(uint n, Word divisor) {
  uint high, low;
  umulExtended(n, word_low(divisor), high, low);
  return (high + n) >> word_high(divisor);
}

// Tensors by element, and by four elements: 16 bytes (8-byte types: two times 16, bytes: one word of four, 2-byte
// types: two words).
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Bool { uint8_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Uint8 { uint8_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Int8 { int8_t at[]; };
#ifdef SG_STORAGE16
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Int16 { int16_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Float16 { uint16_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Bfloat16 { uint16_t at[]; };
#endif
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Int32 { int at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Int64 { int64 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Float32 { float at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Float64 { double at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Boolx4 { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Uint8x4 { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Int8x4 { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Int16x4 { uvec2 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Float16x4 { uvec2 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Bfloat16x4 { uvec2 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Int32x4 { ivec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Int64x4 { int64x4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Float32x4 { vec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Float64x4 { dvec4 at[]; };

bvec4 unpack_bools(uint word) {
  return notEqual(uvec4(word) & uvec4(0xffu, 0xff00u, 0xff0000u, 0xff000000u), uvec4(0u));
}
uint pack_bools(bvec4 b) { return uint(b.x) | uint(b.y) << 8 | uint(b.z) << 16 | uint(b.w) << 24; }

// Narrow types are held in the type they are computed in. Twin of the conversions: cpp/math/alu_basic.inl.
uint bfloat16_bits(float x) {
  uint b = floatBitsToUint(x);
  return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
}
float bfloat16_value(uint h) { return uintBitsToFloat(h << 16); }
uint float16_bits(float x) {
  uint sign = (floatBitsToUint(x) >> 16) & 0x8000u, b = floatBitsToUint(x) & 0x7fffffffu;
  precise float sum = uintBitsToFloat(b) + 0.5;
  uint small = floatBitsToUint(sum) - 0x3f000000u;
  uint normal = (b - 0x38000000u + 0xfffu + ((b >> 13) & 1u)) >> 13;
  if (b > 0x7f800000u) return 0x7e00u;
  return sign | (b >= 0x47800000u ? 0x7c00u : (b < 0x38800000u ? small : normal));
}
float float16_value(uint h) {
  uint sign = (h & 0x8000u) << 16, b = (h & 0x7fffu) << 13;
  precise float small = uintBitsToFloat(b + 0x38800000u) - 6.103515625e-5;
  uint normal = b + (b >= 0x0f800000u ? 0x70000000u : 0x38000000u);
  return uintBitsToFloat((b < 0x00800000u ? floatBitsToUint(small) : normal) | sign);
}
bool is_finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }
float round_bfloat16(float x) {
  const uint b = floatBitsToUint(x);
  return uintBitsToFloat((b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : (b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u);
}
float round_float16(float x) { return float16_value(float16_bits(x)); }

ivec4 unpack_uint8(uint word) { return ivec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24); }
ivec4 unpack_int8(uint word) { return ivec4(int(word) << 24, int(word) << 16, int(word) << 8, int(word)) >> 24; }
uint pack_uint8(ivec4 v) {
  uvec4 u = uvec4(v) & 255u;
  return u.x | u.y << 8 | u.z << 16 | u.w << 24;
}
uint pack_int8(ivec4 v) { return pack_uint8(v); }
uvec4 unpack_shorts(uvec2 words) { return uvec4(words.x & 65535u, words.x >> 16, words.y & 65535u, words.y >> 16); }
uvec2 pack_shorts(uvec4 v) { return uvec2(v.x | v.y << 16, v.z | v.w << 16); }
ivec4 unpack_int16(uvec2 words) { return (ivec4(unpack_shorts(words)) << 16) >> 16; }
uvec2 pack_int16(ivec4 v) { return pack_shorts(uvec4(v) & 65535u); }
vec4 unpack_float16(uvec2 words) {
  uvec4 u = unpack_shorts(words);
  return vec4(float16_value(u.x), float16_value(u.y), float16_value(u.z), float16_value(u.w));
}
uvec2 pack_float16(vec4 v) {
  return pack_shorts(uvec4(float16_bits(v.x), float16_bits(v.y), float16_bits(v.z), float16_bits(v.w)));
}
vec4 unpack_bfloat16(uvec2 words) { return uintBitsToFloat(unpack_shorts(words) << 16); }
uvec2 pack_bfloat16(vec4 v) {
  return pack_shorts(uvec4(bfloat16_bits(v.x), bfloat16_bits(v.y), bfloat16_bits(v.z), bfloat16_bits(v.w)));
}

// A number argument keeps the bits of its type in the low bytes of its word.
bool number_bool(Word word) { return uint(word) != 0u; }
int number_int32(Word word) { return int(word); }
int64 number_int64(Word word) { return int64(word_bits(word)); }
float number_float32(Word word) { return uintBitsToFloat(uint(word)); }
double number_float64(Word word) { return uint64BitsToDouble(word_bits(word)); }

// What has failed in runs that may not be known to have finished, a bit each, and what was reported of it (Report in
// cpp/device/device.hpp).
struct Report {
  uint reporter, pad;
  int64 index, bound;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Status {
  uint failed[2];
  Report reports[64];
};

#ifdef SG_GUARDS
Word failed;
void read_failures(Address status) { failed = word_of(Status(status).failed[0], Status(status).failed[1]); }
bool is_kept(Word mask) { return (failed & mask) != Word(0); }
#endif

#ifdef SG_CHECKS
// Checks are numbered from 1 on. An invocation keeps the first bad index of each and goes on with index 0; at its end it
// reports, so that no read waits for the write. The first report of a failure wins.
uint bad = 0u;
int64 bad_index[SG_CHECKS], bad_bound[SG_CHECKS];
int64 check_index(int64 index, int64 bound, int number) {
  const bool good = uint64(index) < uint64(bound);
  const uint mask = 1u << (number - 1);
  if (!good && (bad & mask) == 0u) {
    bad |= mask;
    bad_index[number - 1] = index;
    bad_bound[number - 1] = bound;
  }
  return good ? index : 0;
}
void report_index(Address status, int number, Word word) {
  if ((bad >> (number - 1) & 1u) == 0u) return;
  const uint bit = uint(word) & 63u, mask = 1u << (bit & 31u);
  if ((atomicOr(Status(status).failed[bit >> 5], mask) & mask) != 0u) return;
  Status(status).reports[bit].reporter = word_from(word, 8);
  Status(status).reports[bit].index = bad_index[number - 1];
  Status(status).reports[bit].bound = bad_bound[number - 1];
}
#endif
