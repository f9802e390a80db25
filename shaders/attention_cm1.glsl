// Attention of half types by VK_KHR_cooperative_matrix, sums and softmax in float32: attention.glsl on matrix units.
// Included behind what it defines: MATRIX (the type of an element), PACK4 (four float32 as halves), THREADS, SUBGROUP
// (its threads), ROWS and COLS (of the weights that a workgroup makes at a time), M, N and K (of a fragment), D and E,
// PADDED_D and PADDED_E (those as multiples of fragments), a phase, and options.
// Both sides lie in shared memory, eight neighbours together, one eight more a row than needed, so that rows begin in
// other banks. A subgroup owns rows. Where a thread has elements of a fragment is the driver's secret, so what is done
// with scores one by one is done in shared memory, and weights come back from there as operands.
layout(local_size_x = THREADS) in;

// A software driver compiles long straight code slowly.
#ifdef SG_SOFTWARE
#define LONG_LOOP [[dont_unroll]]
#else
#define LONG_LOOP [[unroll]]
#endif

const uint kThreads = THREADS, kSubgroups = THREADS / SUBGROUP;
uint thread = gl_LocalInvocationIndex;
#include "attention_common.glsl"

const uint kOwn = ROWS / kSubgroups, kRows = kOwn / M;  // rows of a subgroup, in elements and fragments
const uint kColsD = PADDED_D / N, kColsE = PADDED_E / N;
const uint kPitchD = PADDED_D / 8 + 1, kPitchE = PADDED_E / 8 + 1, kPitchP = COLS / 8 + 1;
const uint kOwnD = 0, kOtherD = kOwnD + ROWS * kPitchD, kOtherE = kOtherD + COLS * kPitchD;
const uint kWeights = kOtherE + COLS * kPitchE, kBehind = kWeights + ROWS * kPitchP;
#ifdef FORWARD
const uint kEnd = kBehind;
const uint kPitchS = COLS / 4 + 1, kScores = kOwn * kPitchS > M * N / 4 ? kOwn * kPitchS : M * N / 4;
shared float highs[ROWS], totals[ROWS], factors[ROWS], sums_of_eight[ROWS * COLS / 8];
#else
#ifdef KEYS
const uint kSlopes = kBehind, kOwnE = kSlopes + ROWS * kPitchP, kQueries = COLS;
#else
const uint kSlopes = kWeights, kOwnE = kBehind, kQueries = ROWS;
#endif
const uint kEnd = kOwnE + ROWS * kPitchE;
const uint kScores = 2 * M * N / 4;
shared vec2 of[kQueries];  // of the queries of a tile
#endif
shared uvec4 halves[kEnd];
shared vec4 scores[kSubgroups * kScores];

uint lane = gl_SubgroupInvocationID, own_row = gl_SubgroupID * kOwn, own_score = gl_SubgroupID * kScores;

#define SUMS coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LEFT coopmat<MATRIX, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define RIGHT coopmat<MATRIX, gl_ScopeSubgroup, K, N, gl_MatrixUseB>

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Eight { uvec4 at; };

// `count` rows from `first` on; zeros where there are none.
void stage(uint to, Rows m, uint first, uint count, uint pitch) {
  for (uint i = thread; i < count * (pitch - 1); i += kThreads) {
    const uint row = first + i / (pitch - 1), unit = i % (pitch - 1);
    uvec4 x = uvec4(0);
    if (row < m.count && 8 * unit < m.size)
      x = Eight(address_add(m.from, 2 * (Offset(row) * Offset(m.step) + 8 * unit))).at;
    halves[to + i / (pitch - 1) * pitch + unit] = x;
  }
}

SUMS s[kRows];
#ifndef FORWARD
SUMS slopes[kRows];
#endif

// Products of own rows and of N rows of the other side from `col` on.
#define PRODUCT(RESULT, OWN, OTHER, PITCH, PADDED)                                                               \
  [[unroll]] for (uint i = 0; i < kRows; ++i) RESULT[i] = SUMS(0.0);                                             \
  LONG_LOOP for (uint k = 0; k < PADDED; k += K) {                                                               \
    RIGHT b;                                                                                                     \
    coopMatLoad(b, halves, OTHER + col * PITCH + k / 8, PITCH, gl_CooperativeMatrixLayoutColumnMajor);           \
    [[unroll]] for (uint i = 0; i < kRows; ++i) {                                                                \
      LEFT a;                                                                                                    \
      coopMatLoad(a, halves, OWN + (own_row + i * M) * PITCH + k / 8, PITCH, gl_CooperativeMatrixLayoutRowMajor); \
      RESULT[i] = coopMatMulAdd(a, b, RESULT[i]);                                                                \
    }                                                                                                            \
  }

// SUM += weights of own rows * the other side.
#define WEIGHTED(SUM, WEIGHTS, OTHER, PITCH, WIDTH)                                                                     \
  LONG_LOOP for (uint k = 0; k < COLS; k += K) {                                                                        \
    LEFT a[kRows];                                                                                                      \
    [[unroll]] for (uint i = 0; i < kRows; ++i)                                                                         \
      coopMatLoad(a[i], halves, WEIGHTS + (own_row + i * M) * kPitchP + k / 8, kPitchP,                                 \
                  gl_CooperativeMatrixLayoutRowMajor);                                                                  \
    [[unroll]] for (uint n = 0; n < WIDTH; ++n) {                                                                       \
      RIGHT b;                                                                                                          \
      coopMatLoad(b, halves, OTHER + k * PITCH + n * N / 8, PITCH, gl_CooperativeMatrixLayoutRowMajor);                 \
      [[unroll]] for (uint i = 0; i < kRows; ++i) SUM[i * WIDTH + n] = coopMatMulAdd(a[i], b, SUM[i * WIDTH + n]);      \
    }                                                                                                                   \
  }

uvec4 packed(vec4 a, vec4 b) { return uvec4(PACK4(a), PACK4(b)); }

// Own rows of a result, times `by` or what each row has in `factors`.
void store(Rows m, uint row, uint col, float by) {  // a fragment that lies in scores
  [[unroll]] for (uint u = 0; u < M * N / 8; u += SUBGROUP) {
    const uint at = u + lane, r = at / (N / 8), c = at % (N / 8);
    if (at >= M * N / 8 || row + r >= m.count || col + 8 * c >= m.size) continue;
    const uint from = own_score + r * (N / 4) + 2 * c;
    Eight(address_add(m.from, 2 * (Offset(row + r) * Offset(m.step) + col + 8 * c))).at =
        packed(by * scores[from], by * scores[from + 1]);
  }
}
#define STORE_ROWS(RESULT, FIRST, SUM, WIDTH, BY)                                                     \
  [[unroll]] for (uint i = 0; i < kRows; ++i)                                                         \
    [[unroll]] for (uint n = 0; n < WIDTH; ++n) {                                                     \
      subgroupBarrier();                                                                              \
      coopMatStore(SUM[i * WIDTH + n], scores, own_score, N / 4, gl_CooperativeMatrixLayoutRowMajor); \
      subgroupBarrier();                                                                              \
      store(RESULT, FIRST + own_row + i * M, n * N, BY);                                              \
    }

#ifdef FORWARD
SUMS sum[kRows * kColsE];

// Own rows of `sum` times what each row has in `factors`.
void scale_rows() {
  [[unroll]] for (uint i = 0; i < kRows; ++i) {
    subgroupBarrier();
    for (uint at = lane; at < M * N / 4; at += SUBGROUP)
      scores[own_score + at] = vec4(factors[own_row + i * M + at / (N / 4)]);
    subgroupBarrier();
    SUMS by;
    coopMatLoad(by, scores, own_score, N / 4, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint n = 0; n < kColsE; ++n) sum[i * kColsE + n] = sum[i * kColsE + n] * by;
  }
}

// Scores of own rows to weights, with the maxima, sums and factors of the rows.
void soften(uint first, uint k0, uint before) {
  for (uint r = lane; r < kOwn; r += SUBGROUP) {
    const uint row = own_row + r;
    vec4 most = vec4(highs[row]);
    for (uint u = 0; u < COLS / 4; ++u) {
      vec4 x = scores[own_score + r * kPitchS + u];
      [[unroll]] for (uint l = 0; l < 4; ++l) x[l] = score(x[l], first + row, k0 + 4 * u + l, before);
      scores[own_score + r * kPitchS + u] = x;
      most = max(most, x);
    }
    const float high = max(max(most.x, most.y), max(most.z, most.w));
    factors[row] = exp2(highs[row] - high);
    highs[row] = high;
  }
  subgroupBarrier();
  for (uint at = lane; at < kOwn * COLS / 8; at += SUBGROUP) {
    const uint r = at / (COLS / 8), u = at % (COLS / 8), row = own_row + r;
    vec4 w[2];
    [[unroll]] for (uint h = 0; h < 2; ++h) w[h] = exp2(scores[own_score + r * kPitchS + 2 * u + h] - highs[row]);
    const vec4 both = w[0] + w[1];
    sums_of_eight[row * COLS / 8 + u] = both.x + both.y + both.z + both.w;
    [[unroll]] for (uint h = 0; h < 2; ++h)
      [[unroll]] for (uint l = 0; l < 4; ++l) w[h][l] = is_kept(row, 8 * u + 4 * h + l, k0) ? w[h][l] : 0;
    halves[kWeights + row * kPitchP + u] = packed(w[0], w[1]);
  }
  subgroupBarrier();
  for (uint r = lane; r < kOwn; r += SUBGROUP) {
    float all = totals[own_row + r] * factors[own_row + r];
    for (uint u = 0; u < COLS / 8; ++u) all += sums_of_eight[(own_row + r) * COLS / 8 + u];
    totals[own_row + r] = all;
  }
  scale_rows();
}

void attend(uint first) {
  const uint before = keys_before();
  const Rows query = matrix(0, 0, head, queries, D), key = matrix(1, 1, head / serves, keys, D),
             value = matrix(2, 2, head / serves, keys, E), result = matrix(3, 3, head, queries, E);
  stage(kOwnD, query, first, ROWS, kPitchD);
  [[unroll]] for (uint i = 0; i < kRows * kColsE; ++i) sum[i] = SUMS(0.0);
  for (uint r = lane; r < kOwn; r += SUBGROUP) {
    highs[own_row + r] = kNothing;
    totals[own_row + r] = 0;
  }
  const uint end = causal ? min(keys, before + first + ROWS) : keys;
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    stage(kOtherD, key, k0, COLS, kPitchD);
    stage(kOtherE, value, k0, COLS, kPitchE);
    draw(first, k0);
    barrier();
    for (uint col = 0; col < COLS; col += N) {
      PRODUCT(s, kOwnD, kOtherD, kPitchD, PADDED_D)
      [[unroll]] for (uint i = 0; i < kRows; ++i)
        coopMatStore(s[i], scores, own_score + i * M * kPitchS + col / 4, kPitchS, gl_CooperativeMatrixLayoutRowMajor);
    }
    subgroupBarrier();
    soften(first, k0, before);
    WEIGHTED(sum, kWeights, kOtherE, kPitchE, kColsE)
  }
  subgroupBarrier();
  for (uint r = lane; r < kOwn; r += SUBGROUP) {
    const float total = totals[own_row + r];
    factors[own_row + r] = total == 0 ? 0 : keep_scale / total;
    put_log(first + own_row + r, highs[own_row + r], total);
  }
  scale_rows();
  STORE_ROWS(result, first, sum, kColsE, 1)
}
#else

#ifdef KEYS
#define QUERY col
#define KEY row
#else
#define QUERY row
#define KEY col
#endif

void load_queries(uint first) {
  for (uint i = thread; i < kQueries; i += kThreads) of[i] = of_query(first + i);
}

// A fragment of products of queries and keys, and one of gradients and values, both in scores, to weights and to the
// gradients of scores, less a factor.
void weigh(uint row0, uint col0, uint query0, uint key0) {
  for (uint at = lane; at < M * N / 8; at += SUBGROUP) {
    const uint r = at / (N / 8), u = at % (N / 8), row = row0 + r, from = own_score + r * (N / 4) + 2 * u;
    vec4 p[2], d[2];
    [[unroll]] for (uint h = 0; h < 2; ++h) {
      p[h] = scores[from + h];
      d[h] = scores[from + M * N / 4 + h];
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        const uint col = col0 + 8 * u + 4 * h + l;
        const bool stays = is_kept(QUERY, KEY, key0);
        const float weight = exp2(score(p[h][l], query0 + QUERY, key0 + KEY, 0) - of[QUERY].x);
        p[h][l] = stays ? weight : 0;
        d[h][l] = slope(weight, d[h][l], of[QUERY].y, stays);
      }
    }
    const uint to = row * kPitchP + col0 / 8 + u;
    halves[kSlopes + to] = packed(d[0], d[1]);
#ifdef KEYS
    halves[kWeights + to] = packed(p[0], p[1]);
#endif
  }
}

// All of a tile.
void weigh_tile(uint query0, uint key0) {
  for (uint col = 0; col < COLS; col += N) {
    PRODUCT(s, kOwnD, kOtherD, kPitchD, PADDED_D)
    PRODUCT(slopes, kOwnE, kOtherE, kPitchE, PADDED_E)
    [[unroll]] for (uint i = 0; i < kRows; ++i) {
      subgroupBarrier();
      coopMatStore(s[i], scores, own_score, N / 4, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(slopes[i], scores, own_score + M * N / 4, N / 4, gl_CooperativeMatrixLayoutRowMajor);
      subgroupBarrier();
      weigh(own_row + i * M, col, query0, key0);
    }
  }
  subgroupBarrier();
}

SUMS to_d[kRows * kColsD];
#ifdef KEYS
SUMS to_e[kRows * kColsE];

void attend(uint first) {
  const uint own = head, begin = causal ? first / COLS * COLS : 0;
  stage(kOwnD, matrix(1, 1, own, keys, D), first, ROWS, kPitchD);
  stage(kOwnE, matrix(2, 2, own, keys, E), first, ROWS, kPitchE);
  [[unroll]] for (uint i = 0; i < kRows * kColsD; ++i) to_d[i] = SUMS(0.0);
  [[unroll]] for (uint i = 0; i < kRows * kColsE; ++i) to_e[i] = SUMS(0.0);
  for (head = own * serves; head < (own + 1) * serves; ++head) {
    const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E);
    for (uint q0 = begin; q0 < queries; q0 += COLS) {
      barrier();
      stage(kOtherD, query, q0, COLS, kPitchD);
      stage(kOtherE, gradient, q0, COLS, kPitchE);
      load_queries(q0);
      draw(q0, first);
      barrier();
      weigh_tile(q0, first);
      WEIGHTED(to_e, kWeights, kOtherE, kPitchE, kColsE)
      WEIGHTED(to_d, kSlopes, kOtherD, kPitchD, kColsD)
    }
  }
  const Rows key_gradient = matrix(7, 5, own, keys, D), value_gradient = matrix(8, 6, own, keys, E);
  if ((word(6) & 4) != 0) STORE_ROWS(key_gradient, first, to_d, kColsD, scale)
  if ((word(6) & 8) != 0) STORE_ROWS(value_gradient, first, to_e, kColsE, keep_scale)
}
#else
void attend(uint first) {
  const Rows key = matrix(1, 1, head / serves, keys, D), value = matrix(2, 2, head / serves, keys, E),
             result = matrix(6, 4, head, queries, D);
  stage(kOwnD, matrix(0, 0, head, queries, D), first, ROWS, kPitchD);
  stage(kOwnE, matrix(3, 3, head, queries, E), first, ROWS, kPitchE);
  load_queries(first);
  [[unroll]] for (uint i = 0; i < kRows * kColsD; ++i) to_d[i] = SUMS(0.0);
  const uint end = causal ? min(keys, first + ROWS) : keys;
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    stage(kOtherD, key, k0, COLS, kPitchD);
    stage(kOtherE, value, k0, COLS, kPitchE);
    draw(first, k0);
    barrier();
    weigh_tile(first, k0);
    WEIGHTED(to_d, kSlopes, kOtherD, kPitchD, kColsD)
  }
  STORE_ROWS(result, first, to_d, kColsD, scale)
}
#endif
#endif

#include "attention_grid.glsl"
