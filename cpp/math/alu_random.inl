// Random words and numbers. Twin: shaders/alu_random.glsl, which rounds normal numbers a little differently.

// A block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), in the low halves of
// numbers of 64 bits, or of vectors of them; `times` multiplies low halves.
template <class Wide>
struct Block {
  Wide w0, w1, w2, w3;
};
template <class Wide, class Times>
SG_ALU_FN Block<Wide> philox(Wide c0, Wide c1, Wide c2, Wide c3, uint32_t k0, uint32_t k1, Times times) {
  for (int round = 0; round < 10; ++round) {
    const Wide p0 = times(c0, 0xd2511f53u), p1 = times(c2, 0xcd9e8d57u);
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c3 = p0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {c0, c1, c2, c3};
}
struct Words {
  uint32_t w0, w1, w2, w3;
};
SG_ALU_FN Words philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) {
  const auto times = [](uint64_t x, uint32_t y) { return uint64_t(static_cast<uint32_t>(x)) * y; };
  const auto b = philox<uint64_t>(c0, c1, c2, c3, k0, k1, times);
  return {static_cast<uint32_t>(b.w0), static_cast<uint32_t>(b.w1), static_cast<uint32_t>(b.w2),
          static_cast<uint32_t>(b.w3)};
}
// The block in which word `index` is.
SG_ALU_FN Words block_of(int64_t index, int64_t seed, int64_t offset) {
  const uint64_t block = static_cast<uint64_t>(index) >> 2, s = static_cast<uint64_t>(seed),
                 o = static_cast<uint64_t>(offset);
  return philox(static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(o),
                static_cast<uint32_t>(o >> 32), static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32));
}
SG_ALU_FN int32_t random_bits(int64_t index, int64_t seed, int64_t offset) {
  const Words w = block_of(index, seed, offset);
  const uint32_t even = (index & 2) != 0 ? w.w2 : w.w0;
  const uint32_t odd = (index & 2) != 0 ? w.w3 : w.w1;
  return static_cast<int32_t>((index & 1) != 0 ? odd : even);
}
SG_ALU_FN int64_t wide_of(uint32_t upper, uint32_t lower) {
  return int64_t(upper & 0x7fffffffu) << 31 | int64_t(lower & 0x7fffffffu);
}
SG_ALU_FN int64_t random_wide(int64_t index, int64_t seed, int64_t offset) {
  const Words w = block_of(static_cast<int64_t>(static_cast<uint64_t>(index) << 1), seed, offset);
  return (index & 1) != 0 ? wide_of(w.w2, w.w3) : wide_of(w.w0, w.w1);
}
SG_ALU_FN float unit_float(int32_t bits) {
  return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(bits) >> 8)) * 0x1p-24f;
}

// cos(2 pi u), or with `odd` the sine, for u in [0, 1): the quarter of the turn is taken off exactly.
SG_ALU_FN float turned(float u, bool odd) {
  const float quarter = nearest(u * 4.0f), x = (u - quarter * 0.25f) * 6.28318548f, z = x * x;
  const float sine = x + x * z * polynomial<float>(z, -1.66666642e-1f, 8.33274797e-3f, -1.95878412e-4f);
  const float cosine = (1.0f - z * 0.5f) + z * z * polynomial<float>(z, 4.16666642e-2f, -1.38883025e-3f, 2.45478914e-5f);
  const uint32_t turns = static_cast<uint32_t>(static_cast<int32_t>(quarter)) + (odd ? 3u : 0u);  // the sine is behind
  const float size = (turns & 1u) != 0 ? sine : cosine;
  return from_bits<float>(to_bits(size) ^ (((turns + 1u) & 2u) << 30));
}
// Of two words in a row: sqrt(-2 log(1 - u)), times the cosine of the second's turn and times its sine (Box and Muller,
// 1958).
SG_ALU_FN float radius_of(uint32_t word) {
  return sqrt(-2.0f * log_of_positive(1.0f - unit_float(static_cast<int32_t>(word))));
}
SG_ALU_FN float turn_of(uint32_t word, bool odd) { return turned(unit_float(static_cast<int32_t>(word)), odd); }
SG_ALU_FN float random_normal(int64_t index, int64_t seed, int64_t offset) {
  const Words w = block_of(index, seed, offset);
  const bool upper = (index & 2) != 0;
  return radius_of(upper ? w.w2 : w.w0) * turn_of(upper ? w.w3 : w.w1, (index & 1) != 0);
}
