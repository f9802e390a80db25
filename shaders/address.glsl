// Where memory is. No other shader names a type of 64 bits: they say
//   Address        of something in memory; references are made of it, as in Float32(address)
//   Offset         bytes between two addresses, and numbers of elements; SignedOffset may be negative
//   Word           a word of the argument block: an address, bits, or a number (uint(word), offset_of(word))
//   int64, uint64  values: elements of tensors, bits of float64
// An address is a pointer of 64 bits or, with SG_ADDRESS_PAIRS, a pair of words, the low one first; offsets then have 32
// bits, so that kernels without 64-bit values do without such integers. C++: cpp/device/gpu/lower/address.hpp. Decision 61.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define int64 int64_t
#define uint64 uint64_t
#define int64x4 i64vec4

#ifndef SG_ADDRESS_PAIRS
#define Address uint64_t
#define Offset uint64_t
#define SignedOffset int64_t
#define Word uint64_t
#define address_add(address, bytes) ((address) + (bytes))
#define address_move(address, bytes) address += bytes
#define is_aligned(address, bytes) (((address) & ((bytes) - 1)) == 0)
#define offset_of(word) (word)
#define signed_offset_of(word) SignedOffset(word)
#define word_bits(word) (word)  // as one number
#define word_low(word) uint(word)
#define word_high(word) uint(word >> 32)
#define word_from(word, bit) uint(word >> bit)  // 32 bits of it
#define word_of(low, high) (uint64_t(low) | uint64_t(high) << 32)
#else
#extension GL_EXT_buffer_reference_uvec2 : require
#define Address uvec2
#define Word uvec2
#define address_move(address, bytes) address = address_add(address, bytes)
#define is_aligned(address, bytes) (((address).x & ((bytes) - 1)) == 0)
#define word_bits(word) packUint2x32(word)
#define word_low(word) (word).x
#define word_high(word) (word).y
#define word_from(word, bit) ((word).x >> (bit) | (word).y << (32 - (bit)))
#define word_of(low, high) uvec2(low, high)
#ifndef SG_WIDE
#define Offset uint
#define SignedOffset int
#define offset_of(word) (word).x
#define signed_offset_of(word) int((word).x)
float number_float32(int bits) { return intBitsToFloat(bits); }  // of a word that was read as a number
// Tensors have at most 2 GiB, so that an offset is a signed number of 32 bits, whatever its type.
uvec2 address_add(uvec2 address, int bytes) {
  uint carry;
  const uint low = uaddCarry(address.x, uint(bytes), carry);
  return uvec2(low, address.y + carry + uint(bytes >> 31));
}
uvec2 address_add(uvec2 address, uint bytes) { return address_add(address, int(bytes)); }
#else  // more elements than 32 bits count
#define Offset uint64_t
#define SignedOffset int64_t
#define offset_of(word) packUint2x32(word)
#define signed_offset_of(word) int64_t(packUint2x32(word))
uvec2 address_add(uvec2 address, uint64_t bytes) { return unpackUint2x32(packUint2x32(address) + bytes); }
#endif
#endif
