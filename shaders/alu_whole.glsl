// Rounding to whole numbers, remainders, shifts: included behind alu.glsl by shaders that need them. Twin:
// cpp/math/alu_whole.inl.

int alu_div(int a, int b) {
  int q = a / (b == 0 || b == -1 ? 1 : b);
  return b == 0 ? 0 : (b == -1 ? -a : q);
}
int alu_fmod(int a, int b) {  // GLSL leaves % of negative numbers open
  int r = a - a / (b == 0 || b == -1 ? 1 : b) * b;
  return b == 0 || b == -1 ? 0 : r;
}
int alu_shift_left(int a, int b) { return b >= 0 && b < 32 ? a << int(b) : 0; }
int alu_shift_right(int a, int b) { return a >> (b >= 0 && b < 31 ? int(b) : 31); }
int64 alu_div(int64 a, int64 b) {
  int64 q = a / (b == 0l || b == -1l ? 1l : b);
  return b == 0l ? 0l : (b == -1l ? -a : q);
}
int64 alu_fmod(int64 a, int64 b) {  // GLSL leaves % of negative numbers open
  int64 r = a - a / (b == 0l || b == -1l ? 1l : b) * b;
  return b == 0l || b == -1l ? 0l : r;
}
int64 alu_shift_left(int64 a, int64 b) { return b >= 0l && b < 64l ? a << int(b) : 0l; }
int64 alu_shift_right(int64 a, int64 b) { return a >> (b >= 0l && b < 63l ? int(b) : 63); }

float alu_rint(float a) {
  float size = alu_abs(a);
  precise float near = (size + 8388608.0) - 8388608.0;
  uint y = floatBitsToUint(size < 8388608.0 ? near : size) | (floatBitsToUint(a) & 0x80000000u);
  return alu_nan(a) ? a : uintBitsToFloat(y);
}
float alu_floor(float a) {
  float y = alu_rint(a);
  precise float below = y - 1.0;
  return y > a ? below : y;
}

// A positive finite number as an integer of all its digits, times 2^exponent.
uint alu_whole(uint b, out int exponent) {
  bool denormal = b < 0x00800000u;
  uint v = denormal ? floatBitsToUint(float(int(b & 0x007fffffu))) : b;
  exponent = int(v >> 23) - (denormal ? 299 : 150);
  return (v & 0x007fffffu) | 0x00800000u;
}
// Exact for all finite numbers: long division, eight bits a step.
float alu_fmod(float a, float b) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu, ub = floatBitsToUint(b) & 0x7fffffffu;
  if (ua >= 0x7f800000u || ub > 0x7f800000u || ub == 0u) return alu_make_nan();
  if (ua < ub) return a;
  int ea, eb;
  uint x = alu_whole(ua, ea), y = alu_whole(ub, eb), digits = x % y;
  for (int left = ea - eb; left > 0; left -= 8) digits = (digits << min(left, 8)) % y;
  float r = alu_scale(float(int(digits)), eb);
  return uintBitsToFloat(floatBitsToUint(r) | (floatBitsToUint(a) & 0x80000000u));
}

#ifdef SG_FLOAT64
double alu_rint(double a) {
  double size = alu_abs(a);
  precise double near = (size + 4503599627370496.0lf) - 4503599627370496.0lf;
  double y = size < 4503599627370496.0lf ? near : size;
  return alu_nan(a) ? a : alu_flip(y, unpackDouble2x32(a).y);
}
double alu_floor(double a) {
  double y = alu_rint(a);
  precise double below = y - 1.0lf;
  return y > a ? below : y;
}
uint64 alu_whole(uint64 b, out int exponent) {
  bool denormal = b < 0x0010000000000000ul;
  uint64 v = denormal ? alu_bits64(alu_counted(unpackUint2x32(b & 0x000ffffffffffffful))) : b;
  exponent = int(v >> 52) - (denormal ? 2149 : 1075);
  return (v & 0x000ffffffffffffful) | 0x0010000000000000ul;
}
double alu_fmod(double a, double b) {
  uint64 sign = 0x8000000000000000ul, infinite = 0x7ff0000000000000ul;
  uint64 ua = alu_bits64(a) & ~sign, ub = alu_bits64(b) & ~sign;
  if (ua >= infinite || ub > infinite || ub == uint64(0)) return alu_make_nan64();
  if (ua < ub) return a;
  int ea, eb;
  uint64 x = alu_whole(ua, ea), y = alu_whole(ub, eb), digits = x % y;
  for (int left = ea - eb; left > 0; left -= 11) digits = (digits << min(left, 11)) % y;
  uvec2 halves = unpackUint2x32(digits);
  double r = alu_scale(double(halves.y) * 4294967296.0lf + double(halves.x), eb);
  return alu_flip(r, unpackDouble2x32(a).y);
}
#endif
