// How attention_cm2.glsl multiplies float32: a number is the sum of two halves, and a product is three products of those,
// because the fourth is below the digits of float32. A power of two of its own (attention_powers.glsl) brings each matrix
// of a head into the range of halves.
const uint PLANES = 2;
const bool kAhead = PADDED_D + PADDED_E <= 128;  // the next tile is fetched while one is worked on: registers are left
shared uvec4 halves[max(2 * kBoth, max(kOwnD, kOwnE))];

// Weights are at most one: they are raised, so that small ones keep their digits, and their sums are lowered at the end.
const float kRaise = 14, kLower = 1.0 / 16384;
float call_scale = scale;

int powers[MATRICES];  // of this head
float power_of_two(int exponent) { return uintBitsToFloat(uint(exponent + 127) << 23); }
// To the range of halves and back, of a matrix of this head: 0 query, 1 key, 2 value, 3 gradient.
float up(uint i) { return power_of_two(powers[i]); }
float back(uint i) { return power_of_two(-powers[i]); }
void enter_head() {
  ALL(i, MATRICES) powers[i] = int(power_of(i));
  scale = call_scale * back(0) * back(1);
}

// Eight numbers of a row; zeros where there are none.
struct Eight {
  vec4 low, high;
};
Eight eight_of(Rows m, uint row, uint unit) {
  Eight x = Eight(vec4(0), vec4(0));
  if (row < m.count && 8 * unit < m.size) x = Eight(four_of(m, row, 2 * unit), four_of(m, row, 2 * unit + 1));
  return x;
}
// The first eleven digits of a number, which a half has (Dekker 1971); a second half takes the others. Conversions to
// halves and back are no way: compilers leave them out.
#define HIGH(TYPE, NAME, X)                              \
  precise const TYPE NAME##_wide = (X) * 8193.0;         \
  precise const TYPE NAME##_rest = NAME##_wide - (X);    \
  precise const TYPE NAME = NAME##_wide - NAME##_rest;

uvec2 four_halves(vec4 x, uint p) {
  HIGH(vec4, high, x)
  const f16vec4 h = f16vec4(p == 0 ? high : x - high);
  return uvec2(packFloat2x16(h.xy), packFloat2x16(h.zw));
}
uvec4 plane(Eight x, uint p, float power) {
  return uvec4(four_halves(x.low * power, p), four_halves(x.high * power, p));
}

// RESULT[AT + r] = own rows times the N rows of the other side that begin at COL, turned. Units cut off digits when they
// add, so the small products have sums of their own.
#define PRODUCT(RESULT, AT, OWN, OTHER, COL, FRAGMENTS, PITCH)                                   \
  {                                                                                              \
    SUMS small[kRows];                                                                           \
    ALL(r, kRows) RESULT[AT + r] = small[r] = SUMS(0.0);                                         \
    ALL(k, FRAGMENTS) {                                                                          \
      RIGHT b, rest;                                                                             \
      LOAD_TURNED(b, OTHER + (COL) * PITCH + k * K / 8, PITCH)                                   \
      LOAD_TURNED(rest, kBoth + OTHER + (COL) * PITCH + k * K / 8, PITCH)                        \
      ALL(r, kRows) {                                                                            \
        small[r] = coopMatMulAdd(OWN[(kRows + r) * FRAGMENTS + k], b, small[r]);                 \
        RESULT[AT + r] = coopMatMulAdd(OWN[r * FRAGMENTS + k], b, RESULT[AT + r]);               \
        small[r] = coopMatMulAdd(OWN[r * FRAGMENTS + k], rest, small[r]);                        \
      }                                                                                          \
    }                                                                                            \
    ALL(r, kRows) RESULT[AT + r] += small[r];                                                    \
  }
// SUM += weights, of K columns from COL on, times those rows of the other side, times BACK.
#define ADD_WEIGHTED(SUM, WEIGHTS, BACK, OTHER, COL, FRAGMENTS, PITCH)                           \
  ALL(n, FRAGMENTS) {                                                                            \
    RIGHT b, rest;                                                                               \
    LOAD_ROWS(b, OTHER + (COL) * PITCH + n * N / 8, PITCH)                                       \
    LOAD_ROWS(rest, kBoth + OTHER + (COL) * PITCH + n * N / 8, PITCH)                            \
    ALL(r, kRows) {                                                                              \
      SUMS part = coopMatMulAdd(WEIGHTS[kRows + r], b, SUMS(0.0));                               \
      part = coopMatMulAdd(WEIGHTS[r], rest, part);                                              \
      part = coopMatMulAdd(WEIGHTS[r], b, part);                                                 \
      EACH(part) SUM[r * FRAGMENTS + n][e] = fma(part[e], BACK, SUM[r * FRAGMENTS + n][e]);      \
    }                                                                                            \
  }

// SUM = SUM times FACTOR, plus weights, of all columns of a tile, times those rows of the other side, times BACK.
#define ADD_TILE(SUM, FACTOR, WEIGHTS, BACK, OTHER, FRAGMENTS, PITCH)                                           \
  ALL(n, FRAGMENTS) {                                                                                           \
    SUMS part[kRows];                                                                                           \
    ALL(r, kRows) part[r] = SUMS(0.0);                                                                          \
    ALL(c, kCols) {                                                                                             \
      RIGHT b, rest;                                                                                            \
      LOAD_ROWS(b, OTHER + c * N * PITCH + n * N / 8, PITCH)                                                    \
      LOAD_ROWS(rest, kBoth + OTHER + c * N * PITCH + n * N / 8, PITCH)                                         \
      ALL(r, kRows) {                                                                                           \
        part[r] = coopMatMulAdd(WEIGHTS[(2 * c + 1) * kRows + r], b, part[r]);                                  \
        part[r] = coopMatMulAdd(WEIGHTS[2 * c * kRows + r], rest, part[r]);                                     \
        part[r] = coopMatMulAdd(WEIGHTS[2 * c * kRows + r], b, part[r]);                                        \
      }                                                                                                         \
    }                                                                                                           \
    ALL(r, kRows) EACH(part[r])                                                                                 \
      SUM[r * FRAGMENTS + n][e] = fma(SUM[r * FRAGMENTS + n][e], FACTOR[r][e], part[r][e] * BACK);              \
  }

// X times a power of two that brings its largest number to 2^14 or more; LOWER is the power that undoes it.
#define RAISE(X, LOWER)                                                                                   \
  {                                                                                                       \
    uint most = 0;                                                                                        \
    ALL(r, kRows) EACH(X[r]) most = max(most, floatBitsToUint(X[r][e]) & 0x7fffffffu);                    \
    const uint exponent = max(subgroupMax(most) >> 23, 15u);                                              \
    LOWER = uintBitsToFloat((exponent - 14) << 23);                                                       \
    ALL(r, kRows) EACH(X[r]) X[r][e] *= uintBitsToFloat((268 - exponent) << 23);                          \
  }
#define TO_FACTOR(FACTORS, R, X)                                        \
  {                                                                     \
    SUMS first;                                                         \
    EACH(X) {                                                           \
      HIGH(float, high, X[e])                                           \
      first[e] = high;                                                  \
      X[e] -= high;                                                     \
    }                                                                   \
    FACTORS[R] = LEFT(first);                                           \
    FACTORS[kRows + R] = LEFT(X);                                       \
  }

#define RESULT_TYPE float
#define STORED SUMS
float rounded(float x) { return x; }
