// Included by alu.hpp inside its namespace: relatives of exp and log that stay accurate where those two lose digits.

// With x = n ln2 + r and p = e^r - 1: 2^n p + (2^n - 1), without leaving the range.
template <class T>
SG_ALU_FN T expm1(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T lowest = T(-50.0), highest = single ? T(89.0) : T(710.0);  // below, -1 to the last place
  const T low = x < lowest ? lowest : x;
  const auto [n, r] = exp_reduce(low > highest ? highest : low);
  const T most = n > T(64) ? T(64) : n;  // beyond, one over 2^n no longer counts
  const T y = scale((r + r * r * exp_tail(r)) + (T(1) - power_of_two(-most)), n);
  return (is_nan(x) | (x == T(0))) ? x : y;
}

// log of u = 1 + x and the share of x that u lost.
template <class T>
SG_ALU_FN T log1p(T x) {
  const T u = T(1) + x;
  const T lost = x < T(1) ? x - (u - T(1)) : T(1) - (u - x);
  const bool counts = (u > T(0x1p-60)) & (u < T(0x1p60));
  const T y = log(u) + div(counts ? lost : T(0), counts ? u : T(1));
  return u == T(1) ? x : y;
}

template <class T>
SG_ALU_FN T exp2(T x) {
  return is_nan(x) ? x : exp2_pair(x, T(0));
}

// y, the logarithm of a finite x > 0; else -inf at 0, NaN below, and infinity and NaN as they are.
template <class T>
SG_ALU_FN T logarithm_or_special(T x, T y) {
  using L = Layout<T>;
  const BitsOf<T> b = to_bits(x);
  const T special = (is_nan(x) | (b == L::kInf)) ? x : from_bits<T>(L::kNan);
  return (b & ~L::kSign) == 0 ? from_bits<T>(L::kInf | L::kSign) : (b < L::kInf ? y : special);
}
template <class T>
SG_ALU_FN T log2(T x) {
  const Pair<T> l = log2_pair<T>(to_bits(x));
  return logarithm_or_special(x, l.hi + l.lo);
}
template <class T>
SG_ALU_FN T log10(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T c = single ? T(0x1.344136p-2) : T(0x1.34413509f79ffp-2);  // log10(2), and its first half with the rest
  constexpr T c_hi = single ? T(0x1.344p-2) : T(0x1.344135p-2);
  constexpr T c_lo = single ? T(0x1.3509f8p-18) : T(0x1.3ef3fde623e25p-31);
  const Pair<T> l = log2_pair<T>(to_bits(x));
  return logarithm_or_special(x, l.hi * c_hi + (l.hi * c_lo + l.lo * c));
}
