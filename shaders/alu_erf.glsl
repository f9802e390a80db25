// The error function: included behind alu.glsl by shaders that need it. Twin: cpp/math/alu_erf.inl.

float alu_erf_near(float x) {
  precise float z = x * x;
  precise float p = 5.18175075e-3 + z * -7.37568655e-4;
  p = 1.12837583e-1 + z * (-2.68598702e-2 + z * p);
  p = -3.76126379e-1 + z * p;
  precise float y = x + (x * 0.128379167 + x * z * p);
  return y;
}
float alu_erfc_far(float a) {
  float c = a < 11.0 ? a : 11.0;
  precise float above = c - 2.0, below = c + 2.0;
  float t = alu_div_inside(above, below);
  precise float p = 1.05024979e-3 + t * -1.47161528e-3;
  p = -7.99602643e-3 + t * (8.77099112e-3 + t * p);
  p = 1.6404891e-1 + t * (-5.42303398e-2 + t * p);
  p = -9.2763789e-2 + t * (-1.66029781e-1 + t * p);
  p = 1.27697837 + t * p;
  precise float square = c * c, h = alu_head(c), rest = c - h;
  precise float lost = ((h * h - square) + (rest * h + rest * h)) + rest * rest;
  precise float denominator = 1.0 + (c + c);
  float q = alu_div_inside(p, denominator);
  int n;
  float near = alu_exp_reduce(-square, n);
  precise float r = near - lost;
  precise float y = q + q * (r + r * r * alu_exp_tail(r));
  return alu_scale(y, n);
}
float alu_erf(float x) {
  float a = alu_abs(x);
  precise float far = 1.0 - alu_erfc_far(a);
  float y = a < 0.65 ? alu_erf_near(x) : far;
  return alu_nan(x) ? x : uintBitsToFloat(floatBitsToUint(y) | (floatBitsToUint(x) & 0x80000000u));
}
float alu_erfc(float x) {
  float a = alu_abs(x), far = alu_erfc_far(a);
  precise float near = 1.0 - alu_erf_near(x), beyond = 2.0 - far;
  float y = a < 0.65 ? near : (x < 0.0 ? beyond : far);
  return alu_nan(x) ? x : y;
}

#ifdef SG_FLOAT64
double alu_erf_near(double x) {
  precise double z = x * x;
  precise double p = -1.6159212274216114e-7lf + z * 1.2435407948358947e-8lf;
  p = -1.4925348634134552e-5lf + z * (1.6451989515654098e-6lf + z * p);
  p = -8.5483269604413924e-4lf + z * (1.2055327398796763e-4lf + z * p);
  p = -2.686617064511776e-2lf + z * (5.2239776250332338e-3lf + z * p);
  p = -3.7612638903183754e-1lf + z * (1.1283791670955108e-1lf + z * p);
  precise double y = x + (x * 0.12837916709551257lf + x * z * p);
  return y;
}
double alu_erfc_far(double a) {
  double c = a < 28.0lf ? a : 28.0lf;
  precise double above = c - 3.0lf, below = c + 3.0lf;
  double t = alu_div(above, below);
  precise double p = 8.8993535778477426e-8lf + t * -2.1767952202163222e-9lf;
  p = -6.2016573097583087e-7lf + t * (-6.9150862575518069e-8lf + t * p);
  p = 3.4835163788899899e-6lf + t * (2.9779220795227894e-7lf + t * p);
  p = -2.0107601298986425e-5lf + t * (-7.0355763857176332e-7lf + t * p);
  p = 1.2510160901321111e-4lf + t * (4.9412800881969845e-6lf + t * p);
  p = -7.7983268450682866e-4lf + t * (-1.0515827889159817e-4lf + t * p);
  p = 2.5293918590419263e-3lf + t * (1.888690183933862e-3lf + t * p);
  p = 6.8308027341597077e-2lf + t * (-2.3770514906761648e-2lf + t * p);
  p = 1.2964515870281973e-1lf + t * (-1.192736634157293e-1lf + t * p);
  p = -1.3562110612458159e-1lf + t * (-4.7562294353444813e-2lf + t * p);
  p = 1.2530080582697296lf + t * p;
  precise double square = c * c, h = alu_head(c), rest = c - h;
  precise double lost = ((h * h - square) + (rest * h + rest * h)) + rest * rest;
  precise double denominator = 1.0lf + (c + c);
  double q = alu_div(p, denominator);
  int n;
  double near = alu_exp_reduce(-square, n);
  precise double r = near - lost;
  precise double y = q + q * (r + r * r * alu_exp_tail(r));
  return alu_scale(y, n);
}
double alu_erf(double x) {
  double a = alu_abs(x);
  precise double far = 1.0lf - alu_erfc_far(a);
  double y = a < 0.65lf ? alu_erf_near(x) : far;
  return alu_nan(x) ? x : alu_flip(alu_abs(y), unpackDouble2x32(x).y);
}
double alu_erfc(double x) {
  double a = alu_abs(x), far = alu_erfc_far(a);
  precise double near = 1.0lf - alu_erf_near(x), beyond = 2.0lf - far;
  double y = a < 0.65lf ? near : (x < 0.0lf ? beyond : far);
  return alu_nan(x) ? x : y;
}
#endif
