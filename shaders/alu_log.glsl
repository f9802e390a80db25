// Relatives of exp and log: included behind alu.glsl by shaders that need them. Twin: cpp/math/alu_log.inl.

float alu_expm1(float x) {
  float low = x >= -50.0 ? x : -50.0;  // a NaN is put back below
  int n;
  float r = alu_exp_reduce(low > 89.0 ? 89.0 : low, n);
  float inverse = intBitsToFloat((127 - min(n, 64)) << 23);
  precise float sum = (r + r * r * alu_exp_tail(r)) + (1.0 - inverse);
  return alu_nan(x) || x == 0.0 ? x : alu_scale(sum, n);
}
float alu_log1p(float x) {
  precise float u = 1.0 + x;
  precise float small = x - (u - 1.0), large = 1.0 - (u - x);
  bool counts = u > 8.6736173798840355e-19 && u < 1152921504606846976.0;
  precise float y = alu_log(u) + alu_div_inside(counts ? (x < 1.0 ? small : large) : 0.0, counts ? u : 1.0);
  return u == 1.0 ? x : y;
}
float alu_exp2(float x) { return alu_nan(x) ? x : alu_exp2_pair(x, 0.0); }

// The logarithm y of any x > 0, and what it is elsewhere.
float alu_logarithm_or_special(float x, float y) {
  uint b = floatBitsToUint(x);
  float special = b == 0x7f800000u || alu_nan(x) ? x : alu_make_nan();
  return (b & 0x7fffffffu) == 0u ? uintBitsToFloat(0xff800000u) : (b < 0x7f800000u ? y : special);
}
float alu_log2(float x) {
  float hi, lo;
  alu_log2_pair(floatBitsToUint(x), hi, lo);
  precise float y = hi + lo;
  return alu_logarithm_or_special(x, y);
}
float alu_log10(float x) {
  float hi, lo;
  alu_log2_pair(floatBitsToUint(x), hi, lo);
  precise float y = hi * 0.301025391 + (hi * 4.60503907e-6 + lo * 0.30103001);
  return alu_logarithm_or_special(x, y);
}

#ifdef SG_FLOAT64
double alu_expm1(double x) {
  double low = x >= -50.0lf ? x : -50.0lf;  // a NaN is put back below
  int n;
  double r = alu_exp_reduce(low > 710.0lf ? 710.0lf : low, n);
  double inverse = packDouble2x32(uvec2(0u, uint((1023 - min(n, 64)) << 20)));
  precise double sum = (r + r * r * alu_exp_tail(r)) + (1.0lf - inverse);
  return alu_nan(x) || x == 0.0lf ? x : alu_scale(sum, n);
}
double alu_log1p(double x) {
  precise double u = 1.0lf + x;
  precise double small = x - (u - 1.0lf), large = 1.0lf - (u - x);
  bool counts = u > 8.6736173798840355e-19lf && u < 1152921504606846976.0lf;
  precise double y = alu_log(u) + alu_div(counts ? (x < 1.0lf ? small : large) : 0.0lf, counts ? u : 1.0lf);
  return u == 1.0lf ? x : y;
}
double alu_exp2(double x) { return alu_nan(x) ? x : alu_exp2_pair(x, 0.0lf); }

// The logarithm y of any x > 0, and what it is elsewhere.
double alu_logarithm_or_special(double x, double y) {
  uvec2 b = unpackDouble2x32(x);
  bool infinite = b.y == 0x7ff00000u && b.x == 0u, zero = ((b.y << 1) | b.x) == 0u;
  double special = infinite || alu_nan(x) ? x : alu_make_nan64();
  return zero ? packDouble2x32(uvec2(0u, 0xfff00000u)) : (b.y < 0x7ff00000u ? y : special);
}
double alu_log2(double x) {
  double hi, lo;
  alu_log2_pair(unpackDouble2x32(x), hi, lo);
  precise double y = hi + lo;
  return alu_logarithm_or_special(x, y);
}
double alu_log10(double x) {
  double hi, lo;
  alu_log2_pair(unpackDouble2x32(x), hi, lo);
  precise double y = hi * 0.3010299950838089lf + (hi * 5.801722962879576e-10lf + lo * 0.3010299956639812lf);
  return alu_logarithm_or_special(x, y);
}
#endif
