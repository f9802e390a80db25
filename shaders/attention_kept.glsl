// Which weights the dropout of attention keeps, as bytes: for ops that read them as a tensor. Words: batch, heads,
// queries, keys, and the 65,536ths that go.
layout(local_size_x = SG_THREADS) in;

#include "attention_dropout.glsl"

void main() {
  const uint heads = uint(word(1)), queries = uint(word(2)), keys = uint(word(3)), blocks = (keys + 31) / 32;
  const Offset i =
      Offset(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS + gl_LocalInvocationID.x;
  const Offset row = i / blocks;
  if (row >= Offset(word(0)) * heads * queries) return;
  const uint block = uint(i % blocks), query = uint(row % queries), matrix = uint(row / queries);
  const uint bits = kept_bits(Words(tensor(0)).at[0], matrix / heads, matrix % heads, query, block, uint(word(4)));
  const Address to = address_add(address_add(tensor(1), row * keys), 32 * block);
  for (uint l = 0; l < min(32, keys - 32 * block); ++l) Bool(to).at[l] = uint8_t(bits >> l & 1);
}
