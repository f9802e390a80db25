// Random words and numbers: included behind alu.glsl by shaders that need them. Twin: cpp/math/alu_random.inl.

// A block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// ROLLED: cpp/kernel/tiles.hpp; the keys of ten rounds are the same for all, and were kept in twenty registers.
#ifdef ROLLED
#define ROUNDS [[dont_unroll]]
#else
#define ROUNDS
#endif
uvec4 alu_philox(uvec4 c, uvec2 k) {
  ROUNDS for (int round = 0; round < 10; ++round) {
    uint hi0, lo0, hi1, lo1;
    umulExtended(0xd2511f53u, c.x, hi0, lo0);
    umulExtended(0xcd9e8d57u, c.z, hi1, lo1);
    c = uvec4(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
    k += uvec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}
#undef ROUNDS
uvec4 alu_block(int64 index, int64 seed, int64 offset) {
  uint64 i = uint64(index), s = uint64(seed), o = uint64(offset);
  return alu_philox(uvec4(uint(i >> 2), uint(i >> 34), uint(o), uint(o >> 32)), uvec2(uint(s), uint(s >> 32)));
}
// The four words from an index on that is a multiple of four.
ivec4 alu_random_bits4(int64 index, int64 seed, int64 offset) { return ivec4(alu_block(index, seed, offset)); }

// Elsewhere an invocation asks for the words of a block one after the other: the last block is kept.
uvec4 alu_block_words;
int64 alu_block_number, alu_block_seed, alu_block_offset;
bool alu_block_there = false;
bool alu_next_block(int64 index, int64 seed, int64 offset) {
  if (alu_block_there && index >> 2 == alu_block_number && seed == alu_block_seed && offset == alu_block_offset)
    return false;
  alu_block_there = true;
  alu_block_number = index >> 2;
  alu_block_seed = seed;
  alu_block_offset = offset;
  alu_block_words = alu_block(index, seed, offset);
  return true;
}
float alu_pick(vec4 v, int64 index) {
  uint at = uint(index) & 3u;
  return (at & 2u) != 0u ? ((at & 1u) != 0u ? v.w : v.z) : ((at & 1u) != 0u ? v.y : v.x);
}
int alu_random_bits(int64 index, int64 seed, int64 offset) {
  alu_next_block(index, seed, offset);
  uint at = uint(index) & 3u;
  uvec4 w = alu_block_words;
  return int((at & 2u) != 0u ? ((at & 1u) != 0u ? w.w : w.z) : ((at & 1u) != 0u ? w.y : w.x));
}
int64 alu_random_wide(int64 index, int64 seed, int64 offset) {
  alu_next_block(index << 1, seed, offset);
  uvec2 w = (uint(index) & 1u) != 0u ? alu_block_words.zw : alu_block_words.xy;
  return int64(w.x & 0x7fffffffu) << 31 | int64(w.y & 0x7fffffffu);
}
float alu_unit_float(int bits) {
  precise float unit = float(int(uint(bits) >> 8)) * 5.96046448e-8;
  return unit;
}

// sqrt(-2 log(1 - u)) * (cos(2 pi v), sin(2 pi v)) for the upper 24 bits of two words as u and v in [0, 1) (Box and
// Muller, 1958). Conversions between integers and floats are slow, so the quarters of the turn are counted in integers,
// and the exponent comes from a sum that leaves it in the low bits.
vec2 alu_normal_pair(uint word_u, uint word_v) {
  precise float left = 1.0 - float(word_u >> 8) * 5.96046448e-8;
  uint bits = floatBitsToUint(left), above = bits - 0x3f3504f3u;  // left = m * 2^e, m in [sqrt(1/2), sqrt(2))
  float m = uintBitsToFloat(bits - (above & 0xff800000u));
  precise float e = uintBitsToFloat(0x4b400000u + uint(int(above) >> 23)) - 12582912.0;
  precise float f = m - 1.0;
  precise float p = fma(f, 6.97307065e-2, -1.14814773e-1);
  p = fma(f, fma(f, p, 1.16857193e-1), -1.24254867e-1);
  p = fma(f, fma(f, p, 1.42490089e-1), -1.66678086e-1);
  p = fma(f, fma(f, p, 2.0000717e-1), -2.4999997e-1);
  p = fma(f, p, 3.33333313e-1);
  precise float logarithm = fma(e, 0.693147182, fma(f * f, fma(f, p, -0.5), f));
  precise float square = -2.0 * logarithm, radius = square * inversesqrt(max(square, 1e-30));
  uint turn = word_v & 0xffffff00u, turns = (turn + 0x20000000u) >> 30;
  precise float x = float(int(turn - (turns << 30))) * 1.46291812e-9, z = x * x;  // 2 pi / 2^32
  precise float sine = fma(x * z, fma(z, fma(z, -1.95878412e-4, 8.33274797e-3), -1.66666642e-1), x);
  precise float cosine = fma(z * z, fma(z, fma(z, 2.45478914e-5, -1.38883025e-3), 4.16666642e-2), fma(z, -0.5, 1.0));
  bool swapped = (turns & 1u) != 0u;
  uint flip_cosine = ((turns + 1u) & 2u) << 30, flip_sine = (turns & 2u) << 30;
  precise vec2 pair = radius * vec2(uintBitsToFloat(floatBitsToUint(swapped ? sine : cosine) ^ flip_cosine),
                                    uintBitsToFloat(floatBitsToUint(swapped ? cosine : sine) ^ flip_sine));
  return pair;
}
vec4 alu_normals_of(uvec4 words) {
  return vec4(alu_normal_pair(words.x, words.y), alu_normal_pair(words.z, words.w));
}
vec4 alu_random_normal4(int64 index, int64 seed, int64 offset) {
  return alu_normals_of(alu_block(index, seed, offset));
}
vec4 alu_block_normals;
bool alu_normals_there = false;
float alu_random_normal(int64 index, int64 seed, int64 offset) {
  if (alu_next_block(index, seed, offset)) alu_normals_there = false;
  if (!alu_normals_there) {
    alu_normals_there = true;
    alu_block_normals = alu_normals_of(alu_block_words);
  }
  return alu_pick(alu_block_normals, index);
}
