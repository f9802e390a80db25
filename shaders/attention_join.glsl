// Attention over parts of the keys (attention.glsl with PART_KEYS) put together: sums of each part are scaled to the largest
// maximum, in order of the parts. Included behind MEMORY, STORE and BYTES (of the result's elements). Words: heads,
// queries, elements, parts, how many results there are in all (below 2^31), and the strides of the result over batch,
// heads and rows.
layout(local_size_x = SG_THREADS) in;

void main() {
  const uint heads = uint(word(0)), queries = uint(word(1)), size = uint(word(2)), parts = uint(word(3));
  const uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS + gl_LocalInvocationID.x;
  if (i >= uint(word(4))) return;
  const uint row = i / size, e = i % size, query = row % queries, owner = row / queries;
  const Offset before = Offset(row) * parts;
  Float32 sums = Float32(address_add(tensor(0), 4 * before * size));
  Float32 numbers = Float32(address_add(tensor(1), 8 * before));
  float high = -3.0e38, total = 0, sum = 0;
  for (uint p = 0; p < parts; ++p) high = max(high, numbers.at[2 * p]);
  for (uint p = 0; p < parts; ++p) {
    const float factor = exp2(numbers.at[2 * p] - high);
    total = fma(numbers.at[2 * p + 1], factor, total);
    sum = fma(sums.at[p * size + e], factor, sum);
  }
  const SignedOffset at = SignedOffset(owner / heads * word(5) + owner % heads * word(6) + query * word(7) + e);
  MEMORY(address_add(tensor(2), Offset(BYTES * at))).at[0] = STORE(total == 0 ? 0 : sum / total);
  if (e == 0) Float32(address_add(tensor(3), 4 * Offset(row))).at[0] = total == 0 ? 0 : high + log2(total);
}
