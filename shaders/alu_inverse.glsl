// The angle of a point: included behind alu.glsl by shaders that need it. Twin: cpp/math/alu_inverse.inl.

float alu_atan2(float y, float x) {
  float ay = alu_abs(y), ax = alu_abs(x);
  bool steep = ay > ax;
  float large = steep ? ay : ax, small = steep ? ax : ay;
  float unit = large > 1.32922800e36 ? 9.31322575e-10 : (large < 8.07793567e-28 ? 1152921504606846976.0 : 1.0);
  bool same = small == large, infinite = !same && large == alu_infinity();
  bool at_zero = large == 0.0;
  precise float l = large * unit, s = small * unit;
  l = same || infinite ? 1.0 : l;
  s = at_zero || infinite ? 0.0 : (same ? 1.0 : s);
  precise float edge = l * 0.41421356;
  bool turned = s > edge;
  precise float less = s - l, more = s + l;
  float t = alu_div(turned ? less : s, turned ? more : l);
  precise float z = t * t;
  precise float p = 1.07436053e-1 + z * -6.45150915e-2;
  p = 1.99995399e-1 + z * (-1.42639443e-1 + z * p);
  p = -3.33333313e-1 + z * p;
  precise float arc = t + t * z * p;
  bool left = (floatBitsToUint(x) & 0x80000000u) != 0u;
  float first = turned ? 1.0 : 0.0;
  float folded = steep ? 2.0 - first : first;
  float turns = left ? 4.0 - folded : folded;
  precise float signed_arc = steep != left ? -arc : arc;
  precise float angle = turns * 0.785398185 + (signed_arc + turns * -2.18556944e-8);
  uint bits = (floatBitsToUint(angle) & 0x7fffffffu) | (floatBitsToUint(y) & 0x80000000u);
  return alu_nan(x) || alu_nan(y) ? alu_make_nan() : uintBitsToFloat(bits);
}

#ifdef SG_FLOAT64
double alu_atan2(double y, double x) {
  double ay = alu_abs(y), ax = alu_abs(x);
  bool steep = ay > ax;
  double large = steep ? ay : ax, small = steep ? ax : ay;
  double unit = large > 1.0715086071862673e301lf ? 9.3132257461547852e-10lf : (large < 1.1830521861667747e-271lf ? 1152921504606846976.0lf : 1.0lf);
  bool same = small == large, infinite = !same && large == alu_infinity64();
  bool at_zero = large == 0.0lf;
  precise double l = large * unit, s = small * unit;
  l = same || infinite ? 1.0lf : l;
  s = at_zero || infinite ? 0.0lf : (same ? 1.0lf : s);
  precise double edge = l * 0.41421356lf;
  bool turned = s > edge;
  precise double less = s - l, more = s + l;
  double t = alu_div(turned ? less : s, turned ? more : l);
  precise double z = t * t;
  precise double p = 3.9229237138359428e-2lf + z * -1.9173922285547929e-2lf;
  p = 5.8581328944279219e-2lf + z * (-5.0853659223442482e-2lf + z * p);
  p = 7.6921830598941143e-2lf + z * (-6.6645096032553863e-2lf + z * p);
  p = 1.1111111015117626e-1lf + z * (-9.0909045724873475e-2lf + z * p);
  p = 1.9999999999995513e-1lf + z * (-1.4285714284664819e-1lf + z * p);
  p = -3.3333333333333331e-1lf + z * p;
  precise double arc = t + t * z * p;
  bool left = alu_negative(x);
  double first = turned ? 1.0lf : 0.0lf;
  double folded = steep ? 2.0lf - first : first;
  double turns = left ? 4.0lf - folded : folded;
  precise double signed_arc = steep != left ? -arc : arc;
  precise double angle = turns * 0.78539816339744828lf + (signed_arc + turns * 3.061616997868383e-17lf);
  return alu_nan(x) || alu_nan(y) ? alu_make_nan64() : alu_flip(alu_abs(angle), unpackDouble2x32(y).y);
}
#endif
