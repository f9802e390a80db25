// Attention by VK_KHR_cooperative_matrix with what VK_NV_cooperative_matrix2 adds to it, sums and softmax in float32:
// attention.glsl on matrix units. Included behind what it defines: MATRIX (the type of an element on the units), THREADS,
// SUBGROUP (its threads), ROWS and COLS (of the weights that a workgroup makes at a time), M, N and K (of a fragment; N and
// K are equal), D and E, PADDED_D and PADDED_E (those as multiples of fragments), a phase, and options; with KEYS, TO_KEY
// and TO_VALUE for the gradients it makes. Tensors are of the type MATRIX or, with POWERS_AT, float32: then each number is
// the sum of two halves (attention_split.glsl), and heads that halves cannot hold are left to attention.glsl.
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

uint own_row = gl_SubgroupID * kOwn;

#define SUMS coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LEFT coopmat<MATRIX, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define RIGHT coopmat<MATRIX, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define EACH(F) [[unroll]] for (uint e = 0; e < F.length(); ++e)
#define ALL(I, COUNT) [[unroll]] for (uint I = 0; I < COUNT; ++I)
#define LOAD_ROWS(X, AT, PITCH) coopMatLoad(X, halves, AT, PITCH, gl_CooperativeMatrixLayoutRowMajor);
#define LOAD_TURNED(X, AT, PITCH) coopMatLoad(X, halves, AT, PITCH, gl_CooperativeMatrixLayoutColumnMajor);

#ifdef POWERS_AT
#include "attention_split.glsl"
#else
#include "attention_halves.glsl"
#endif

// A tile of the other side, on its way to shared memory.
#define LOADS(units) ((COLS * (units) + kThreads - 1) / kThreads)
Eight next_d[LOADS(kEightsD)], next_e[LOADS(kEightsE)];
#define EACH_LOAD(UNITS)                                                                \
  [[unroll]] for (uint b = 0, i = thread; b < LOADS(UNITS); ++b, i += kThreads)         \
    if (COLS * (UNITS) % kThreads == 0 || i < COLS * (UNITS))
#define FETCH(OTHER_D, OTHER_E, FIRST)                                                              \
  {                                                                                                 \
    EACH_LOAD(kEightsD) next_d[b] = eight_of(OTHER_D, (FIRST) + i / kEightsD, i % kEightsD);        \
    EACH_LOAD(kEightsE) next_e[b] = eight_of(OTHER_E, (FIRST) + i / kEightsE, i % kEightsE);        \
  }
#define KEEP_TILE(INDEX_D, INDEX_E)                                                                           \
  ALL(p, PLANES) {                                                                                            \
    EACH_LOAD(kEightsD)                                                                                       \
      halves[p * kBoth + kOtherD + i / kEightsD * kPitchD + i % kEightsD] = plane(next_d[b], p, up(INDEX_D)); \
    EACH_LOAD(kEightsE)                                                                                       \
      halves[p * kBoth + kOtherE + i / kEightsE * kPitchE + i % kEightsE] = plane(next_e[b], p, up(INDEX_E)); \
  }

// ROWS rows of an operand from FIRST on, those of this subgroup to fragments, plane by plane.
#define LOAD_OWN(X, INDEX, OWN, FIRST, FRAGMENTS, EIGHTS)                                                     \
  ALL(p, PLANES) {                                                                                            \
    barrier();                                                                                                \
    for (uint i = thread; i < ROWS * EIGHTS; i += kThreads)                                                   \
      halves[i / EIGHTS * (EIGHTS + 1) + i % EIGHTS] =                                                        \
          plane(eight_of(OWN, (FIRST) + i / EIGHTS, i % EIGHTS), p, up(INDEX));                               \
    barrier();                                                                                                \
    ALL(r, kRows) ALL(k, FRAGMENTS)                                                                           \
      LOAD_ROWS(X[(p * kRows + r) * FRAGMENTS + k], (own_row + r * M) * (EIGHTS + 1) + k * K / 8, EIGHTS + 1) \
  }

// Own rows of a result.
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Result { RESULT_TYPE at[]; };
#define STORE_ROWS(TO, FIRST, SUM, FRAGMENTS)                                              \
  {                                                                                        \
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> to =                        \
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);                  \
    to = setTensorLayoutDimensionNV(to, TO.count, TO.size);                                \
    to = setTensorLayoutStrideNV(to, TO.step / 8 * 8, 1);                                  \
    ALL(r, kRows) ALL(n, FRAGMENTS) {                                                      \
      const STORED x = STORED(SUM[r * FRAGMENTS + n]);                                     \
      coopMatStoreTensorNV(x, Result(TO.from).at, 0,                                       \
                           sliceTensorLayoutNV(to, FIRST + own_row + r * M, M, n * N, N)); \
    }                                                                                      \
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
  if (col == 0) put_log(first + row, high, total * kLower);
  return high;
}
float larger(const in float a, const in float b) { return max(a, b); }
float plus(const in float a, const in float b) { return a + b; }

void attend(uint first) {
  const uint before = keys_before();
  const Rows query = matrix(0, 0, head, queries, D), key = matrix(1, 1, head / serves, keys, D),
             value = matrix(2, 2, head / serves, keys, E), result = matrix(3, 3, head, queries, E);
  enter_head();
  LEFT q[PLANES * kRows * kD];
  LOAD_OWN(q, 0, query, first, kD, kEightsD)
  SUMS sum[kRows * kE], high[kRows], total[kRows];
  ALL(i, kRows * kE) sum[i] = SUMS(0.0);
  ALL(r, kRows) {
    high[r] = SUMS(kNothing);
    total[r] = SUMS(0.0);
  }
  const uint end = causal ? min(keys, before + first + ROWS) : keys;
  if (kAhead) FETCH(key, value, 0)
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    if (!kAhead) FETCH(key, value, k0)
    KEEP_TILE(1, 2)
    draw(first, k0);
    barrier();
    if (kAhead && k0 + COLS < end) FETCH(key, value, k0 + COLS)
    SUMS s[kCols * kRows];
    ALL(c, kCols) PRODUCT(s, c * kRows, q, kOtherD, c * N, kD, kPitchD)
    float by = scale * kLog2E;  // from s to scores in powers of two
    if (by < 0 || !is_plain(first + own_row, kOwn, k0, COLS, before)) {
      ALL(c, kCols) ALL(r, kRows)
        coopMatPerElementNV(s[c * kRows + r], s[c * kRows + r], score_at, first + own_row + r * M, k0 + c * N, before);
      by = 1;
    }
    SUMS factor[kRows];
    ALL(r, kRows) {
      SUMS most = s[r];
      [[unroll]] for (uint c = 1; c < kCols; ++c) EACH(most) most[e] = max(most[e], s[c * kRows + r][e]);
      coopMatReduceNV(most, most, gl_CooperativeMatrixReduceRowNV, larger);
      EACH(most) {
        const float is = max(most[e] * by, high[r][e]);
        factor[r][e] = exp2(high[r][e] - is);
        high[r][e] = is;
        total[r][e] *= factor[r][e];
      }
      ALL(c, kCols) EACH(most) {
        const float weight = exp2(fma(s[c * kRows + r][e], by, kRaise - high[r][e]));
        total[r][e] += weight;  // not yet of the row
        s[c * kRows + r][e] = weight;
      }
    }
    LEFT weights[kCols * PLANES * kRows];
    ALL(c, kCols) ALL(r, kRows) {
      DROP(s[c * kRows + r], own_row + r * M, c * N, k0)
      TO_FACTOR(weights, c * PLANES * kRows + r, s[c * kRows + r])
    }
    ADD_TILE(sum, factor, weights, back(2), kOtherE, kE, kPitchE)
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
#define WEIGH(P, LOG, PLAIN, ROW0, COL0)                   \
  {                                                        \
    float by = scale * kLog2E;                             \
    if (!PLAIN) {                                          \
      coopMatPerElementNV(P, P, score_at, ROW0, COL0, 0u); \
      by = 1;                                              \
    }                                                      \
    EACH(P) P[e] = exp2(fma(P[e], by, kRaise - LOG[e]));   \
  }
// Products D of gradients and values, zero where they were dropped, to gradients of scores, less a factor.
#define SLOPE(D, P, DELTA) EACH(D) D[e] = slope(P[e], D[e] * (back(2) * back(3)), DELTA[e], true);

#ifdef KEYS
void attend(uint first) {
  const uint own = head, begin = causal ? first / COLS * COLS : 0;
  head = own * serves;
  enter_head();
  const Rows key = matrix(1, 1, own, keys, D), value = matrix(2, 2, own, keys, E);
  LEFT keys_own[PLANES * kRows * kD];
  LOAD_OWN(keys_own, 1, key, first, kD, kEightsD)
#ifdef TO_KEY
  LEFT values_own[PLANES * kRows * kE];
  LOAD_OWN(values_own, 2, value, first, kE, kEightsE)
  SUMS to_key[kRows * kD];
  ALL(i, kRows * kD) to_key[i] = SUMS(0.0);
#endif
#ifdef TO_VALUE
  SUMS to_value[kRows * kE];
  ALL(i, kRows * kE) to_value[i] = SUMS(0.0);
#endif
  for (; head < (own + 1) * serves; ++head) {
    enter_head();
    const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E);
    for (uint q0 = begin; q0 < queries; q0 += COLS) {
      barrier();
      FETCH(query, gradient, q0)
      KEEP_TILE(0, 3)
      load_queries(q0);
      draw(q0, first);
      barrier();
      const bool plain = is_plain(q0, COLS, first + own_row, kOwn, 0);
      ALL(c, kCols) {
        SUMS p[kRows], log;
        PRODUCT(p, 0, keys_own, kOtherD, c * N, kD, kPitchD)
        coopMatLoad(log, logs, c * N, 0, gl_CooperativeMatrixLayoutRowMajor);
        ALL(r, kRows) WEIGH(p[r], log, plain, first + own_row + r * M, q0 + c * N)
#ifdef TO_KEY
        SUMS d[kRows], delta;
        LEFT slopes[PLANES * kRows];
        PRODUCT(d, 0, values_own, kOtherE, c * N, kE, kPitchE)
        coopMatLoad(delta, deltas, c * N, 0, gl_CooperativeMatrixLayoutRowMajor);
        ALL(r, kRows) {
          DROP(d[r], own_row + r * M, c * N, first)
          SLOPE(d[r], p[r], delta)
        }
        float lower = 1;
        RAISE(d, lower)
        ALL(r, kRows) TO_FACTOR(slopes, r, d[r])
        ADD_WEIGHTED(to_key, slopes, lower * back(0), kOtherD, c * N, kD, kPitchD)
#endif
#ifdef TO_VALUE
        LEFT weights[PLANES * kRows];
        ALL(r, kRows) {
          DROP(p[r], own_row + r * M, c * N, first)
          TO_FACTOR(weights, r, p[r])
        }
        ADD_WEIGHTED(to_value, weights, back(3), kOtherE, c * N, kE, kPitchE)
#endif
      }
    }
  }
#ifdef TO_KEY
  ALL(i, kRows * kD) EACH(to_key[i]) to_key[i][e] = rounded(kLower * call_scale * to_key[i][e]);
  const Rows key_gradient = matrix(7, 5, own, keys, D);
  STORE_ROWS(key_gradient, first, to_key, kD)
#endif
#ifdef TO_VALUE
  ALL(i, kRows * kE) EACH(to_value[i]) to_value[i][e] = rounded(kLower * keep_scale * to_value[i][e]);
  const Rows value_gradient = matrix(8, 6, own, keys, E);
  STORE_ROWS(value_gradient, first, to_value, kE)
#endif
}
#else
void attend(uint first) {
  const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E),
             key = matrix(1, 1, head / serves, keys, D), value = matrix(2, 2, head / serves, keys, E),
             result = matrix(6, 4, head, queries, D);
  enter_head();
  LEFT q[PLANES * kRows * kD], g[PLANES * kRows * kE];
  LOAD_OWN(q, 0, query, first, kD, kEightsD)
  LOAD_OWN(g, 3, gradient, first, kE, kEightsE)
  load_queries(first);
  barrier();
  SUMS sum[kRows * kD], log[kRows], delta[kRows];
  ALL(i, kRows * kD) sum[i] = SUMS(0.0);
  ALL(r, kRows) {
    coopMatLoad(log[r], logs, own_row + r * M, 0, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(delta[r], deltas, own_row + r * M, 0, gl_CooperativeMatrixLayoutColumnMajor);
  }
  const uint end = causal ? min(keys, first + ROWS) : keys;
  if (kAhead) FETCH(key, value, 0)
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    barrier();
    if (!kAhead) FETCH(key, value, k0)
    KEEP_TILE(1, 2)
    draw(first, k0);
    barrier();
    if (kAhead && k0 + COLS < end) FETCH(key, value, k0 + COLS)
    const bool plain = is_plain(first + own_row, kOwn, k0, COLS, 0);
    ALL(c, kCols) {
      SUMS p[kRows], d[kRows];
      PRODUCT(p, 0, q, kOtherD, c * N, kD, kPitchD)
      PRODUCT(d, 0, g, kOtherE, c * N, kE, kPitchE)
      ALL(r, kRows) {
        WEIGH(p[r], log[r], plain, first + own_row + r * M, k0 + c * N)
        DROP(d[r], own_row + r * M, c * N, k0)
        SLOPE(d[r], p[r], delta[r])
      }
      float lower = 1;
      RAISE(d, lower)
      LEFT slopes[PLANES * kRows];
      ALL(r, kRows) TO_FACTOR(slopes, r, d[r])
      ADD_WEIGHTED(sum, slopes, lower * back(1), kOtherD, c * N, kD, kPitchD)
    }
  }
  ALL(i, kRows * kD) EACH(sum[i]) sum[i][e] = rounded(kLower * call_scale * sum[i][e]);
  STORE_ROWS(result, first, sum, kD)
}
#endif
#endif

#include "attention_grid.glsl"
