// How attention_cm2.glsl multiplies tensors of a half type: an element is one factor.
const uint PLANES = 1;
const bool kAhead = true;  // the next tile is fetched while one is worked on
shared uvec4 halves[max(kBoth, max(kOwnD, kOwnE))];

// Nothing is scaled.
const float kRaise = 0, kLower = 1;
float call_scale = scale;
void enter_head() {}
#define up(i) 1.0
#define back(i) 1.0
#define RAISE(X, LOWER)

// Eight elements of a row; zeros where there are none.
#define Eight uvec4
#define plane(x, p, power) (x)
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Elements8 { uvec4 at; };
Eight eight_of(Rows m, uint row, uint unit) {
  uvec4 x = uvec4(0);
  if (row < m.count && 8 * unit < m.size)
    x = Elements8(address_add(m.from, 2 * (Offset(row) * Offset(m.step) + 8 * unit))).at;
  return x;
}

// RESULT[AT + r] = own rows times the N rows of the other side that begin at COL, turned.
#define PRODUCT(RESULT, AT, OWN, OTHER, COL, FRAGMENTS, PITCH)                                                 \
  {                                                                                                            \
    ALL(r, kRows) RESULT[AT + r] = SUMS(0.0);                                                                  \
    ALL(k, FRAGMENTS) {                                                                                        \
      RIGHT b;                                                                                                 \
      LOAD_TURNED(b, OTHER + (COL) * PITCH + k * K / 8, PITCH)                                                 \
      ALL(r, kRows) RESULT[AT + r] = coopMatMulAdd(OWN[r * FRAGMENTS + k], b, RESULT[AT + r]);                 \
    }                                                                                                          \
  }
// SUM += weights, of K columns from COL on, times those rows of the other side.
#define ADD_WEIGHTED(SUM, WEIGHTS, BACK, OTHER, COL, FRAGMENTS, PITCH)                                    \
  ALL(n, FRAGMENTS) {                                                                                     \
    RIGHT b;                                                                                              \
    LOAD_ROWS(b, OTHER + (COL) * PITCH + n * N / 8, PITCH)                                                \
    ALL(r, kRows) SUM[r * FRAGMENTS + n] = coopMatMulAdd(WEIGHTS[r], b, SUM[r * FRAGMENTS + n]);          \
  }
// SUM = SUM times FACTOR, plus weights, of all columns of a tile, times those rows of the other side.
#define ADD_TILE(SUM, FACTOR, WEIGHTS, BACK, OTHER, FRAGMENTS, PITCH)                                               \
  {                                                                                                                 \
    ALL(r, kRows) ALL(n, FRAGMENTS) EACH(FACTOR[r]) SUM[r * FRAGMENTS + n][e] *= FACTOR[r][e];                      \
    ALL(c, kCols) ALL(n, FRAGMENTS) {                                                                               \
      RIGHT b;                                                                                                      \
      LOAD_ROWS(b, OTHER + c * N * PITCH + n * N / 8, PITCH)                                                        \
      ALL(r, kRows) SUM[r * FRAGMENTS + n] = coopMatMulAdd(WEIGHTS[c * kRows + r], b, SUM[r * FRAGMENTS + n]);      \
    }                                                                                                               \
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
#define TO_FACTOR(FACTORS, R, X)               \
  {                                            \
    EACH(X) X[e] = rounded_factor(X[e]);       \
    FACTORS[R] = LEFT(X);                      \
  }

// No unit adds up in bfloat16, so no matrix of sums may be of it: as a left factor it may.
#define RESULT_TYPE MATRIX
#ifdef SG_BFLOAT16
#define STORED LEFT
#else
#define STORED coopmat<MATRIX, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#endif
