// Machine functions on the GPU: the overloads `alu_NAME` for the rows of cpp/math/alu.def that have no infix operator,
// and `alu_cast_DTYPE` for `cast`. The C++ twin is cpp/math/alu.hpp: same formulas, same order of operations,
// `precise`, so that both give the same bits (docs/numerics.md has the bounds).
// Text to be included, after the including shader has enabled GL_EXT_shader_explicit_arithmetic_types_int64. Double
// precision comes with SG_FLOAT64 defined.
// GLSL's own exp, log, tanh, sin, cos, pow, min, max and isnan are not used: they are loose or may drop NaN. Single
// precision division and square root correct the built-in ones, which may be loose; double precision takes them as
// they are.
// `check_index` is not here: it reports to the status block, so common.glsl defines it.

bool alu_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
// A constant that no compiler takes for undefined.
float alu_make_nan() { return uintBitsToFloat(0x7fc00000u); }
float alu_infinity() { return uintBitsToFloat(0x7f800000u); }

float alu_abs(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0x7fffffffu); }
int alu_abs(int a) { return a < 0 ? -a : a; }
int64 alu_abs(int64 a) { return a < 0 ? -a : a; }
bool alu_abs(bool a) { return a; }

float alu_maximum(float a, float b) { return a >= b || alu_nan(a) ? a : b; }
int alu_maximum(int a, int b) { return a < b ? b : a; }
int64 alu_maximum(int64 a, int64 b) { return a < b ? b : a; }
bool alu_maximum(bool a, bool b) { return a || b; }
float alu_minimum(float a, float b) { return a <= b || alu_nan(a) ? a : b; }
int alu_minimum(int a, int b) { return b < a ? b : a; }
int64 alu_minimum(int64 a, int64 b) { return b < a ? b : a; }
bool alu_minimum(bool a, bool b) { return a && b; }

float alu_select(bool c, float a, float b) { return c ? a : b; }
int alu_select(bool c, int a, int b) { return c ? a : b; }
int64 alu_select(bool c, int64 a, int64 b) { return c ? a : b; }
bool alu_select(bool c, bool a, bool b) { return c ? a : b; }

// Float to integer truncates; NaN and what does not fit give the smallest integer. Integers wrap around.
bool alu_cast_boolean(bool x) { return x; }
bool alu_cast_boolean(int x) { return x != 0; }
bool alu_cast_boolean(int64 x) { return x != 0; }
bool alu_cast_boolean(float x) { return (floatBitsToUint(x) & 0x7fffffffu) != 0u; }
int alu_cast_int32(bool x) { return x ? 1 : 0; }
int alu_cast_int32(int x) { return x; }
int alu_cast_int32(int64 x) { return int(x); }
int alu_cast_int32(float x) {
  bool fits = x >= -2147483648.0 && x < 2147483648.0;
  return fits ? int(fits ? x : 0.0) : int(0x80000000u);
}
int64 alu_cast_int64(bool x) { return x ? int64(1) : int64(0); }
int64 alu_cast_int64(int x) { return int64(x); }
int64 alu_cast_int64(int64 x) { return x; }
int64 alu_cast_int64(float x) {
  bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
  return fits ? int64(fits ? x : 0.0) : (int64(1) << 63);
}
float alu_cast_float32(bool x) { return x ? 1.0 : 0.0; }
float alu_cast_float32(int x) { return float(x); }
float alu_cast_float32(int64 x) { return float(x); }
float alu_cast_float32(float x) { return x; }

// The bits of a positive finite x as m * 2^e, with m in [1, 2).
void alu_normalize(uint b, out float m, out int e) {
  bool denormal = b < 0x00800000u;
  uint v = denormal ? floatBitsToUint(float(int(b))) : b;
  e = int(v >> 23) - (denormal ? 276 : 127);
  m = uintBitsToFloat((v & 0x007fffffu) | 0x3f800000u);
}
// y * 2^n in two steps: the first is exact, the second rounds once where the result is denormal or infinite.
float alu_scale(float y, int n) {
  int h = n >> 1;
  precise float once = y * intBitsToFloat((h + 127) << 23);
  precise float twice = once * intBitsToFloat((n - h + 127) << 23);
  return twice;
}
// The 24 bits of a float in [1, 2) as an integer.
uint alu_significand(float m) { return (floatBitsToUint(m) & 0x007fffffu) | 0x00800000u; }
// a / b for a and b in [1, 2), correctly rounded. Vulkan allows the built-in division 2.5 units in the last place; the
// remainder is exact in integers modulo 2^32 (fma need not be fused) and corrects the quotient twice.
float alu_quotient(float a, float b) {
  uint ia = alu_significand(a), ib = alu_significand(b);
  precise float inverse = 1.0 / b, q = a * inverse;
  precise float rest = float(int((ia << 24) - uint(q * 16777216.0) * ib)) * 7.10542736e-15;
  precise float better = q + rest * inverse;
  uint quotient = uint(better * 16777216.0);
  int unit = ia < ib ? 1 : 2, left = 2 * int((ia << 24) - quotient * ib), limit = unit * int(ib);
  int nudge = left > limit ? unit : (left < -limit ? -unit : 0);
  return float(int(quotient) + nudge) * 5.96046448e-8;
}
float alu_div_exact(float a, float b) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu, ub = floatBitsToUint(b) & 0x7fffffffu;
  float ma, mb;
  int ea, eb;
  alu_normalize(ua, ma, ea);
  alu_normalize(ub, mb, eb);
  uint q = floatBitsToUint(alu_scale(alu_quotient(ma, mb), clamp(ea - eb, -160, 160)));
  bool infinite_a = ua >= 0x7f800000u, infinite_b = ub >= 0x7f800000u;
  q = ua == 0u || infinite_b ? 0u : (ub == 0u || infinite_a ? 0x7f800000u : q);
  bool nan = ua > 0x7f800000u || ub > 0x7f800000u || (ua == 0u && ub == 0u) || (infinite_a && infinite_b);
  return nan ? alu_make_nan() : uintBitsToFloat(q | ((floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u));
}
// a / b where neither 1 / b nor the remainder leaves the normal range; an exact zero may lose its sign. Where fma is
// fused: a reciprocal with one correction and a quotient with one, which is the correctly rounded quotient (Markstein,
// "Computation of elementary functions on the IBM RISC System/6000", 1990). Elsewhere the built-in division, which
// software devices round correctly.
float alu_div_inside(float a, float b) {
#ifdef SG_FUSED_FMA
  precise float near = 1.0 / b;
  precise float slack = fma(-b, near, 1.0);
  precise float inverse = fma(near, slack, near);
  precise float q = a * inverse;
  precise float rest = fma(-q, b, a);
  precise float better = fma(rest, inverse, q);
  return better;
#else
  precise float q = a / b;
  return q;
#endif
}
// Division as people write it: divisors near the ends of the range are brought inside. alu_div_exact does not depend on
// fma, and is slower.
float alu_div(float a, float b) {
#ifdef SG_FUSED_FMA
  float size = alu_abs(b);
  float scale = size >= 4.2535296e37 ? 0.25 : (size < 7.8886091e-31 ? 16777216.0 : 1.0);
  precise float x = a * scale, y = b * scale;
  float q = alu_div_inside(x, y);
  precise float rough = x * (1.0 / y);  // has the signs of zeros, infinities, and NaN
  return q != 0.0 && alu_abs(q) < alu_infinity() ? q : rough;
#else
  return alu_div_inside(a, b);
#endif
}
float alu_sqrt(float a) {
  uint b = floatBitsToUint(a);
  float m;
  int e;
  alu_normalize(b & 0x7fffffffu, m, e);
  precise float x = (e & 1) != 0 ? m * 2.0 : m;
  precise float r = sqrt(x), slope = 0.5 / r;
  uint ix = uint(x * 8388608.0) << 23, root = uint(r * 8388608.0);
  precise float rest = float(int(ix - root * root)) * 1.42108547e-14;
  precise float better = r + rest * slope;
  root = uint(better * 8388608.0);
  int left = int(ix - root * root);
  int nudge = left > int(root) ? 1 : (left <= -int(root) ? -1 : 0);
  precise float y = alu_scale(float(int(root) + nudge) * 1.1920929e-7, e >> 1);
  bool same = (b << 1) == 0u || b == 0x7f800000u;
  return same ? a : (b > 0x7f800000u ? alu_make_nan() : y);
}
float alu_head(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

// x = m * 2^e for the bits of a positive finite x, with m in [sqrt(1/2), sqrt(2)).
void alu_split(uint b, out float m, out float e) {
  bool denormal = b < 0x00800000u;
  uint v = denormal ? floatBitsToUint(float(int(b & 0x007fffffu))) : b;
  uint shifted = (v - 0x3f3504f3u + 0x80000000u) >> 23;
  e = float(int(shifted) - 256 - (denormal ? 149 : 0));
  m = uintBitsToFloat(v - (shifted << 23) + 0x80000000u);
}

// x = n ln2 + r: gives r. Adding 1.5 * 2^23 rounds to the nearest even integer and leaves that in the low bits: cheaper
// on GPUs than roundEven and a conversion, and the same numbers.
float alu_exp_reduce(float x, out int n) {
  precise float scaled = x * 1.44269502;
  precise float shifted = scaled + 12582912.0;
  precise float whole = shifted - 12582912.0;
  precise float r = (x - whole * 0.693145752) - whole * 1.42860676e-6;
  n = floatBitsToInt(shifted) - 0x4b400000;
  return r;
}
// (e^r - 1 - r) / r^2 for |r| up to ln2/2.
float alu_exp_tail(float r) {
  precise float p = 8.36319476e-3 + r * 1.39262038e-3;
  p = 1.66665763e-1 + r * (4.16665561e-2 + r * p);
  p = 0.5 + r * p;
  return p;
}
float alu_exp(float x) {
  int n;
  float r = alu_exp_reduce(min(max(x, -104.0), 89.0), n);  // a NaN is put back below
  precise float y = 1.0 + (r + r * r * alu_exp_tail(r));
  return alu_nan(x) ? x : alu_scale(y, n);
}

float alu_log(float x) {
  uint b = floatBitsToUint(x);
  float m, e;
  alu_split(b, m, e);
  precise float f = m - 1.0;
  precise float half_square = 0.5 * (f * f);
  precise float p = -1.14814773e-1 + f * 6.97307065e-2;
  p = -1.24254867e-1 + f * (1.16857193e-1 + f * p);
  p = -1.66678086e-1 + f * (1.42490089e-1 + f * p);
  p = -2.4999997e-1 + f * (2.0000717e-1 + f * p);
  p = 3.33333313e-1 + f * p;
  precise float tail = f * (f * f) * p;
  precise float y = (f + ((tail + e * 1.42860676e-6) - half_square)) + e * 0.693145752;
  float special = b == 0x7f800000u || alu_nan(x) ? x : alu_make_nan();
  return (b & 0x7fffffffu) == 0u ? uintBitsToFloat(0xff800000u) : (b < 0x7f800000u ? y : special);
}

// x = n ln2/2 + r, t = tanh(r): see the C++ twin.
float alu_tanh(float x) {
  float c = min(alu_abs(x), 10.0);  // a NaN is put back below
  precise float scaled = c * 2.88539008;
  precise float shifted = scaled + 12583039.0;  // 1.5 * 2^23 + 127 leaves n and the bias in the low bits
  precise float n = shifted - 12583039.0;
  precise float r = c - n * 0.346573591;
  precise float z = r * r;
  precise float t = r * (1.0 + z * (-3.3330974e-1 + z * 1.30982161e-1));
  float power = uintBitsToFloat(floatBitsToUint(shifted) << 23);
  precise float more = 1.0 + power, less = 1.0 - power;
  precise float above = more * t - less, below = more - less * t;
  uint y = floatBitsToUint(alu_div_inside(above, below)) | (floatBitsToUint(x) & 0x80000000u);
  return alu_nan(x) ? x : uintBitsToFloat(y);
}

float alu_sigmoid(float x) {
  float e = alu_exp(uintBitsToFloat(floatBitsToUint(x) | 0x80000000u));
  precise float denominator = 1.0 + e;
  return alu_div_inside((floatBitsToUint(x) & 0x80000000u) != 0u ? e : 1.0, denominator);
}

// log2(x) as hi + lo, hi with half of the digits.
void alu_log2_pair(uint b, out float hi, out float lo) {
  float m, e;
  alu_split(b, m, e);
  precise float f = m - 1.0, g = m + 1.0, inverse = alu_div_exact(1.0, g);
  precise float s = f * inverse, s_hi = alu_head(s);
  precise float g_hi = alu_head(g), g_lo = m - (g_hi - 1.0);
  precise float s_lo = ((f - s_hi * g_hi) - s_hi * g_lo) * inverse;
  precise float u = s_hi * s_hi, v = s * s;
  precise float p = 6.00000203e-1 + v * (4.28433448e-1 + v * 3.45727831e-1);
  precise float tail = v * v * p + s_lo * (s_hi + s);
  precise float q = 3.0 + u + tail, q_hi = alu_head(q), q_lo = tail - ((q_hi - 3.0) - u);
  precise float a = s_hi * q_hi, d = s_lo * q_hi + q_lo * s;
  precise float w = a + d, w_hi = alu_head(w), w_lo = d - (w_hi - a);
  precise float z_hi = 0.961669922 * w_hi, z_lo = 1.26772051e-4 * w_hi + w_lo * 0.961796701;
  precise float t = (z_hi + z_lo) + e, t_hi = alu_head(t), t_lo = z_lo - ((t_hi - e) - z_hi);
  hi = t_hi;
  lo = t_lo;
}

// 2^(hi + lo), hi + lo anywhere.
float alu_exp2_pair(float hi, float lo) {
  precise float z = hi + lo;
  bool inside = z > -160.0 && z < 136.0;
  float n = roundEven(inside ? z : (z > 0.0 ? 136.0 : -160.0));
  precise float inner = (hi - n) + lo;
  precise float r = inside ? inner : 0.0;
  precise float p = 1.33814942e-3 + r * 1.54450492e-4;
  p = 2.40226507e-1 + r * (5.5503808e-2 + r * (9.6181035e-3 + r * p));
  precise float y = 1.0 + (r * 0.693147182 + r * r * p);
  return alu_scale(y, int(n));
}

// C99 special values: pow(x, 0) and pow(1, y) are 1 even for NaN; a negative base needs an integer exponent.
float alu_pow(float x, float y) {
  uint b = floatBitsToUint(x) & 0x7fffffffu;
  bool negative = (floatBitsToUint(x) >> 31) != 0u, y_negative = (floatBitsToUint(y) >> 31) != 0u;
  float a = alu_abs(y);
  bool nan = alu_nan(x) || alu_nan(y);
  precise float half_a = a * 0.5;
  bool whole = a >= 1.0 ? floor(a) == a : floatBitsToUint(a) == 0u;
  bool odd = whole && a < 16777216.0 && floor(half_a) != half_a;
  float clamped = a > 1099511627776.0 || nan ? 1099511627776.0 : a;
  precise float e = y_negative ? -clamped : clamped;

  float l_hi, l_lo;
  alu_log2_pair(nan ? 0x3f800000u : b, l_hi, l_lo);
  precise float e_hi = alu_head(e);
  precise float hi = e_hi * l_hi, lo = (e - e_hi) * l_hi + e * l_lo;
  float r = alu_exp2_pair(hi, lo);
  bool zero = b == 0u, infinite = b == 0x7f800000u;
  r = zero || infinite ? (infinite != y_negative ? alu_infinity() : 0.0) : r;
  r = negative && odd ? uintBitsToFloat(floatBitsToUint(r) ^ 0x80000000u) : r;
  r = nan || (negative && !whole && !zero && !infinite) ? alu_make_nan() : r;
  return (floatBitsToUint(y) << 1) == 0u || floatBitsToUint(x) == 0x3f800000u ? 1.0 : r;
}
// By squaring, wrapping around. A power below 0 is a fraction, and gives 0, but for 1 and -1.
int alu_pow(int x, int y) {
  if (y < 0) return x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0;
  int result = 1;
  for (int base = x; y > 0; y >>= 1) {
    result = (y & 1) != 0 ? result * base : result;
    base = base * base;
  }
  return result;
}
int64 alu_pow(int64 x, int64 y) {
  if (y < 0) return x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0;
  int64 result = 1;
  for (int64 base = x; y > 0; y >>= 1) {
    result = (y & 1) != 0 ? result * base : result;
    base = base * base;
  }
  return result;
}
bool alu_pow(bool x, bool y) { return x || !y; }

uint alu_pick(uint i, uint a, uint b, uint c, uint d, uint e) {
  return i < 2u ? (i == 0u ? a : b) : (i < 4u ? (i == 2u ? c : d) : e);
}
uint alu_join(uint a, uint b, uint shift) { return (a << shift) | ((b >> 1) >> (31u - shift)); }

// sin(x + quarters * pi/2): the argument is reduced as Payne and Hanek do (1983), in integers, for every finite x.
float alu_turned_sine(float x, uint quarters, uint flip) {
  uint b = floatBitsToUint(x) & 0x7fffffffu;
  uint exponent = b >> 23, m = (b & 0x7fffffu) | 0x800000u;
  bool small = exponent < 126u;
  uint offset = small ? 0u : exponent - 120u;
  uint i = offset >> 5, shift = offset & 31u;
  uint w0 = alu_pick(i, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u);
  uint w1 = alu_pick(i, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u);
  uint w2 = alu_pick(i, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
  uint w3 = alu_pick(i, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
  uint middle_hi, middle_lo, last_hi, last_lo;
  umulExtended(alu_join(w1, w2, shift), m, middle_hi, middle_lo);
  umulExtended(alu_join(w2, w3, shift), m, last_hi, last_lo);
  uint angle_lo = middle_lo + last_hi;
  uint angle_hi = alu_join(w0, w1, shift) * m + middle_hi + (angle_lo < last_hi ? 1u : 0u);
  uint quarter = (angle_hi + 0x20000000u) >> 30;
  uint part = angle_hi - (quarter << 30);
  uint mask = (part & 0x80000000u) != 0u ? 0xffffffffu : 0u;
  uint h = part ^ mask, l = angle_lo ^ mask;
  precise float t0 = float(int(h >> 6)) * 5.96046448e-8;
  precise float t1 = float(int(((h & 63u) << 17) | (l >> 15))) * 7.10542736e-15;
  precise float t2 = float(int(l & 0x7fffu)) * 2.16840434e-19;
  precise float th = t0 + t1, tl = ((t0 - th) + t1) + t2;

  precise float t = alu_head(th);
  precise float exact = t * 1.5703125, rest = t * 4.83826792e-4 + ((th - t) + tl) * 1.57079637;
  precise float sum = exact + rest, left = (exact - sum) + rest;
  uint sign = mask & 0x80000000u;
  precise float hi = uintBitsToFloat(small ? b : floatBitsToUint(sum) ^ sign);
  precise float lo = small ? 0.0 : uintBitsToFloat(floatBitsToUint(left) ^ sign);
  uint turns = (small ? 0u : quarter) + quarters;

  precise float z = hi * hi;
  precise float s = -1.66666642e-1 + z * (8.33274797e-3 + z * -1.95878412e-4);
  precise float c = 4.16666642e-2 + z * (-1.38883025e-3 + z * 2.45478914e-5);
  precise float sine = hi + (hi * z * s + lo);
  precise float half_z = 0.5 * z, w = 1.0 - half_z;
  precise float cosine = w + (((1.0 - w) - half_z) + (z * z * c - hi * lo));
  uint y = floatBitsToUint((turns & 1u) != 0u ? cosine : sine) ^ ((turns & 2u) << 30) ^ flip;
  return exponent < 255u ? uintBitsToFloat(y) : alu_make_nan();
}
float alu_sin(float x) { return alu_turned_sine(x, 0u, floatBitsToUint(x) & 0x80000000u); }
float alu_cos(float x) { return alu_turned_sine(x, 1u, 0u); }

#ifdef SG_FLOAT64
#include "alu64.glsl"
#endif
