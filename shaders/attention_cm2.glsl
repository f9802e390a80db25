// Attention of half types by VK_KHR_cooperative_matrix with what VK_NV_cooperative_matrix2 adds to it, sums and softmax in
// float32: attention.glsl on matrix units. Included behind what it defines: MATRIX (the type of an element), THREADS,
// SUBGROUP (its threads), ROWS and COLS (of the weights that a workgroup makes at a time), M, N and K (of a fragment; N and
// K are equal), D and E, PADDED_D and PADDED_E (those as multiples of fragments), a phase, and options.
//
// A subgroup owns rows: their operands, weights and sums stay in its registers, so maxima and sums of rows need no other
// subgroup, and weights become an operand again as they are. The other side lies in shared memory, rows eight elements
// longer than needed, so that they begin in other banks. Where registers are left, the next tile of it travels from global
// memory while one is worked on.
layout(local_size_x = THREADS) in;

const uint kThreads = THREADS, kSubgroups = THREADS / SUBGROUP;
uint thread = gl_LocalInvocationIndex;
#include "attention_common.glsl"

const uint kOwn = ROWS / kSubgroups, kRows = kOwn / M, kCols = COLS / N;  // rows of a subgroup; fragments
const uint kD = PADDED_D / K, kE = PADDED_E / K;                          // fragments of a row
const uint kEightsD = PADDED_D / 8, kEightsE = PADDED_E / 8, kPitchD = kEightsD + 1, kPitchE = kEightsE + 1;
const uint kOtherD = 0, kOtherE = COLS * kPitchD;
const uint kBoth = COLS * (kPitchD + kPitchE), kOwnD = ROWS * kPitchD, kOwnE = ROWS * kPitchE;
shared uvec4 halves[max(kBoth, max(kOwnD, kOwnE))];

uint own_row = gl_SubgroupID * kOwn;

#define SUMS coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LEFT coopmat<MATRIX, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define RIGHT coopmat<MATRIX, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define EACH(F) [[unroll]] for (uint e = 0; e < F.length(); ++e)
#define ALL(I, COUNT) [[unroll]] for (uint I = 0; I < COUNT; ++I)

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Eight { uvec4 at; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Factors { MATRIX at[]; };

// Eight elements of a row; zeros where there are none.
uvec4 eight_of(Rows m, uint row, uint unit) {
  uvec4 x = uvec4(0);
  if (row < m.count && 8 * unit < m.size) x = Eight(m.from + 2 * (uint64_t(row) * uint64_t(m.step) + 8 * unit)).at;
  return x;
}

// A tile of the other side, on its way to shared memory.
#define LOADS(units) ((COLS * (units) + kThreads - 1) / kThreads)
uvec4 next_d[LOADS(kEightsD)], next_e[LOADS(kEightsE)];
#define EACH_LOAD(UNITS)                                                                \
  [[unroll]] for (uint b = 0, i = thread; b < LOADS(UNITS); ++b, i += kThreads)         \
    if (COLS * (UNITS) % kThreads == 0 || i < COLS * (UNITS))
#define FETCH(OTHER_D, OTHER_E, FIRST)                                                              \
  {                                                                                                 \
    EACH_LOAD(kEightsD) next_d[b] = eight_of(OTHER_D, (FIRST) + i / kEightsD, i % kEightsD);        \
    EACH_LOAD(kEightsE) next_e[b] = eight_of(OTHER_E, (FIRST) + i / kEightsE, i % kEightsE);        \
  }
void keep_tile() {
  EACH_LOAD(kEightsD) halves[kOtherD + i / kEightsD * kPitchD + i % kEightsD] = next_d[b];
  EACH_LOAD(kEightsE) halves[kOtherE + i / kEightsE * kPitchE + i % kEightsE] = next_e[b];
}

// ROWS rows of an operand from FIRST on, those of this subgroup to fragments.
#define LOAD_OWN(X, OWN, FIRST, FRAGMENTS, EIGHTS)                                                                      \
  {                                                                                                                     \
    barrier();                                                                                                          \
    for (uint i = thread; i < ROWS * EIGHTS; i += kThreads)                                                             \
      halves[i / EIGHTS * (EIGHTS + 1) + i % EIGHTS] = eight_of(OWN, (FIRST) + i / EIGHTS, i % EIGHTS);                 \
    barrier();                                                                                                          \
    ALL(r, kRows) ALL(k, FRAGMENTS)                                                                                     \
      coopMatLoad(X[r * FRAGMENTS + k], halves, (own_row + r * M) * (EIGHTS + 1) + k * K / 8, EIGHTS + 1,               \
                  gl_CooperativeMatrixLayoutRowMajor);                                                                  \
  }

// RESULT[AT + r] = own rows times the N rows of the other side that begin at COL, turned.
#define PRODUCT(RESULT, AT, OWN, OTHER, COL, FRAGMENTS, PITCH)                                                 \
  {                                                                                                            \
    ALL(r, kRows) RESULT[AT + r] = SUMS(0.0);                                                                  \
    ALL(k, FRAGMENTS) {                                                                                        \
      RIGHT b;                                                                                                 \
      coopMatLoad(b, halves, OTHER + (COL) * PITCH + k * K / 8, PITCH, gl_CooperativeMatrixLayoutColumnMajor); \
      ALL(r, kRows) RESULT[AT + r] = coopMatMulAdd(OWN[r * FRAGMENTS + k], b, RESULT[AT + r]);                 \
    }                                                                                                          \
  }
// SUM += weights, of K columns from COL on, times those rows of the other side.
#define ADD_WEIGHTED(SUM, WEIGHTS, OTHER, COL, FRAGMENTS, PITCH)                                          \
  ALL(n, FRAGMENTS) {                                                                                     \
    RIGHT b;                                                                                              \
    coopMatLoad(b, halves, OTHER + (COL) * PITCH + n * N / 8, PITCH, gl_CooperativeMatrixLayoutRowMajor); \
    ALL(r, kRows) SUM[r * FRAGMENTS + n] = coopMatMulAdd(WEIGHTS[r], b, SUM[r * FRAGMENTS + n]);          \
  }

// Drivers cut off digits where bfloat16 has none, and round for float16.
float rounded(float x) {
#ifdef SG_BFLOAT16
  return round_bfloat16(x);
#else
  return x;
#endif
}
// The same in three operations (Dekker 1971), for factors of products: of numbers above 2^112 it makes NaN.
float rounded_factor(float x) {
#ifdef SG_BFLOAT16
  precise const float wide = x * 65537, rest = wide - x;
  precise const float high = wide - rest;
  return high;
#else
  return x;
#endif
}

// Own rows of a result. No unit adds up in bfloat16, so no matrix of sums may be of it: as a left factor it may.
#ifdef SG_BFLOAT16
#define STORED LEFT
#else
#define STORED coopmat<MATRIX, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#endif
#define STORE_ROWS(RESULT, FIRST, SUM, FRAGMENTS)                                                                  \
  {                                                                                                                \
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> to =                                                \
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);                                          \
    to = setTensorLayoutDimensionNV(to, RESULT.count, RESULT.size);                                                \
    to = setTensorLayoutStrideNV(to, RESULT.step / 8 * 8, 1);                                                      \
    ALL(r, kRows) ALL(n, FRAGMENTS) {                                                                              \
      const STORED x = STORED(SUM[r * FRAGMENTS + n]);                                                             \
      coopMatStoreTensorNV(x, Factors(RESULT.from).at, 0,                                                          \
                           sliceTensorLayoutNV(to, FIRST + own_row + r * M, M, n * N, N));                         \
    }                                                                                                              \
  }

#ifdef KEYS
#define PAIR(row, col) col, row  // a query and a key
#else
#define PAIR(row, col) row, col
#endif
float score_at(const in uint row, const in uint col, const in float x, const in uint row0, const in uint col0,
               const in uint before) {
  return score(x, PAIR(row0 + row, col0 + col), before);
}
// row0 and col0 are places in the tile, whose first key is key0.
float kept_at(const in uint row, const in uint col, const in float x, const in uint row0, const in uint col0,
              const in uint key0) {
  return is_kept(PAIR(row0 + row, col0 + col), key0) ? x : 0;
}
#ifdef DROPOUT_AT
#define DROP(X, ROW, COL, KEY0) coopMatPerElementNV(X, X, kept_at, ROW, COL, KEY0);
#else
#define DROP(X, ROW, COL, KEY0)
#endif

#ifdef FORWARD
float log_at(const in uint row, const in uint col, const in float high, const in float total, const in uint first) {
  if (col == 0) put_log(first + row, high, total);
  return high;
}
float larger(const in float a, const in float b) { return max(a, b); }
float plus(const in float a, const in float b) { return a + b; }

void attend(uint first) {
  const uint before = keys_before();
  const Rows query = matrix(0, 0, head, queries, D), key = matrix(1, 1, head / serves, keys, D),
             value = matrix(2, 2, head / serves, keys, E), result = matrix(3, 3, head, queries, E);
  LEFT q[kRows * kD];
  LOAD_OWN(q, query, first, kD, kEightsD)
  SUMS sum[kRows * kE], high[kRows], total[kRows];
  ALL(i, kRows * kE) sum[i] = SUMS(0.0);
  ALL(r, kRows) {
    high[r] = SUMS(kNothing);
    total[r] = SUMS(0.0);
  }
  const uint end = causal ? min(keys, before + first + ROWS) : keys;
  FETCH(key, value, 0)
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    keep_tile();
    draw(first, k0);
    barrier();
    if (k0 + COLS < end) FETCH(key, value, k0 + COLS)
    SUMS s[kCols * kRows];
    ALL(c, kCols) PRODUCT(s, c * kRows, q, kOtherD, c * N, kD, kPitchD)
    float by = scale * kLog2E;  // from s to scores in powers of two
    if (by < 0 || !is_plain(first + own_row, kOwn, k0, COLS, before)) {
      ALL(c, kCols) ALL(r, kRows)
        coopMatPerElementNV(s[c * kRows + r], s[c * kRows + r], score_at, first + own_row + r * M, k0 + c * N, before);
      by = 1;
    }
    ALL(r, kRows) {
      SUMS most = s[r], factor;
      [[unroll]] for (uint c = 1; c < kCols; ++c) EACH(most) most[e] = max(most[e], s[c * kRows + r][e]);
      coopMatReduceNV(most, most, gl_CooperativeMatrixReduceRowNV, larger);
      EACH(most) {
        const float is = max(most[e] * by, high[r][e]);
        factor[e] = exp2(high[r][e] - is);
        high[r][e] = is;
        total[r][e] *= factor[e];
      }
      ALL(c, kCols) EACH(most) {
        const float weight = exp2(fma(s[c * kRows + r][e], by, -high[r][e]));
        total[r][e] += weight;  // not yet of the row
        s[c * kRows + r][e] = rounded_factor(weight);
      }
      ALL(n, kE) EACH(factor) sum[r * kE + n][e] *= factor[e];
    }
    ALL(c, kCols) {
      LEFT weights[kRows];
      ALL(r, kRows) {
        DROP(s[c * kRows + r], own_row + r * M, c * N, k0)
        weights[r] = LEFT(s[c * kRows + r]);
      }
      ADD_WEIGHTED(sum, weights, kOtherE, c * N, kE, kPitchE)
    }
  }
  ALL(r, kRows) {
    coopMatReduceNV(total[r], total[r], gl_CooperativeMatrixReduceRowNV, plus);
    coopMatPerElementNV(high[r], high[r], log_at, total[r], first + own_row + r * M);
    ALL(n, kE) EACH(high[r])
      sum[r * kE + n][e] = total[r][e] == 0 ? 0 : rounded(sum[r * kE + n][e] * (keep_scale / total[r][e]));
  }
  STORE_ROWS(result, first, sum, kE)
}
#else

#ifdef KEYS
const uint kQueries = COLS;
#else
const uint kQueries = ROWS;
#endif
shared float logs[kQueries], deltas[kQueries];  // of the queries of a tile

void load_queries(uint first) {
  for (uint i = thread; i < kQueries; i += kThreads) {
    const vec2 of = of_query(first + i);
    logs[i] = of.x;
    deltas[i] = of.y;
  }
}

// Products P to weights. PLAIN: nobody looks at places.
#define WEIGH(P, LOG, PLAIN, ROW0, COL0)                      \
  {                                                           \
    float by = scale * kLog2E;                                \
    if (!PLAIN) {                                             \
      coopMatPerElementNV(P, P, score_at, ROW0, COL0, 0u);    \
      by = 1;                                                 \
    }                                                         \
    EACH(P) P[e] = exp2(fma(P[e], by, -LOG[e]));              \
  }
// Products D of gradients and values, zero where they were dropped, to gradients of scores, less a factor.
#define SLOPE(D, P, DELTA) EACH(D) D[e] = rounded_factor(P[e] == 0 ? 0 : P[e] * (keep_scale * D[e] - DELTA[e]));

#ifdef KEYS
void attend(uint first) {
  const uint own = head, begin = causal ? first / COLS * COLS : 0;
  LEFT keys_own[kRows * kD], values_own[kRows * kE];
  {
    const Rows key = matrix(1, 1, own, keys, D), value = matrix(2, 2, own, keys, E);
    LOAD_OWN(keys_own, key, first, kD, kEightsD)
    LOAD_OWN(values_own, value, first, kE, kEightsE)
  }
  SUMS to_key[kRows * kD], to_value[kRows * kE];
  ALL(i, kRows * kD) to_key[i] = SUMS(0.0);
  ALL(i, kRows * kE) to_value[i] = SUMS(0.0);
  for (head = own * serves; head < (own + 1) * serves; ++head) {
    const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E);
    for (uint q0 = begin; q0 < queries; q0 += COLS) {
      barrier();
      FETCH(query, gradient, q0)
      keep_tile();
      load_queries(q0);
      draw(q0, first);
      barrier();
      const bool plain = is_plain(q0, COLS, first + own_row, kOwn, 0);
      ALL(c, kCols) {
        SUMS p[kRows], d[kRows], log, delta;
        PRODUCT(p, 0, keys_own, kOtherD, c * N, kD, kPitchD)
        PRODUCT(d, 0, values_own, kOtherE, c * N, kE, kPitchE)
        coopMatLoad(log, logs, c * N, 0, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(delta, deltas, c * N, 0, gl_CooperativeMatrixLayoutRowMajor);
        LEFT weights[kRows], slopes[kRows];
        ALL(r, kRows) {
          WEIGH(p[r], log, plain, first + own_row + r * M, q0 + c * N)
          DROP(d[r], own_row + r * M, c * N, first)
          SLOPE(d[r], p[r], delta)
          slopes[r] = LEFT(d[r]);
          DROP(p[r], own_row + r * M, c * N, first)
          EACH(p[r]) p[r][e] = rounded_factor(p[r][e]);
          weights[r] = LEFT(p[r]);
        }
        ADD_WEIGHTED(to_value, weights, kOtherE, c * N, kE, kPitchE)
        ADD_WEIGHTED(to_key, slopes, kOtherD, c * N, kD, kPitchD)
      }
    }
  }
  ALL(i, kRows * kD) EACH(to_key[i]) to_key[i][e] = rounded(scale * to_key[i][e]);
  ALL(i, kRows * kE) EACH(to_value[i]) to_value[i][e] = rounded(keep_scale * to_value[i][e]);
  const Rows key_gradient = matrix(7, 5, own, keys, D), value_gradient = matrix(8, 6, own, keys, E);
  if ((word(6) & 4) != 0) STORE_ROWS(key_gradient, first, to_key, kD)
  if ((word(6) & 8) != 0) STORE_ROWS(value_gradient, first, to_value, kE)
}
#else
void attend(uint first) {
  const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E),
             key = matrix(1, 1, head / serves, keys, D), value = matrix(2, 2, head / serves, keys, E),
             result = matrix(6, 4, head, queries, D);
  LEFT q[kRows * kD], g[kRows * kE];
  LOAD_OWN(q, query, first, kD, kEightsD)
  LOAD_OWN(g, gradient, first, kE, kEightsE)
  load_queries(first);
  barrier();
  SUMS sum[kRows * kD], log[kRows], delta[kRows];
  ALL(i, kRows * kD) sum[i] = SUMS(0.0);
  ALL(r, kRows) {
    coopMatLoad(log[r], logs, own_row + r * M, 0, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(delta[r], deltas, own_row + r * M, 0, gl_CooperativeMatrixLayoutColumnMajor);
  }
  const uint end = causal ? min(keys, first + ROWS) : keys;
  FETCH(key, value, 0)
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    keep_tile();
    draw(first, k0);
    barrier();
    if (k0 + COLS < end) FETCH(key, value, k0 + COLS)
    const bool plain = is_plain(first + own_row, kOwn, k0, COLS, 0);
    ALL(c, kCols) {
      SUMS p[kRows], d[kRows];
      PRODUCT(p, 0, q, kOtherD, c * N, kD, kPitchD)
      PRODUCT(d, 0, g, kOtherE, c * N, kE, kPitchE)
      LEFT slopes[kRows];
      ALL(r, kRows) {
        WEIGH(p[r], log[r], plain, first + own_row + r * M, k0 + c * N)
        DROP(d[r], own_row + r * M, c * N, k0)
        SLOPE(d[r], p[r], delta[r])
        slopes[r] = LEFT(d[r]);
      }
      ADD_WEIGHTED(sum, slopes, kOtherD, c * N, kD, kPitchD)
    }
  }
  ALL(i, kRows * kD) EACH(sum[i]) sum[i][e] = rounded(scale * sum[i][e]);
  STORE_ROWS(result, first, sum, kD)
}
#endif
#endif

#include "attention_grid.glsl"
