// Which of 32 keys dropout leaves to a query, a bit each. Four random blocks make a word: each 16-bit part of them makes
// a bit. Twin: `kept_of` in cpp/ops/attention_cpu.cpp.
#include "alu_random.glsl"

uint kept_bits(Word seed, uint batch, uint head, uint query, uint block, uint below) {
  uint bits = 0;
  [[dont_unroll]] for (uint part = 0; part < 4; ++part) {
    const uvec4 random =
        alu_philox(uvec4(block * 4 + part, query, head, batch), uvec2(word_low(seed), word_high(seed)));
    [[unroll]] for (uint w = 0; w < 4; ++w) {
      bits |= uint((random[w] & 0xffffu) >= below) << (8 * part + 2 * w);
      bits |= uint((random[w] >> 16) >= below) << (8 * part + 2 * w + 1);
    }
  }
  return bits;
}
