// What the kernels of attention share: the call, scores, masks, dropout, and the logarithms of sums. They define ROWS,
// COLS, D and E, the phase, kThreads, thread, and BYTES (of an element).
uint heads = uint(word(1)), queries = uint(word(2)), keys = uint(word(3));
bool causal = (word(6) & 1) != 0, alike = (word(6) & 128) != 0;  // alike: rows are heads, all of which see the same keys
float scale = number_float32(word(7));
uint serves = uint(word(8));  // heads of queries for one of keys and values
uint batch, head;             // of queries
#ifdef PART_KEYS
uint parts_of_keys = (keys + PART_KEYS - 1) / PART_KEYS, part;
#endif

const float kLog2E = 1.4426950408889634;
const float kNothing = -3.0e38, kLeast = -2.0e38;  // the maximum of no scores; the lowest score

// Rows of a matrix in global memory: where they begin, elements from one to the next, how many there are, elements of
// each.
struct Rows {
  Address from;
  uint step, count, size;
  bool whole;  // units of four are aligned
};

// Matrix `own` of tensor `i`, whose strides are the `strides`-th.
Rows matrix(int i, int strides, uint own, uint count, uint size) {
  const int at = 16 + 3 * strides;
  const Address from = address_add(tensor(i), Offset(BYTES * (batch * word(at) + own * word(at + 1))));
  const uint step = uint(word(at + 2));
  return Rows(from, step, count, size, size % 4 == 0 && ((uint(from) | BYTES * step) & (4 * BYTES - 1)) == 0);
}

#if BYTES == 4
// Four float32 of a row that has them.
vec4 four_of(Rows m, uint row, uint unit) {
  const Address at = address_add(m.from, 4 * (Offset(row) * Offset(m.step) + 4 * unit));
  if (m.whole) return Float32x4(at).at[0];
  return vec4(Float32(at).at[0], Float32(at).at[1], Float32(at).at[2], Float32(at).at[3]);
}
#endif

uint keys_before() {  // the first query's own
#ifdef STARTS_AT
  return uint(max(0, Int32(tensor(STARTS_AT)).at[batch]));
#else
  return 0;
#endif
}

// The score of a key, in powers of two, with the mask added; minus infinity if it leaves the key out.
float masked(float score, uint query, uint key) {
#ifdef MASK_AT
  const Offset at = Offset(batch * word(12) + head * word(13) + query * word(14) + key * word(15));
#ifdef MASK_IS_BOOL
  return uint(Bool(address_add(tensor(MASK_AT), at)).at[0]) != 0 ? score : uintBitsToFloat(0xff800000u);
#else
  const float added = Float32(address_add(tensor(MASK_AT), 4 * at)).at[0], sum = fma(added, kLog2E, score);
  return sum < kLeast && !(isinf(added) && added < 0) ? kLeast : sum;
#endif
#else
  return score;
#endif
}

#ifdef DROPOUT_AT
#include "attention_dropout.glsl"

// Of a tile, drawn by all threads: a bit a key in words of 32.
#ifdef KEYS
const uint kDrawnQueries = COLS, kDrawnKeys = ROWS;
#else
const uint kDrawnQueries = ROWS, kDrawnKeys = COLS;
#endif
const uint kWordsEach = kDrawnKeys < 32 ? 1 : kDrawnKeys / 32;
shared uint kept_words[kDrawnQueries * kWordsEach];
float keep_scale = number_float32(word(10));

void draw(uint query0, uint key0) {
  const Word seed = Words(tensor(DROPOUT_AT)).at[0];
  const uint below = uint(word(9));
  for (uint i = thread; i < kDrawnQueries * kWordsEach; i += kThreads) {
    kept_words[i] = kept_bits(seed, batch, head, query0 + i / kWordsEach, key0 / 32 + i % kWordsEach, below);
  }
}
// Places in the tile whose first key is key0.
bool is_kept(uint query, uint key, uint key0) {
  const uint at = key0 % 32 + key;
  return (kept_words[query * kWordsEach + at / 32] >> (at % 32) & 1) != 0;
}
#else
const float keep_scale = 1;
void draw(uint query0, uint key0) {}
bool is_kept(uint query, uint key, uint key0) { return true; }
#endif

// Of a product of a query and a key: the score in powers of two, or minus infinity if the key is not seen.
float score(float product, uint query, uint key, uint before) {
  const bool inside = query < queries && key < keys && (!causal || key <= before + (alike ? 0 : query));
  return inside ? masked(product * (scale * kLog2E), query, key) : uintBitsToFloat(0xff800000u);
}

// Whether all keys of a tile are seen by all queries, and scores are products: then nobody looks at places.
bool is_plain(uint query0, uint queries_of, uint key0, uint keys_of, uint before) {
#ifdef MASK_AT
  return false;
#else
  return query0 + queries_of <= queries && key0 + keys_of <= keys &&
         (!causal || key0 + keys_of <= before + 1 + (alike ? 0 : query0));
#endif
}

#ifdef POWERS_AT
// Of matrix `i` of this head, as attention_powers.glsl wrote it: 0 query, 1 key, 2 value, 3 gradient.
float power_of(uint i) {
  const uint sources = heads / serves, batches = uint(word(0)), of_sources = batch * sources + head / serves;
  const uint before = i == 0 ? 0 : batches * (heads + (i - 1) * sources);
  return Float32(tensor(POWERS_AT)).at[before + (i == 0 || i == 3 ? batch * heads + head : of_sources)];
}
// Whether halves hold all matrices of this head of queries.
bool halves_hold() {
  bool hold = true;
  [[unroll]] for (uint i = 0; i < MATRICES; ++i) hold = hold && abs(power_of(i)) < 1000;
  return hold;
}
#endif

#ifdef FORWARD
// Of query `row`: the logarithm of its sum, in powers of two.
void put_log(uint row, float high, float total) {
  if (row < queries)
    Float32(address_add(tensor(4), Offset(4) * (Offset(batch * heads + head) * queries + row))).at[0] =
        total == 0 ? 0 : high + log2(total);
}
#else
// Of query `row`: that logarithm, and the product of its result with the gradient.
vec2 of_query(uint row) {
  if (row >= queries) return vec2(0);
  const Offset at = Offset(4) * (Offset(batch * heads + head) * queries + row);
  return vec2(Float32(address_add(tensor(4), at)).at[0], Float32(address_add(tensor(5), at)).at[0]);
}

// The gradient of a score, less a factor, from the weight and from the product of the gradient and the value.
float slope(float weight, float product, float delta, bool kept) {
  return weight == 0 ? 0 : weight * ((kept ? keep_scale * product : 0) - delta);
}
#endif
