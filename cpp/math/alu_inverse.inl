// Included by alu.hpp inside its namespace: the angle of a point, from which the inverse circular functions are made.

// Folded into the first octant, small / large = tan(angle); above tan(pi/8) turned by -pi/4, which costs no second
// division: (small - large) / (small + large). Back by pi/4, pi/2 and pi, each as a sum of two numbers.
template <class T>
SG_ALU_FN T atan2(T y, T x) {
  using L = Layout<T>;
  constexpr bool single = sizeof(T) == 4;
  constexpr T quarter_hi = single ? T(0x1.921fb6p-1) : T(0x1.921fb54442d18p-1);  // pi/4
  constexpr T quarter_lo = single ? T(-0x1.777a5cp-26) : T(0x1.1a62633145c07p-55);
  constexpr T huge = single ? T(0x1p120) : T(0x1p1000), tiny = single ? T(0x1p-90) : T(0x1p-900);
  const T ay = abs(y), ax = abs(x);
  const bool steep = ay > ax;
  const T large = steep ? ay : ax, small = steep ? ax : ay;
  const T unit = large > huge ? T(0x1p-30) : (large < tiny ? T(0x1p60) : T(1));  // keeps sums and quotients in range
  const bool same = small == large, infinite = !same & (large > std::numeric_limits<T>::max());
  const bool at_zero = large == T(0);
  const T l = (same | infinite) ? T(1) : large * unit;
  const T s = (at_zero | infinite) ? T(0) : (same ? T(1) : small * unit);
  const bool turned = s > l * T(0.41421356);
  const T t = div(turned ? s - l : s, turned ? s + l : l), z = t * t;
  T p;
  if constexpr (single) {
    p = polynomial<T>(z, -3.33333313e-1f, 1.99995399e-1f, -1.42639443e-1f, 1.07436053e-1f, -6.45150915e-2f);
  } else {
    p = polynomial<T>(z, -3.3333333333333331e-1, 1.9999999999995513e-1, -1.4285714284664819e-1, 1.1111111015117626e-1,
                      -9.0909045724873475e-2, 7.6921830598941143e-2, -6.6645096032553863e-2, 5.8581328944279219e-2,
                      -5.0853659223442482e-2, 3.9229237138359428e-2, -1.9173922285547929e-2);
  }
  const T arc = t + t * z * p;
  // The angle is turns * pi/4 + sign * arc.
  const bool left = (to_bits(x) & L::kSign) != 0;
  const T first = turned ? T(1) : T(0);
  const T folded = steep ? T(2) - first : first;
  const T turns = left ? T(4) - folded : folded;
  const T signed_arc = steep != left ? -arc : arc;
  const T angle = turns * quarter_hi + (signed_arc + turns * quarter_lo);
  const bool nan = is_nan(x) | is_nan(y);
  return nan ? from_bits<T>(L::kNan) : from_bits<T>((to_bits(angle) & ~L::kSign) | (to_bits(y) & L::kSign));
}
