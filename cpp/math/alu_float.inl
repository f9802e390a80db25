// Included by alu.hpp inside its namespace: exponential, logarithm, power and what is made of them.
// Polynomials are near-minimax fits (Chebyshev nodes, computed with 80 digits) rounded to the type.

// c0 + x * (c1 + x * (...))
template <class T>
SG_ALU_FN T polynomial(T, T c) {
  return c;
}
template <class T, class... Rest>
SG_ALU_FN T polynomial(T x, T c, Rest... rest) {
  return c + x * polynomial(x, rest...);
}

// 2^23 or 2^52: an integer below it sits in the low bits of its sum.
template <class T>
inline constexpr T kOneInt = sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0);

// To the nearest integer, ties to even, for |x| below kOneInt / 2.
template <class T>
SG_ALU_FN T nearest(T x) {
  constexpr T magic = T(1.5) * kOneInt<T>;
  return (x + magic) - magic;
}
// 2^n for an integer n in the normal range, without an integer conversion (AVX2 has none for double).
template <class T>
SG_ALU_FN T power_of_two(T n) {
  constexpr T magic = T(1.5) * kOneInt<T>;
  return from_bits<T>((to_bits(n + magic) + Layout<T>::kBias) << Layout<T>::kMantissa);
}
// y * 2^n in two steps: the first is exact, the second rounds once where the result is denormal or infinite.
template <class T>
SG_ALU_FN T scale(T y, T n) {
  constexpr T magic = T(1.5) * kOneInt<T>;
  constexpr BitsOf<T> one = BitsOf<T>(Layout<T>::kBias) << Layout<T>::kMantissa;
  const BitsOf<T> whole = to_bits(n + magic), half = (whole >> 1) << Layout<T>::kMantissa;
  return y * from_bits<T>(half + one) * from_bits<T>((whole << Layout<T>::kMantissa) - half + one);
}
// The leading half of the digits.
template <class T>
SG_ALU_FN T head(T x) {
  return from_bits<T>(to_bits(x) & Layout<T>::kHead);
}

// x = m * 2^e for the bits of a positive finite x, with m in [sqrt(1/2), sqrt(2)).
template <class T>
struct Parts {
  T m, e;
};
template <class T>
SG_ALU_FN Parts<T> split(BitsOf<T> b) {
  using L = Layout<T>;
  constexpr BitsOf<T> root_half = sizeof(T) == 4 ? BitsOf<T>(0x3f3504f3u) : BitsOf<T>(0x3fe6a09e00000000u);
  constexpr BitsOf<T> one_int = std::bit_cast<BitsOf<T>>(kOneInt<T>);
  constexpr T offset = sizeof(T) == 4 ? T(256) : T(2048);  // the exponent's, by adding the sign bit
  const bool denormal = b < (BitsOf<T>(1) << L::kMantissa);
  const T counted = from_bits<T>(b | one_int) - kOneInt<T>;  // a denormal in units of the smallest one
  const BitsOf<T> v = denormal ? to_bits(counted) : b;
  const BitsOf<T> shifted = (v - root_half + L::kSign) >> L::kMantissa;
  const T e = from_bits<T>(shifted | one_int) - (kOneInt<T> + offset);
  const T unit = denormal ? T(L::kBias + L::kMantissa - 1) : T(0);
  return {from_bits<T>(v - (shifted << L::kMantissa) + L::kSign), e - unit};
}

// (e^r - 1 - r) / r^2 for |r| up to ln2/2.
template <class T>
SG_ALU_FN T exp_tail(T r) {
  if constexpr (sizeof(T) == 4) {
    return polynomial<T>(r, 0.5f, 1.66665763e-1f, 4.16665561e-2f, 8.36319476e-3f, 1.39262038e-3f);
  } else {
    return polynomial<T>(r, 0.5, 1.6666666666666671e-1, 4.1666666666666671e-2, 8.3333333333261202e-3,
                      1.3888888888883737e-3, 1.9841269874873975e-4, 2.4801587325585839e-5, 2.7557255332554409e-6,
                      2.7557273594799413e-7, 2.5105245153901371e-8, 2.0914707069612355e-9);
  }
}
// x = n ln2 + r.
template <class T>
struct Logarithmic {
  T n, r;
};
template <class T>
SG_ALU_FN Logarithmic<T> exp_reduce(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T inv_ln2 = T(1.4426950408889634);
  constexpr T ln2_hi = single ? T(0x1.62e4p-1) : T(0x1.62e42fefa3p-1);
  constexpr T ln2_lo = single ? T(0x1.7f7d1cp-20) : T(0x1.3de6af278ece6p-42);
  const T n = nearest(x * inv_ln2);
  return {n, (x - n * ln2_hi) - n * ln2_lo};
}

template <class T>
SG_ALU_FN T exp(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T lowest = single ? T(-104.0) : T(-746.0), highest = single ? T(89.0) : T(710.0);
  const T low = x < lowest ? lowest : x;
  const auto [n, r] = exp_reduce(low > highest ? highest : low);
  const T y = T(1) + (r + r * r * exp_tail(r));
  return is_nan(x) ? x : scale(y, n);
}

template <class T>
SG_ALU_FN T log_of_positive(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T ln2_hi = single ? T(0x1.62e4p-1) : T(0x1.62e42fefa3p-1);
  constexpr T ln2_lo = single ? T(0x1.7f7d1cp-20) : T(0x1.3de6af278ece6p-42);
  const Parts<T> parts = split<T>(to_bits(x));
  const T e = parts.e, f = parts.m - T(1);
  const T half_square = T(0.5) * (f * f);
  T tail;  // log(1 + f) - f + f^2 / 2
  if constexpr (single) {
    tail = f * (f * f) *
           polynomial<T>(f, 3.33333313e-1f, -2.4999997e-1f, 2.0000717e-1f, -1.66678086e-1f, 1.42490089e-1f,
                         -1.24254867e-1f, 1.16857193e-1f, -1.14814773e-1f, 6.97307065e-2f);
  } else {
    const T s = f / (T(2) + f), u = s * s;
    const T p = polynomial<T>(u, 6.6666666666666696e-1, 3.9999999999899238e-1, 2.8571428626095891e-1,
                              2.2222211115144161e-1, 1.8182890556695602e-1, 1.5331674030167861e-1,
                              1.461703754879165e-1);
    tail = s * (half_square + u * p);
  }
  return (f + ((tail + e * ln2_lo) - half_square)) + e * ln2_hi;
}
template <class T>
SG_ALU_FN T log(T x) {
  using L = Layout<T>;
  const BitsOf<T> b = to_bits(x);
  const T y = log_of_positive(x);
  const bool zero = (b & ~L::kSign) == 0;
  const bool regular = b < L::kInf;
  const bool nan = is_nan(x);
  const T special = (nan | (b == L::kInf)) ? x : from_bits<T>(L::kNan);
  return zero ? from_bits<T>(L::kInf | L::kSign) : (regular ? y : special);
}

// x = n ln2/2 + r and t = tanh(r) give tanh(x) = ((2^n + 1) t + 2^n - 1) / (2^n + 1 + (2^n - 1) t), which is t for
// n = 0. One product reduces x: n ln2/2 has no rounding up to n = 8, and above that r hardly counts.
SG_ALU_FN float tanh(float x) {
  const float low = x < -10.0f ? -10.0f : x, c = low > 10.0f ? 10.0f : low;  // tanh rounds to 1 before that
  constexpr float magic = 0x1.8p23f + float(Layout<float>::kBias);  // leaves n and the bias in the low bits
  const float shifted = c * 2.88539008f + magic;
  const float n = shifted - magic;
  const float r = c - n * 0x1.62e43p-2f;
  // A minimax fit of tanh(r) / r for |r| < ln2/4; of its neighbours, the one with the least error over all floats.
  const float t = r * polynomial<float>(r * r, 1.0f, -3.3330974e-1f, 1.30982161e-1f);
  const float power = from_bits<float>(to_bits(shifted) << Layout<float>::kMantissa);
  const float more = 1.0f + power, less = 1.0f - power;  // subtracted below: -0 - (1 - 1) is -0
  return div(more * t - less, more - less * t);
}
SG_ALU_FN double tanh(double x) {
  const double a = abs(x);
  const double small = a > 1.0 ? 1.0 : a, z = small * small;
  const double p = polynomial<double>(
      z, -3.3333333333333331e-1, 1.3333333333333322e-1, -5.3968253968235902e-2, 2.1869488535133222e-2,
      -8.863235499801992e-3, 3.5921275075992522e-3, -1.4558283998303246e-3, 5.899818158388232e-4,
      -2.3888944636751174e-4, 9.6041091570262655e-5, -3.7081069215442337e-5, 1.2209921790162781e-5,
      -2.4388316314720878e-6);
  const double near = small + small * z * p;
  const double c = a > 20.0 ? 20.0 : a;  // tanh rounds to 1 before that
  const double far = 1.0 - div(2.0, exp(c + c) + 1.0);
  const double y = a < 0.625 ? near : far;
  return is_nan(x) ? x : from_bits<double>(to_bits(y) | (to_bits(x) & Layout<double>::kSign));
}

template <class T>
SG_ALU_FN T sigmoid(T x) {
  const T e = exp(-abs(x));
  return div((to_bits(x) & Layout<T>::kSign) != 0 ? e : T(1), T(1) + e);
}

// log2(x) as hi + lo, hi with half of the digits: the error is below 2^-34 (float) or 2^-62 (double) of it.
template <class T>
struct Pair {
  T hi, lo;
};
template <class T>
SG_ALU_FN Pair<T> log2_pair(BitsOf<T> b) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T c = single ? T(0x1.ec709ep-1) : T(0x1.ec709dc3a03fdp-1);  // 2 / (3 ln 2)
  constexpr T c_hi = single ? T(0x1.ec6p-1) : T(0x1.ec709d8p-1);
  constexpr T c_lo = single ? T(0x1.09dc3ap-13) : T(0x1.0e80ff5d27f05p-27);
  const Parts<T> parts = split<T>(b);
  const T m = parts.m, e = parts.e;
  // s = (m - 1) / (m + 1); log m = 2/3 s (3 + s^2 + tail)
  const T f = m - T(1), g = m + T(1), inverse = T(1) / g;
  const T s = f * inverse, s_hi = head(s);
  const T g_hi = head(g), g_lo = m - (g_hi - T(1));
  const T s_lo = ((f - s_hi * g_hi) - s_hi * g_lo) * inverse;
  const T u = s_hi * s_hi, v = s * s;
  T p;
  if constexpr (single) {
    p = polynomial<T>(v, 6.00000203e-1f, 4.28433448e-1f, 3.45727831e-1f);
  } else {
    p = polynomial<T>(v, 5.9999999999999998e-1, 4.2857142857142849e-1, 3.3333333333342668e-1, 2.7272727269478769e-1,
                      2.3076923642718916e-1, 1.9999944725959937e-1, 1.7650222955109121e-1, 1.5684417563667311e-1,
                      1.6144301135464817e-1);
  }
  const T tail = v * v * p + s_lo * (s_hi + s);
  const T q_hi = head(T(3) + u + tail), q_lo = tail - ((q_hi - T(3)) - u);
  const T a = s_hi * q_hi, d = s_lo * q_hi + q_lo * s;
  const T w_hi = head(a + d), w_lo = d - (w_hi - a);
  const T z_hi = c_hi * w_hi, z_lo = c_lo * w_hi + w_lo * c;
  const T hi = head((z_hi + z_lo) + e);
  return {hi, z_lo - ((hi - e) - z_hi)};
}

// 2^(hi + lo), hi + lo anywhere.
template <class T>
SG_ALU_FN T exp2_pair(T hi, T lo) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T lowest = single ? T(-160.0) : T(-1100.0), highest = single ? T(136.0) : T(1032.0);
  const T z = hi + lo;
  const bool inside = (z > lowest) & (z < highest);
  const T n = nearest(inside ? z : (z > T(0) ? highest : lowest));
  const T r = inside ? (hi - n) + lo : T(0);
  T p;
  if constexpr (single) {
    p = polynomial<T>(r, 2.40226507e-1f, 5.5503808e-2f, 9.6181035e-3f, 1.33814942e-3f, 1.54450492e-4f);
  } else {
    p = polynomial<T>(r, 2.4022650695910072e-1, 5.5504108664821597e-2, 9.6181291076284786e-3, 1.3333558146416749e-3,
                      1.5403530393375822e-4, 1.5252733830147138e-5, 1.3215486803057882e-6, 1.0178062256646543e-7,
                      7.0548998627224089e-9, 4.4549983631048684e-10, 2.5725267506017277e-11);
  }
  return scale(T(1) + (r * T(0.6931471805599453) + r * r * p), n);
}

// C99 special values: pow(x, 0) and pow(1, y) are 1 even for NaN; a negative base needs an integer exponent.
template <class T>
SG_ALU_FN T float_pow(T x, T y) {
  using L = Layout<T>;
  const BitsOf<T> b = to_bits(x) & ~L::kSign;
  const bool negative = (to_bits(x) & L::kSign) != 0, y_negative = (to_bits(y) & L::kSign) != 0;
  const T a = abs(y);
  const T half = a * T(0.5);
  const bool whole = (a >= kOneInt<T>) | ((a + kOneInt<T>) - kOneInt<T> == a);
  const bool odd = whole & (a < T(2) * kOneInt<T>) & ((half + kOneInt<T>) - kOneInt<T> != half);
  // |log2 x| is 0 or above 2^-54: a larger exponent changes nothing, and products stay finite.
  constexpr T large = sizeof(T) == 4 ? T(0x1p40) : T(0x1p70);
  const T clamped = a > large ? large : a;
  const T e = y_negative ? -clamped : clamped;

  const Pair<T> l = log2_pair<T>(b);
  const T e_hi = head(e);
  T r = exp2_pair(e_hi * l.hi, (e - e_hi) * l.hi + e * l.lo);
  const bool zero = b == 0, infinite = b == L::kInf;
  const T extreme = infinite != y_negative ? from_bits<T>(L::kInf) : T(0);
  r = (zero | infinite) ? extreme : r;
  r = (negative & odd) ? -r : r;
  const bool x_nan = is_nan(x), y_nan = is_nan(y), one = x == T(1);
  r = (x_nan | y_nan | (negative & !whole & !zero & !infinite)) ? from_bits<T>(L::kNan) : r;
  return (one | (a == T(0))) ? T(1) : r;
}
// By squaring, wrapping around. A power below 0 is a fraction, and gives 0, but for 1 and -1.
template <class T>
SG_ALU_FN T integer_pow(T x, T y) {
  const T inverse = x == T(1) || x == T(-1) ? ((y & 1) != 0 ? x : T(1)) : T(0);
  const bool fraction = y < 0;
  Wrapping<T> base = static_cast<Wrapping<T>>(x), result = 1;
  for (; y > 0; y >>= 1) {
    result = (y & 1) != 0 ? result * base : result;
    base = base * base;
  }
  return fraction ? inverse : static_cast<T>(result);
}
template <class T>
SG_ALU_FN T pow(T x, T y) {
  if constexpr (std::is_same_v<T, bool>) return x | !y;
  else if constexpr (std::is_integral_v<T>) return integer_pow(x, y);
  else return float_pow(x, y);
}
