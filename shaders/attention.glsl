// Attention of one head, tile by tile; ops/attention.cpp says on what. Included behind what it defines: ROWS and COLS
// (of the weights that a workgroup makes at a time), THREAD_ROWS and THREAD_COLS (those of a thread), D and E (elements
// of a query or key, and of a value), STEP (units of a row that are staged at a time), DEPTH (rows that are), and one of
//   FORWARD  rows are queries, columns keys: the sum of values, with the running maximum and sum of the softmax; keys may
//            come before the first query
//   QUERIES  the same walk again, for the gradient of the queries
//   KEYS     rows are keys, columns queries: the gradients of keys and values, over all heads of queries that share them
// and, where there is one, which tensor is MASK_AT (with MASK_IS_BOOL), STARTS_AT and DROPOUT_AT.
// With PART_KEYS, a workgroup walks that many keys, and attention_join.glsl puts the parts together.
//
// A workgroup owns ROWS rows and walks all columns that they see. Both sides pass through shared memory in steps, as in a
// matrix product, in units of four elements: STEP units of each row for a product of rows, DEPTH whole rows for a
// weighted sum. While one step is worked on, the next travels from global memory to registers. Every product is a tile of
// THREAD_ROWS x THREAD_COLS results a thread, or of as many rows and units of a result.

// A software driver compiles long straight code slowly; ROLLED: cpp/kernel/tiles.hpp.
#if defined(SG_SOFTWARE) || defined(ROLLED)
#define LONG_LOOP [[dont_unroll]]
#else
#define LONG_LOOP [[unroll]]
#endif

const uint kTx = COLS / THREAD_COLS, kTy = ROWS / THREAD_ROWS, kThreads = kTx * kTy;
layout(local_size_x = kThreads) in;

const uint kD = (D + 3) / 4, kE = (E + 3) / 4, kP = COLS / 4;  // units of a row
const uint kWidest = kD > kE ? kD : kE;
const uint kUnits = (kWidest + kTx - 1) / kTx;  // of a result's row, for each thread
#define LOADS(units) (((units) + kThreads - 1) / kThreads)  // of each thread
const uint kOwnLoads = LOADS(ROWS * STEP), kPairLoads = kOwnLoads + LOADS(COLS * STEP);
const uint kDeepLoads = LOADS(DEPTH * kWidest);

// Units below each other lie in different banks: rows are an odd number of units apart, or units change places.
#define ROOM(units) ((units) % 8 == 0 ? (units) : (units) | 1)
uint place(uint row, uint unit, uint units) { return row * ROOM(units) + (units % 8 == 0 ? unit ^ (row & 7) : unit); }

const uint kOwn = 0, kOther = ROWS * ROOM(STEP);
const uint kPair = kOther + COLS * ROOM(STEP), kDeep = DEPTH * ROOM(kWidest);
const uint kWeights = kPair > kDeep ? kPair : kDeep;
shared vec4 tiles[kWeights + ROWS * ROOM(kP)];
#ifdef FORWARD
shared vec4 parts[ROWS * kTx / 4];  // of a row's maximum or sum
#endif

// Neighbouring threads of 32 form a block of 8 x 4: they then share most of what they read.
uint thread = gl_LocalInvocationIndex;
uint tx = thread / 32 % (kTx / 8) * 8 + thread % 8, ty = thread / (4 * kTx) * 4 + thread / 8 % 4;

#include "attention_common.glsl"

uint row_of(uint r) { return r * kTy + ty; }
uint col_of(uint c) { return c * kTx + tx; }

Address address(Rows m, uint row, uint unit) {
  return address_add(m.from, BYTES * (Offset(row) * Offset(m.step) + 4 * unit));
}

// Zeros where there is none.
vec4 unit_of(Rows m, uint row, uint unit) {
  vec4 x = vec4(0);
  const Address at = address(m, row, unit);
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (row < m.count && 4 * unit + l < m.size) x[l] = LOAD(MEMORY(at).at[l]);
  return x;
}

vec4 next[kPairLoads > kDeepLoads ? kPairLoads : kDeepLoads];

// COUNT rows from ROW on, UNITS units of each from UNIT on: to registers, the first of which is AT, and to shared memory.
#define EACH_LOAD(COUNT, UNITS)                                                                            \
  [[unroll]] for (uint b = 0, i = thread; b < LOADS((COUNT) * (UNITS)); ++b, i += kThreads)                \
    if ((COUNT) * (UNITS) % kThreads == 0 || i < (COUNT) * (UNITS))
#define FETCH(AT, M, ROW, COUNT, UNIT, UNITS)                                                              \
  if (M.whole) {                                                                                           \
    EACH_LOAD(COUNT, UNITS) {                                                                              \
      next[AT + b] = vec4(0);                                                                              \
      if ((ROW) + i / (UNITS) < M.count && 4 * ((UNIT) + i % (UNITS)) < M.size)                            \
        next[AT + b] = LOAD4(MEMORY4(address(M, (ROW) + i / (UNITS), (UNIT) + i % (UNITS))).at[0]);        \
    }                                                                                                      \
  } else {                                                                                                 \
    EACH_LOAD(COUNT, UNITS) next[AT + b] = unit_of(M, (ROW) + i / (UNITS), (UNIT) + i % (UNITS));          \
  }
#define KEEP(AT, TO, COUNT, UNITS) \
  EACH_LOAD(COUNT, UNITS) tiles[TO + place(i / (UNITS), i % (UNITS), UNITS)] = next[AT + b];

#define FETCH_PAIR(OWN, ROW, OTHER, COL, UNIT)     \
  {                                                \
    FETCH(0, OWN, ROW, ROWS, UNIT, STEP)           \
    FETCH(kOwnLoads, OTHER, COL, COLS, UNIT, STEP) \
  }
#define FETCH_DEEP(OTHER, COL, UNITS) \
  { FETCH(0, OTHER, COL, DEPTH, 0, UNITS) }

// s[row][col] += own[row] . other[col], a step of it
void multiply(inout float s[THREAD_ROWS * THREAD_COLS]) {
  LONG_LOOP for (uint u = 0; u < STEP; ++u) {
    vec4 a[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) a[r] = tiles[kOwn + place(row_of(r), u, STEP)];
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
      const vec4 b = tiles[kOther + place(col_of(c), u, STEP)];
      [[unroll]] for (uint l = 0; l < 4; ++l)
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          s[r * THREAD_COLS + c] = fma(a[r][l], b[l], s[r * THREAD_COLS + c]);
    }
  }
}

// S = own . other, of which the first step was fetched; THEN fetches what comes next.
#define PRODUCT(S, OWN, ROW, OTHER, COL, UNITS, THEN)                       \
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * THREAD_COLS; ++i) S[i] = 0; \
  [[dont_unroll]] for (uint u0 = 0; u0 < UNITS; u0 += STEP) {               \
    barrier();                                                              \
    KEEP(0, kOwn, ROWS, STEP)                                               \
    KEEP(kOwnLoads, kOther, COLS, STEP)                                     \
    barrier();                                                              \
    if (u0 + STEP < UNITS)                                                  \
      FETCH_PAIR(OWN, ROW, OTHER, COL, u0 + STEP)                           \
    else                                                                    \
      THEN                                                                  \
    multiply(S);                                                            \
  }

void put_weights(float s[THREAD_ROWS * THREAD_COLS]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c)
      tiles[kWeights + place(row_of(r), col_of(c) / 4, kP)][col_of(c) % 4] = s[r * THREAD_COLS + c];
}

// sum[row] += weights[row][col] * other[col], a step of it; a thread has units tx, tx + kTx ... of its rows.
void add_weighted(uint first, uint units, inout vec4 sum[THREAD_ROWS * kUnits]) {
  LONG_LOOP for (uint k = 0; k < DEPTH / 4; ++k) {
    vec4 p[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) p[r] = tiles[kWeights + place(row_of(r), first / 4 + k, kP)];
    [[unroll]] for (uint l = 0; l < 4; ++l)
      [[unroll]] for (uint n = 0; n < kUnits; ++n) {
        const vec4 x = tiles[place(4 * k + l, min(n * kTx + tx, units - 1), units)];
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          sum[r * kUnits + n] = fma(vec4(p[r][l]), x, sum[r * kUnits + n]);
      }
  }
}

// SUM += weights * other, of which the first step was fetched; THEN fetches what comes next.
#define WEIGHTED(SUM, OTHER, COL, UNITS, THEN)                   \
  [[dont_unroll]] for (uint k = 0; k < COLS; k += DEPTH) {       \
    barrier();                                                   \
    KEEP(0, 0, DEPTH, UNITS)                                     \
    barrier();                                                   \
    if (k + DEPTH < COLS)                                        \
      FETCH_DEEP(OTHER, COL + k + DEPTH, UNITS)                  \
    else                                                         \
      THEN                                                       \
    add_weighted(k, UNITS, SUM);                                 \
  }

void store(Rows m, uint first, vec4 sum[THREAD_ROWS * kUnits]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < kUnits; ++n) {
      const uint row = first + row_of(r), unit = n * kTx + tx;
      if (row >= m.count || 4 * unit >= m.size) continue;
      const Address at = address(m, row, unit);
      if (m.whole) {
        MEMORY4(at).at[0] = STORE4(sum[r * kUnits + n]);
      } else {
        [[unroll]] for (uint l = 0; l < 4; ++l)
          if (4 * unit + l < m.size) MEMORY(at).at[l] = STORE(sum[r * kUnits + n][l]);
      }
    }
}

// Products of a tile to scores, in powers of two.
void to_scores(inout float s[THREAD_ROWS * THREAD_COLS], uint row0, uint col0, uint before) {
#ifdef KEYS
  const bool plain = is_plain(col0, COLS, row0, ROWS, before);
#else
  const bool plain = is_plain(row0, ROWS, col0, COLS, before);
#endif
  if (plain) {
    [[unroll]] for (uint i = 0; i < THREAD_ROWS * THREAD_COLS; ++i) s[i] *= scale * kLog2E;
  } else {
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        const uint i = r * THREAD_COLS + c, row = row0 + row_of(r), col = col0 + col_of(c);
#ifdef KEYS
        s[i] = score(s[i], col, row, before);
#else
        s[i] = score(s[i], row, col, before);
#endif
      }
  }
}

#ifdef FORWARD
#ifdef PART_KEYS
// What attention_join.glsl reads: the sum of a part of the keys, its maximum and its sum of weights.
void put_part(uint row, uint r, float high, float total, vec4 sum[THREAD_ROWS * kUnits]) {
  const Offset at = (Offset(batch * heads + head) * queries + row) * parts_of_keys + part;
  [[unroll]] for (uint n = 0; n < kUnits; ++n)
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (4 * (n * kTx + tx) + l < E)
        Float32(address_add(tensor(3), 4 * (at * E + 4 * (n * kTx + tx) + l))).at[0] = keep_scale * sum[r * kUnits + n][l];
  if (tx == 0) {
    Float32(address_add(tensor(4), 8 * at)).at[0] = high;
    Float32(address_add(tensor(4), 8 * at)).at[1] = total;
  }
}
#endif

void attend(uint first) {
  const uint before = keys_before();
  const Rows query = matrix(0, 0, head, queries, D), key = matrix(1, 1, head / serves, keys, D),
             value = matrix(2, 2, head / serves, keys, E);
  float high[THREAD_ROWS], total[THREAD_ROWS];
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
    high[r] = kNothing;
    total[r] = 0;
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
  uint begin = 0, end = causal ? min(keys, before + (alike ? 1 : first + ROWS)) : keys;
#ifdef PART_KEYS
  begin = part * PART_KEYS;
  end = min(end, begin + PART_KEYS);
#endif
  FETCH_PAIR(query, first, key, begin, 0)
  for (uint k0 = begin; k0 < end; k0 += COLS) {
    float s[THREAD_ROWS * THREAD_COLS];
    draw(first, k0);
    PRODUCT(s, query, first, key, k0, kD, FETCH_DEEP(value, k0, kE))
    to_scores(s, first, k0, before);
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
      float most = kNothing;
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) most = max(most, s[r * THREAD_COLS + c]);
      parts[(row_of(r) * kTx + tx) / 4][tx % 4] = most;
    }
    barrier();
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
      vec4 most = vec4(high[r]);
      [[unroll]] for (uint i = 0; i < kTx / 4; ++i) most = max(most, parts[row_of(r) * (kTx / 4) + i]);
      most.x = max(max(most.x, most.y), max(most.z, most.w));
      const float factor = exp2(high[r] - most.x);
      high[r] = most.x;
      total[r] *= factor;
      [[unroll]] for (uint n = 0; n < kUnits; ++n) sum[r * kUnits + n] *= factor;
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        const float weight = exp2(s[r * THREAD_COLS + c] - most.x);
        total[r] += weight;
        s[r * THREAD_COLS + c] = is_kept(row_of(r), col_of(c), k0) ? weight : 0;
      }
    }
    put_weights(s);
    WEIGHTED(sum, value, k0, kE, FETCH_PAIR(query, first, key, k0 + COLS, 0))
  }
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) parts[(row_of(r) * kTx + tx) / 4][tx % 4] = total[r];
  barrier();
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
    vec4 all = vec4(0);
    [[unroll]] for (uint i = 0; i < kTx / 4; ++i) all += parts[row_of(r) * (kTx / 4) + i];
    all.x = all.x + all.y + all.z + all.w;
#ifdef PART_KEYS
    if (first + row_of(r) < queries) put_part(first + row_of(r), r, high[r], all.x, sum);
#else
    const float factor = all.x == 0 ? 0 : keep_scale / all.x;
    [[unroll]] for (uint n = 0; n < kUnits; ++n) sum[r * kUnits + n] *= factor;
    const uint row = first + row_of(r);
    if (tx == 0) put_log(row, high[r], all.x);
#endif
  }
#ifndef PART_KEYS
  store(matrix(3, 3, head, queries, E), first, sum);
#endif
}
#else

#ifdef KEYS
void attend(uint first) {
  const uint own = head, begin = causal ? first / COLS * COLS : 0;
  const Rows key = matrix(1, 1, own, keys, D), value = matrix(2, 2, own, keys, E);
  vec4 to_key[THREAD_ROWS * kUnits], to_value[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) to_key[i] = to_value[i] = vec4(0);
  for (head = own * serves; head < (own + 1) * serves; ++head) {
    const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E);
    FETCH_PAIR(key, first, query, begin, 0)
    for (uint q0 = begin; q0 < queries; q0 += COLS) {
      vec2 of[THREAD_COLS];
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) of[c] = of_query(q0 + col_of(c));
      float p[THREAD_ROWS * THREAD_COLS], s[THREAD_ROWS * THREAD_COLS];
      draw(q0, first);
      PRODUCT(p, key, first, query, q0, kD, FETCH_DEEP(gradient, q0, kE))
      to_scores(p, first, q0, 0);
      uint kept = 0;  // a bit for each of a thread's weights, of which there are 32 at most
      [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
        [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
          const uint i = r * THREAD_COLS + c;
          kept |= uint(is_kept(col_of(c), row_of(r), first)) << i;
          p[i] = exp2(p[i] - of[c].x);
          s[i] = (kept >> i & 1) != 0 ? p[i] : 0;
        }
      put_weights(s);
      WEIGHTED(to_value, gradient, q0, kE, FETCH_PAIR(value, first, gradient, q0, 0))
      PRODUCT(s, value, first, gradient, q0, kE, FETCH_DEEP(query, q0, kD))
      [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
        [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
          const uint i = r * THREAD_COLS + c;
          s[i] = slope(p[i], s[i], of[c].y, (kept >> i & 1) != 0);
        }
      put_weights(s);
      WEIGHTED(to_key, query, q0, kD, FETCH_PAIR(key, first, query, q0 + COLS, 0))
    }
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) {
    to_key[i] *= scale;
    to_value[i] *= keep_scale;
  }
  if ((word(6) & 4) != 0) store(matrix(7, 5, own, keys, D), first, to_key);
  if ((word(6) & 8) != 0) store(matrix(8, 6, own, keys, E), first, to_value);
}
#else
void attend(uint first) {
  const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E),
             key = matrix(1, 1, head / serves, keys, D), value = matrix(2, 2, head / serves, keys, E);
  vec2 of[THREAD_ROWS];
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) of[r] = of_query(first + row_of(r));
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
  const uint end = causal ? min(keys, first + ROWS) : keys;
  FETCH_PAIR(query, first, key, 0, 0)
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    float p[THREAD_ROWS * THREAD_COLS], s[THREAD_ROWS * THREAD_COLS];
    draw(first, k0);
    PRODUCT(p, query, first, key, k0, kD, FETCH_PAIR(gradient, first, value, k0, 0))
    PRODUCT(s, gradient, first, value, k0, kE, FETCH_DEEP(key, k0, kD))
    to_scores(p, first, k0, 0);
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        const uint i = r * THREAD_COLS + c;
        p[i] = exp2(p[i] - of[r].x);
        s[i] = slope(p[i], s[i], of[r].y, is_kept(row_of(r), col_of(c), k0));
      }
    put_weights(s);
    WEIGHTED(sum, key, k0, kD, FETCH_PAIR(query, first, key, k0 + COLS, 0))
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] *= scale;
  store(matrix(6, 4, head, queries, D), first, sum);
}
#endif
#endif

#include "attention_grid.glsl"
