// Included by alu.hpp inside its namespace: rounding to whole numbers, remainders, and integers as bits.
// Nothing here traps: dividing an integer by zero gives 0 with remainder 0, the smallest integer over -1 wraps around,
// and a shift of all bits or more, or by a negative count, leaves the sign (right) or nothing (left).

template <class T>
SG_ALU_FN T floor(T a) {
  if constexpr (sizeof(T) == 4)
    return __builtin_floorf(a);
  else
    return __builtin_floor(a);
}
// To the nearest whole number, ties to even.
template <class T>
SG_ALU_FN T rint(T a) {
  const T size = abs(a);
  const T near = (size + kOneInt<T>)-kOneInt<T>;
  const T y = size < kOneInt<T> ? near : size;
  return is_nan(a) ? a : from_bits<T>(to_bits(y) | (to_bits(a) & Layout<T>::kSign));
}

// A positive finite number as an integer of all its digits, times 2^exponent.
template <class T>
struct Whole {
  BitsOf<T> digits;
  int exponent;
};
template <class T>
SG_ALU_FN Whole<T> whole(BitsOf<T> b) {
  constexpr int mantissa = Layout<T>::kMantissa;
  constexpr BitsOf<T> one = BitsOf<T>(1) << mantissa;
  const bool denormal = b < one;
  const BitsOf<T> v = denormal ? to_bits(static_cast<T>(b & (one - 1))) : b;
  const int field = static_cast<int>(v >> mantissa);
  return {(v & (one - 1)) | one,
          field - (denormal ? 2 * (Layout<T>::kBias + mantissa) - 1 : Layout<T>::kBias + mantissa)};
}

// The remainder of a / b rounded to zero, exact for all finite numbers: long division, as many bits a step as the word
// has room for.
template <class T>
SG_ALU_FN T fmod(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const bool none = (b == T(0)) | (b == T(-1));
    const T r = static_cast<T>(a % (none ? T(1) : b));
    return none ? T(0) : r;
  } else {
    using L = Layout<T>;
    constexpr int room = static_cast<int>(sizeof(T)) * 8 - L::kMantissa - 1;
    const BitsOf<T> ua = to_bits(a) & ~L::kSign, ub = to_bits(b) & ~L::kSign;
    if ((ua >= L::kInf) | (ub > L::kInf) | (ub == 0)) return from_bits<T>(L::kNan);
    if (ua < ub) return a;
    const Whole<T> x = whole<T>(ua), y = whole<T>(ub);
    BitsOf<T> digits = x.digits % y.digits;
    for (int left = x.exponent - y.exponent; left > 0; left -= room)
      digits = (digits << (left < room ? left : room)) % y.digits;
    const T r = scale(static_cast<T>(digits), static_cast<T>(y.exponent));
    return from_bits<T>(to_bits(r) | (to_bits(a) & L::kSign));
  }
}

template <class T>
SG_ALU_FN T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
SG_ALU_FN T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
SG_ALU_FN T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
SG_ALU_FN T shift_left(T a, T b) {
  constexpr T width = static_cast<T>(sizeof(T) * 8);
  const bool inside = (b >= T(0)) & (b < width);
  const Wrapping<T> moved = static_cast<Wrapping<T>>(a) << (inside ? b : T(0));
  return inside ? static_cast<T>(moved) : T(0);
}
template <class T>
SG_ALU_FN T shift_right(T a, T b) {
  constexpr T last = static_cast<T>(sizeof(T) * 8 - 1);
  const bool inside = (b >= T(0)) & (b < last);
  return static_cast<T>(a >> (inside ? b : last));
}
