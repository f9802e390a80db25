// Machine functions in double precision: included by alu.glsl where SG_FLOAT64 is defined. Twin: cpp/math/alu*.inl.

uint64 alu_bits64(double x) { return packUint2x32(unpackDouble2x32(x)); }
double alu_double(uint64 b) { return packDouble2x32(unpackUint2x32(b)); }
bool alu_nan(double x) {
  uvec2 b = unpackDouble2x32(x);
  uint high = b.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && b.x != 0u);
}
double alu_make_nan64() { return packDouble2x32(uvec2(0u, 0x7ff80000u)); }
double alu_infinity64() { return packDouble2x32(uvec2(0u, 0x7ff00000u)); }
// The value with the sign bit of `flip` turned over.
double alu_flip(double x, uint flip) {
  uvec2 b = unpackDouble2x32(x);
  return packDouble2x32(uvec2(b.x, b.y ^ (flip & 0x80000000u)));
}
bool alu_negative(double x) { return (unpackDouble2x32(x).y >> 31) != 0u; }

double alu_abs(double a) {
  uvec2 b = unpackDouble2x32(a);
  return packDouble2x32(uvec2(b.x, b.y & 0x7fffffffu));
}
double alu_maximum(double a, double b) { return alu_nan(a) ? a : (alu_nan(b) ? b : (a >= b ? a : b)); }
double alu_minimum(double a, double b) { return alu_nan(a) ? a : (alu_nan(b) ? b : (a <= b ? a : b)); }
double alu_select(bool c, double a, double b) { return c ? a : b; }

bool alu_cast_boolean(double x) {
  uvec2 b = unpackDouble2x32(x);
  return ((b.y << 1) | b.x) != 0u;
}
int alu_cast_int32(double x) {
  bool fits = x >= -2147483648.0lf && x < 2147483648.0lf;
  return fits ? int(fits ? x : 0.0lf) : int(0x80000000u);
}
int64 alu_cast_int64(double x) {
  bool fits = x >= -9223372036854775808.0lf && x < 9223372036854775808.0lf;
  return fits ? int64(fits ? x : 0.0lf) : (int64(1) << 63);
}
float alu_cast_float32(double x) { return float(x); }
double alu_cast_float64(bool x) { return x ? 1.0lf : 0.0lf; }
double alu_cast_float64(int x) { return double(x); }
double alu_cast_float64(int64 x) { return double(x); }
double alu_cast_float64(float x) { return double(x); }
double alu_cast_float64(double x) { return x; }

double alu_div(double a, double b) {
  precise double q = a / b;
  return q;
}
double alu_sqrt(double a) {
  precise double r = sqrt(a);
  bool same = !alu_cast_boolean(a) || a == alu_infinity64();
  return same ? a : (alu_negative(a) ? alu_make_nan64() : r);
}

double alu_scale(double y, int n) {
  int h = n >> 1;
  precise double once = y * packDouble2x32(uvec2(0u, uint((h + 1023) << 20)));
  precise double twice = once * packDouble2x32(uvec2(0u, uint((n - h + 1023) << 20)));
  return twice;
}
double alu_head(double x) {
  uvec2 b = unpackDouble2x32(x);
  return packDouble2x32(uvec2(b.x & 0xf8000000u, b.y));
}
// An integer below 2^52.
double alu_counted(uvec2 n) { return packDouble2x32(uvec2(n.x, n.y | 0x43300000u)) - 4503599627370496.0lf; }

// x = m * 2^e for the bits of a positive finite x, with m in about [sqrt(1/2), sqrt(2)).
void alu_split(uvec2 b, out double m, out double e) {
  bool denormal = b.y < 0x00100000u;
  uvec2 v = denormal ? unpackDouble2x32(alu_counted(uvec2(b.x, b.y & 0x000fffffu))) : b;
  uint shifted = (v.y - 0x3fe6a09eu + 0x80000000u) >> 20;
  e = double(int(shifted) - 2048 - (denormal ? 1074 : 0));
  m = packDouble2x32(uvec2(v.x, v.y - (shifted << 20) + 0x80000000u));
}

double alu_exp_reduce(double x, out int n) {
  precise double scaled = x * 1.4426950408889634lf;
  precise double whole = roundEven(scaled);
  precise double r = (x - whole * 0.69314718055966296lf) - whole * 2.8235290563031577e-13lf;
  n = int(whole);
  return r;
}
double alu_exp_tail(double r) {
  precise double p = 2.5105245153901371e-8lf + r * 2.0914707069612355e-9lf;
  p = 2.7557255332554409e-6lf + r * (2.7557273594799413e-7lf + r * p);
  p = 1.9841269874873975e-4lf + r * (2.4801587325585839e-5lf + r * p);
  p = 8.3333333333261202e-3lf + r * (1.3888888888883737e-3lf + r * p);
  p = 1.6666666666666671e-1lf + r * (4.1666666666666671e-2lf + r * p);
  p = 0.5lf + r * p;
  return p;
}
double alu_exp(double x) {
  double low = x >= -746.0lf ? x : -746.0lf;
  int n;
  double r = alu_exp_reduce(low > 710.0lf ? 710.0lf : low, n);
  precise double y = 1.0lf + (r + r * r * alu_exp_tail(r));
  return alu_nan(x) ? x : alu_scale(y, n);
}

double alu_log(double x) {
  uvec2 b = unpackDouble2x32(x);
  double m, e;
  alu_split(b, m, e);
  precise double f = m - 1.0lf;
  precise double half_square = 0.5lf * (f * f);
  precise double g = 2.0lf + f;
  precise double s = f / g, u = s * s;
  precise double p = 1.5331674030167861e-1lf + u * 1.461703754879165e-1lf;
  p = 2.2222211115144161e-1lf + u * (1.8182890556695602e-1lf + u * p);
  p = 3.9999999999899238e-1lf + u * (2.8571428626095891e-1lf + u * p);
  p = 6.6666666666666696e-1lf + u * p;
  precise double tail = s * (half_square + u * p);
  precise double y = (f + ((tail + e * 2.8235290563031577e-13lf) - half_square)) + e * 0.69314718055966296lf;
  bool infinite = b.y == 0x7ff00000u && b.x == 0u;
  double special = infinite || alu_nan(x) ? x : alu_make_nan64();
  bool zero = ((b.y << 1) | b.x) == 0u;
  return zero ? packDouble2x32(uvec2(0u, 0xfff00000u)) : (b.y < 0x7ff00000u ? y : special);
}

double alu_tanh(double x) {
  double a = alu_abs(x);
  double low = a > 1.0lf ? 1.0lf : a;
  precise double z = low * low;
  precise double p = 1.2209921790162781e-5lf + z * -2.4388316314720878e-6lf;
  p = 9.6041091570262655e-5lf + z * (-3.7081069215442337e-5lf + z * p);
  p = 5.899818158388232e-4lf + z * (-2.3888944636751174e-4lf + z * p);
  p = 3.5921275075992522e-3lf + z * (-1.4558283998303246e-3lf + z * p);
  p = 2.1869488535133222e-2lf + z * (-8.863235499801992e-3lf + z * p);
  p = 1.3333333333333322e-1lf + z * (-5.3968253968235902e-2lf + z * p);
  p = -3.3333333333333331e-1lf + z * p;
  precise double near = low + low * z * p;
  double c = a > 20.0lf ? 20.0lf : a;
  precise double twice = c + c;
  precise double denominator = alu_exp(twice) + 1.0lf;
  precise double far = 1.0lf - alu_div(2.0lf, denominator);
  double y = a < 0.625lf ? near : far;
  return alu_nan(x) ? x : alu_flip(y, unpackDouble2x32(x).y);
}

double alu_sigmoid(double x) {
  bool negative = alu_negative(x);
  double e = alu_exp(alu_flip(alu_abs(x), 0x80000000u));
  precise double denominator = 1.0lf + e;
  return alu_div(negative ? e : 1.0lf, denominator);
}

void alu_log2_pair(uvec2 b, out double hi, out double lo) {
  double m, e;
  alu_split(b, m, e);
  precise double f = m - 1.0lf, g = m + 1.0lf, inverse = 1.0lf / g;
  precise double s = f * inverse, s_hi = alu_head(s);
  precise double g_hi = alu_head(g), g_lo = m - (g_hi - 1.0lf);
  precise double s_lo = ((f - s_hi * g_hi) - s_hi * g_lo) * inverse;
  precise double u = s_hi * s_hi, v = s * s;
  precise double p = 1.5684417563667311e-1lf + v * 1.6144301135464817e-1lf;
  p = 1.9999944725959937e-1lf + v * (1.7650222955109121e-1lf + v * p);
  p = 2.7272727269478769e-1lf + v * (2.3076923642718916e-1lf + v * p);
  p = 4.2857142857142849e-1lf + v * (3.3333333333342668e-1lf + v * p);
  p = 5.9999999999999998e-1lf + v * p;
  precise double tail = v * v * p + s_lo * (s_hi + s);
  precise double q = 3.0lf + u + tail, q_hi = alu_head(q), q_lo = tail - ((q_hi - 3.0lf) - u);
  precise double a = s_hi * q_hi, d = s_lo * q_hi + q_lo * s;
  precise double w = a + d, w_hi = alu_head(w), w_lo = d - (w_hi - a);
  precise double z_hi = 0.96179668605327606lf * w_hi;
  precise double z_lo = 7.8726995428948972e-09lf * w_hi + w_lo * 0.96179669392597555lf;
  precise double t = (z_hi + z_lo) + e, t_hi = alu_head(t), t_lo = z_lo - ((t_hi - e) - z_hi);
  hi = t_hi;
  lo = t_lo;
}

double alu_exp2_pair(double hi, double lo) {
  precise double z = hi + lo;
  bool inside = z > -1100.0lf && z < 1032.0lf;
  double n = roundEven(inside ? z : (z > 0.0lf ? 1032.0lf : -1100.0lf));
  precise double inner = (hi - n) + lo;
  precise double r = inside ? inner : 0.0lf;
  precise double p = 4.4549983631048684e-10lf + r * 2.5725267506017277e-11lf;
  p = 1.0178062256646543e-7lf + r * (7.0548998627224089e-9lf + r * p);
  p = 1.5252733830147138e-5lf + r * (1.3215486803057882e-6lf + r * p);
  p = 1.3333558146416749e-3lf + r * (1.5403530393375822e-4lf + r * p);
  p = 5.5504108664821597e-2lf + r * (9.6181291076284786e-3lf + r * p);
  p = 2.4022650695910072e-1lf + r * p;
  precise double y = 1.0lf + (r * 0.6931471805599453lf + r * r * p);
  return alu_scale(y, int(n));
}

double alu_pow(double x, double y) {
  uvec2 b = unpackDouble2x32(alu_abs(x));
  bool negative = alu_negative(x), y_negative = alu_negative(y);
  double a = alu_abs(y);
  bool nan = alu_nan(x) || alu_nan(y);
  precise double half_a = a * 0.5lf;
  bool whole = a >= 1.0lf ? floor(a) == a : !alu_cast_boolean(a);
  bool odd = whole && a < 9007199254740992.0lf && floor(half_a) != half_a;
  double clamped = a > 1180591620717411303424.0lf || nan ? 1180591620717411303424.0lf : a;
  precise double e = alu_flip(clamped, y_negative ? 0x80000000u : 0u);

  double l_hi, l_lo;
  alu_log2_pair(nan ? uvec2(0u, 0x3ff00000u) : b, l_hi, l_lo);
  precise double e_hi = alu_head(e);
  precise double hi = e_hi * l_hi, lo = (e - e_hi) * l_hi + e * l_lo;
  double r = alu_exp2_pair(hi, lo);
  bool zero = (b.y | b.x) == 0u, infinite = b.y == 0x7ff00000u && b.x == 0u;
  r = zero || infinite ? (infinite != y_negative ? alu_infinity64() : 0.0lf) : r;
  r = alu_flip(r, negative && odd ? 0x80000000u : 0u);
  r = nan || (negative && !whole && !zero && !infinite) ? alu_make_nan64() : r;
  return !alu_cast_boolean(y) || x == 1.0lf ? 1.0lf : r;
}

// After 64 zeros, the bits of 2/pi.
const uint alu_two_over_pi[39] = uint[39](
    0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u);
uint64 alu_word(uint i, uint shift) {
  return uint64(alu_join(alu_two_over_pi[i], alu_two_over_pi[i + 1u], shift));
}

// |x| = quarter * pi/2 + hi + lo.
void alu_reduce(double x, out double hi, out double lo, out uint quarter) {
  uvec2 b = unpackDouble2x32(alu_abs(x));
  uint exponent = b.y >> 20;
  bool small = exponent < 1022u;
  uint offset = small ? 0u : exponent - 1013u;
  uint i = offset >> 5, shift = offset & 31u;
  uint64 m0 = uint64((b.y & 0xfffffu) | 0x100000u), m1 = uint64(b.x), low32 = uint64(0xffffffffu);
  uint64 w0 = alu_word(i, shift), w1 = alu_word(i + 1u, shift), w2 = alu_word(i + 2u, shift);
  uint64 w3 = alu_word(i + 3u, shift), w4 = alu_word(i + 4u, shift), w5 = alu_word(i + 5u, shift);
  uint64 p1 = w1 * m1, p2 = w2 * m1, p3 = w3 * m1, p4 = w4 * m1;
  uint64 q1 = w1 * m0, q2 = w2 * m0, q3 = w3 * m0, q4 = w4 * m0, q5 = w5 * m0;
  uint64 a3 = (p3 & low32) + (p4 >> 32) + (q4 & low32) + (q5 >> 32);
  uint64 a2 = (a3 >> 32) + (p2 & low32) + (p3 >> 32) + (q3 & low32) + (q4 >> 32);
  uint64 a1 = (a2 >> 32) + (p1 & low32) + (p2 >> 32) + (q2 & low32) + (q3 >> 32);
  uint64 a0 = (a1 >> 32) + w0 * m1 + (p1 >> 32) + (q1 & low32) + (q2 >> 32);
  uint64 angle_hi = (a0 << 32) | (a1 & low32), angle_lo = (a2 << 32) | (a3 & low32);
  uint turn = uint((angle_hi + (uint64(1) << 61)) >> 62);
  uint64 part = angle_hi - (uint64(turn) << 62);
  bool below = (part >> 63) != uint64(0);
  uint64 h = below ? ~part : part, l = below ? ~angle_lo : angle_lo;
  precise double t0 = alu_counted(unpackUint2x32(h >> 9)) * 1.1102230246251565e-16lf;
  precise double t1 = alu_counted(unpackUint2x32(((h & uint64(511u)) << 43) | (l >> 21))) * 2.4651903288156619e-32lf;
  precise double t2 = alu_counted(unpackUint2x32(l & uint64(0x1fffffu))) * 1.1754943508222875e-38lf;
  precise double th = t0 + t1, tl = ((t0 - th) + t1) + t2;

  precise double t = alu_head(th);
  precise double exact = t * 1.5707963109016418lf;
  precise double rest = t * 1.5893254773528196e-08lf + ((th - t) + tl) * 1.5707963267948966lf;
  precise double sum = exact + rest, left = (exact - sum) + rest;
  uint sign = below ? 0x80000000u : 0u;
  hi = small ? alu_abs(x) : alu_flip(sum, sign);
  lo = small ? 0.0lf : alu_flip(left, sign);
  quarter = small ? 0u : turn;
}

double alu_turned_sine(double x, uint quarters, uint flip) {
  double hi, lo;
  uint quarter;
  alu_reduce(x, hi, lo, quarter);
  uint turns = quarter + quarters;
  precise double z = hi * hi;
  precise double s = 1.6058531414589011e-10lf + z * -7.5866850700912671e-13lf;
  s = 2.7557319219335453e-6lf + z * (-2.5052106231157904e-8lf + z * s);
  s = 8.3333333333333315e-3lf + z * (-1.984126984126506e-4lf + z * s);
  s = -1.6666666666666666e-1lf + z * s;
  precise double c = -1.1470460773969325e-11lf + z * 4.7458652037874553e-14lf;
  c = -2.755731922140076e-7lf + z * (2.0876755790363397e-9lf + z * c);
  c = -1.3888888888888887e-3lf + z * (2.4801587301584645e-5lf + z * c);
  c = 4.1666666666666664e-2lf + z * c;
  precise double sine = hi + (hi * z * s + lo);
  precise double half_z = 0.5lf * z, w = 1.0lf - half_z;
  precise double cosine = w + (((1.0lf - w) - half_z) + (z * z * c - hi * lo));
  double y = alu_flip((turns & 1u) != 0u ? cosine : sine, ((turns & 2u) << 30) ^ flip);
  return (unpackDouble2x32(x).y & 0x7fffffffu) < 0x7ff00000u ? y : alu_make_nan64();
}
double alu_sin(double x) { return alu_turned_sine(x, 0u, unpackDouble2x32(x).y & 0x80000000u); }
double alu_cos(double x) { return alu_turned_sine(x, 1u, 0u); }
