// What every kernel shares: the argument block, references to tensors, the status word.
// Included after `#version 460`. A kernel gets one push constant, the address of its block of 64-bit words.
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

// Compilers may otherwise fold x - x to 0 although x may be infinite, or drop the sign of a zero.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
#ifdef SG_FLOAT64
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 64);
#endif

layout(push_constant) uniform Push { uint64_t block; } push;

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Words { uint64_t at[]; };

// Tensors by element, and by four elements: 16 bytes (8-byte types: two times 16, bytes: one word of four).
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Bool { uint8_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Int32 { int at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Int64 { int64_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Float32 { float at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Float64 { double at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Boolx4 { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Int32x4 { ivec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Int64x4 { i64vec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Float32x4 { vec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Float64x4 { dvec4 at[]; };

bvec4 unpack_bools(uint word) {
  return notEqual(uvec4(word) & uvec4(0xffu, 0xff00u, 0xff0000u, 0xff000000u), uvec4(0u));
}
uint pack_bools(bvec4 b) { return uint(b.x) | uint(b.y) << 8 | uint(b.z) << 16 | uint(b.w) << 24; }

// A number argument keeps the bits of its type in the low bytes of its word.
bool number_bool(uint64_t word) { return uint(word) != 0u; }
int number_int32(uint64_t word) { return int(word); }
int64_t number_int64(uint64_t word) { return int64_t(word); }
float number_float32(uint64_t word) { return uintBitsToFloat(uint(word)); }
double number_float64(uint64_t word) { return uint64BitsToDouble(word); }

// The first index out of range wins; the rest of the submission goes on with index 0 and writes nothing in place.
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Status {
  int tag, pad;
  int64_t index, bound;
};

int64_t check_index(uint64_t status, int64_t index, int64_t bound, int tag) {
  if (index >= 0 && index < bound) return index;
  if (atomicCompSwap(Status(status).tag, 0, tag) == 0) {
    Status(status).index = index;
    Status(status).bound = bound;
  }
  return 0;
}
