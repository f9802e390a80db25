// Attention of half types by VK_NV_cooperative_matrix2, sums and softmax in float32: attention.glsl on matrix units.
// Included behind what it defines: MATRIX (the type of an element), THREADS, ROWS and COLS (of the weights that a workgroup
// makes at a time), D and E, PADDED_D and PADDED_E (those as multiples of what the units take), a phase, and options.
// The driver moves tiles from memory to the matrix units; elements beyond an edge are zero when they are loaded, and are
// not stored. Weights become an operand again without passing through memory.
layout(local_size_x = THREADS) in;

const uint kThreads = THREADS;
uint thread = gl_LocalInvocationIndex;
#include "attention_common.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Factors { MATRIX at[]; };

#define SUMS(rows, cols) coopmat<float, gl_ScopeWorkgroup, rows, cols, gl_MatrixUseAccumulator>
#define LEFT(rows, cols) coopmat<MATRIX, gl_ScopeWorkgroup, rows, cols, gl_MatrixUseA>
#define RIGHT(rows, cols) coopmat<MATRIX, gl_ScopeWorkgroup, rows, cols, gl_MatrixUseB>
#define BY_ROW gl_CooperativeMatrixReduceRowNV

#define LAYOUT(NAME, MODE, M)                                      \
  tensorLayoutNV<2, MODE> NAME = createTensorLayoutNV(2, MODE);    \
  NAME = setTensorLayoutDimensionNV(NAME, M.count, M.size);        \
  NAME = setTensorLayoutStrideNV(NAME, M.step / 8 * 8, 1);
#define WHOLE gl_CooperativeMatrixClampModeUndefinedNV
#define CLAMPED gl_CooperativeMatrixClampModeConstantNV
#define ROWS_BY(MODE, X, M, ROW, COUNT, SIZE)                                                                  \
  {                                                                                                            \
    LAYOUT(of_m, MODE, M)                                                                                      \
    coopMatLoadTensorNV(X, Factors(M.from).at, 0, sliceTensorLayoutNV(of_m, ROW, COUNT, 0, SIZE));             \
  }
#define COLUMNS_BY(MODE, X, M, ROW, COUNT, SIZE)                                                               \
  {                                                                                                            \
    LAYOUT(of_m, MODE, M)                                                                                      \
    coopMatLoadTensorNV(X, Factors(M.from).at, 0, sliceTensorLayoutNV(of_m, ROW, COUNT, 0, SIZE), turned);     \
  }
// COUNT rows from ROW on, as rows or as columns.
#define LOAD_ROWS(X, M, ROW, COUNT, SIZE)                \
  if (SIZE == M.size && ROW + COUNT <= M.count)          \
    ROWS_BY(WHOLE, X, M, ROW, COUNT, SIZE)               \
  else                                                   \
    ROWS_BY(CLAMPED, X, M, ROW, COUNT, SIZE)
#define LOAD_TURNED(X, M, ROW, COUNT, SIZE)              \
  if (SIZE == M.size && ROW + COUNT <= M.count)          \
    COLUMNS_BY(WHOLE, X, M, ROW, COUNT, SIZE)            \
  else                                                   \
    COLUMNS_BY(CLAMPED, X, M, ROW, COUNT, SIZE)

// No unit adds up in bfloat16, so no matrix of sums may be of it: as a left factor it may.
#ifdef SG_BFLOAT16
#define STORED_ROWS(COUNT, SIZE) LEFT(COUNT, SIZE)
#else
#define STORED_ROWS(COUNT, SIZE) coopmat<MATRIX, gl_ScopeWorkgroup, COUNT, SIZE, gl_MatrixUseAccumulator>
#endif
#define STORE_ROWS(M, ROW, COUNT, SIZE, X)                                                                        \
  {                                                                                                               \
    LAYOUT(of_m, CLAMPED, M)                                                      \
    const STORED_ROWS(COUNT, SIZE) halves = STORED_ROWS(COUNT, SIZE)(X);                                          \
    coopMatStoreTensorNV(halves, Factors(M.from).at, 0, sliceTensorLayoutNV(of_m, ROW, COUNT, 0, SIZE));          \
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

#ifdef FORWARD
float score_at(const in uint row, const in uint col, const in float x, const in uint query0, const in uint key0,
               const in uint before) {
  return score(x, query0 + row, key0 + col, before);
}
float weight_at(const in uint row, const in uint col, const in float s, const in float high, const in float by) {
  return rounded_factor(exp2(fma(s, by, -high)));
}
float kept_at(const in uint row, const in uint col, const in float weight, const in uint key0) {
  return is_kept(row, col, key0) ? weight : 0;
}
float larger_at(const in uint row, const in uint col, const in float s, const in float high, const in float by) {
  return max(s * by, high);
}
float power_at(const in uint row, const in uint col, const in float was, const in float is) { return exp2(was - is); }
float quotient_at(const in uint row, const in uint col, const in float sum, const in float total) {
  return total == 0 ? 0 : rounded(sum * (keep_scale / total));
}
float log_at(const in uint row, const in uint col, const in float high, const in float total, const in uint first) {
  if (col == 0) put_log(first + row, high, total);
  return high;
}
float larger(const in float a, const in float b) { return max(a, b); }
float plus(const in float a, const in float b) { return a + b; }
float first_of(const in float a, const in float b) { return a; }

// A value of each row, in as many columns as results have.
#if COLS == PADDED_E
#define WIDEN(TO, FROM) TO = FROM;
#else
#define WIDEN(TO, FROM) coopMatReduceNV(TO, FROM, BY_ROW, first_of);
#endif

void attend(uint first) {
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
  const uint before = keys_before();
  const Rows query = matrix(0, 0, head, queries, D), key = matrix(1, 1, head / serves, keys, D),
             value = matrix(2, 2, head / serves, keys, E), result = matrix(3, 3, head, queries, E);
  LEFT(ROWS, PADDED_D) q;
  LOAD_ROWS(q, query, first, ROWS, PADDED_D)
  SUMS(ROWS, PADDED_E) sum = SUMS(ROWS, PADDED_E)(0.0), wide;
  SUMS(ROWS, COLS) high = SUMS(ROWS, COLS)(kNothing), total = SUMS(ROWS, COLS)(0.0);
  const uint end = causal ? min(keys, before + first + ROWS) : keys;
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    RIGHT(PADDED_D, COLS) k;
    LOAD_TURNED(k, key, k0, COLS, PADDED_D)
    SUMS(ROWS, COLS) s = coopMatMulAdd(q, k, SUMS(ROWS, COLS)(0.0));
    float by = scale * kLog2E;  // from s to scores in powers of two
    if (by < 0 || !is_plain(first, ROWS, k0, COLS, before)) {
      coopMatPerElementNV(s, s, score_at, first, k0, before);
      by = 1;
    }
    SUMS(ROWS, COLS) most, factor;
    coopMatReduceNV(most, s, BY_ROW, larger);
    coopMatPerElementNV(most, most, larger_at, high, by);
    coopMatPerElementNV(factor, high, power_at, most);
    high = most;
    coopMatPerElementNV(s, s, weight_at, high, by);
    total = total * factor + s;  // not yet of the row
    WIDEN(wide, factor)
    sum = sum * wide;
#ifdef DROPOUT_AT
    barrier();
    draw(first, k0);
    barrier();
    coopMatPerElementNV(s, s, kept_at, k0);
#endif
    RIGHT(COLS, PADDED_E) v;
    LOAD_ROWS(v, value, k0, COLS, PADDED_E)
    sum = coopMatMulAdd(LEFT(ROWS, COLS)(s), v, sum);
  }
  coopMatReduceNV(total, total, BY_ROW, plus);
  coopMatPerElementNV(high, high, log_at, total, first);
  WIDEN(wide, total)
  coopMatPerElementNV(sum, sum, quotient_at, wide);
  STORE_ROWS(result, first, ROWS, PADDED_E, sum)
}
#else

#ifdef KEYS
#define QUERY col
#define KEY row
const uint kQueries = COLS;
#else
#define QUERY row
#define KEY col
const uint kQueries = ROWS;
#endif
shared vec2 of[kQueries];  // of the queries of a tile

void load_queries(uint first) {
  for (uint i = thread; i < kQueries; i += kThreads) of[i] = of_query(first + i);
}

// Weights of a tile from products, and the gradients of scores, less a factor, from weights and products.
float weight_at(const in uint row, const in uint col, const in float x, const in uint query0, const in uint key0) {
  return exp2(score(x, query0 + QUERY, key0 + KEY, 0) - of[QUERY].x);
}
float plain_weight_at(const in uint row, const in uint col, const in float x) {
  return exp2(fma(x, scale * kLog2E, -of[QUERY].x));
}
float kept_at(const in uint row, const in uint col, const in float weight, const in uint key0) {
  return rounded_factor(is_kept(QUERY, KEY, key0) ? weight : 0);
}
float slope_at(const in uint row, const in uint col, const in float product, const in float weight, const in uint key0) {
  return rounded_factor(slope(weight, product, of[QUERY].y, is_kept(QUERY, KEY, key0)));
}
float scaled_at(const in uint row, const in uint col, const in float x, const in float by) { return rounded(x * by); }

#ifdef KEYS
void attend(uint first) {
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
  const uint own = head, begin = causal ? first / COLS * COLS : 0;
  const Rows key = matrix(1, 1, own, keys, D), value = matrix(2, 2, own, keys, E);
  LEFT(ROWS, PADDED_D) k;
  LEFT(ROWS, PADDED_E) v;
  LOAD_ROWS(k, key, first, ROWS, PADDED_D)
  LOAD_ROWS(v, value, first, ROWS, PADDED_E)
  SUMS(ROWS, PADDED_D) to_key = SUMS(ROWS, PADDED_D)(0.0);
  SUMS(ROWS, PADDED_E) to_value = SUMS(ROWS, PADDED_E)(0.0);
  for (head = own * serves; head < (own + 1) * serves; ++head) {
    const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E);
    for (uint q0 = begin; q0 < queries; q0 += COLS) {
      barrier();
      load_queries(q0);
      draw(q0, first);
      barrier();
      RIGHT(PADDED_D, COLS) q;
      LOAD_TURNED(q, query, q0, COLS, PADDED_D)
      SUMS(ROWS, COLS) p = coopMatMulAdd(k, q, SUMS(ROWS, COLS)(0.0)), kept;
      if (is_plain(q0, COLS, first, ROWS, 0))
        coopMatPerElementNV(p, p, plain_weight_at);
      else
        coopMatPerElementNV(p, p, weight_at, q0, first);
      coopMatPerElementNV(kept, p, kept_at, first);
      RIGHT(COLS, PADDED_E) g;
      LOAD_ROWS(g, gradient, q0, COLS, PADDED_E)
      to_value = coopMatMulAdd(LEFT(ROWS, COLS)(kept), g, to_value);
      RIGHT(PADDED_E, COLS) g_turned;
      LOAD_TURNED(g_turned, gradient, q0, COLS, PADDED_E)
      SUMS(ROWS, COLS) d = coopMatMulAdd(v, g_turned, SUMS(ROWS, COLS)(0.0));
      coopMatPerElementNV(d, d, slope_at, p, first);
      RIGHT(COLS, PADDED_D) q_rows;
      LOAD_ROWS(q_rows, query, q0, COLS, PADDED_D)
      to_key = coopMatMulAdd(LEFT(ROWS, COLS)(d), q_rows, to_key);
    }
  }
  coopMatPerElementNV(to_key, to_key, scaled_at, scale);
  coopMatPerElementNV(to_value, to_value, scaled_at, keep_scale);
  const Rows key_gradient = matrix(7, 5, own, keys, D), value_gradient = matrix(8, 6, own, keys, E);
  if ((word(6) & 4) != 0) STORE_ROWS(key_gradient, first, ROWS, PADDED_D, to_key)
  if ((word(6) & 8) != 0) STORE_ROWS(value_gradient, first, ROWS, PADDED_E, to_value)
}
#else
void attend(uint first) {
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
  const Rows query = matrix(0, 0, head, queries, D), gradient = matrix(3, 3, head, queries, E),
             key = matrix(1, 1, head / serves, keys, D), value = matrix(2, 2, head / serves, keys, E),
             result = matrix(6, 4, head, queries, D);
  LEFT(ROWS, PADDED_D) q;
  LEFT(ROWS, PADDED_E) g;
  LOAD_ROWS(q, query, first, ROWS, PADDED_D)
  LOAD_ROWS(g, gradient, first, ROWS, PADDED_E)
  SUMS(ROWS, PADDED_D) sum = SUMS(ROWS, PADDED_D)(0.0);
  load_queries(first);
  barrier();
  const uint end = causal ? min(keys, first + ROWS) : keys;
  for (uint k0 = 0; k0 < end; k0 += COLS) {
#ifdef DROPOUT_AT
    barrier();
    draw(first, k0);
    barrier();
#endif
    RIGHT(PADDED_D, COLS) k;
    LOAD_TURNED(k, key, k0, COLS, PADDED_D)
    SUMS(ROWS, COLS) p = coopMatMulAdd(q, k, SUMS(ROWS, COLS)(0.0));
    if (is_plain(first, ROWS, k0, COLS, 0))
      coopMatPerElementNV(p, p, plain_weight_at);
    else
      coopMatPerElementNV(p, p, weight_at, first, k0);
    RIGHT(PADDED_E, COLS) v;
    LOAD_TURNED(v, value, k0, COLS, PADDED_E)
    SUMS(ROWS, COLS) d = coopMatMulAdd(g, v, SUMS(ROWS, COLS)(0.0));
    coopMatPerElementNV(d, d, slope_at, p, k0);
    RIGHT(COLS, PADDED_D) k_rows;
    LOAD_ROWS(k_rows, key, k0, COLS, PADDED_D)
    sum = coopMatMulAdd(LEFT(ROWS, COLS)(d), k_rows, sum);
  }
  coopMatPerElementNV(sum, sum, scaled_at, scale);
  STORE_ROWS(result, first, ROWS, PADDED_D, sum)
}
#endif
#endif

#include "attention_grid.glsl"
