// Included by alu.hpp inside its namespace: sine and cosine of any finite number. The argument is reduced by the method
// of Payne and Hanek (1983): x = M * 2^e with M an integer; of 2/pi * 2^(e-2) only the bits below the binary point
// matter, because whole multiples of four quarter turns drop out. The product with M is exact integer arithmetic, one
// path for all sizes, so that vector lanes never part.

// |x| = quarter * pi/2 + hi + lo, with hi in [-pi/4, pi/4].
template <class T>
struct Reduced {
  T hi, lo;
  uint32_t quarter;
};

// th + tl quarter turns in radians; `flip` is the sign bit or 0.
template <class T>
SG_ALU_FN Reduced<T> radians(T th, T tl, BitsOf<T> flip, uint32_t quarter) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T c = single ? T(0x1.921fb6p+0) : T(0x1.921fb54442d18p+0);
  constexpr T c_hi = single ? T(0x1.92p+0) : T(0x1.921fb5p+0);
  constexpr T c_lo = single ? T(0x1.fb5444p-12) : T(0x1.110b4611a6263p-26);
  const T t = head(th);
  const T exact = t * c_hi, rest = t * c_lo + ((th - t) + tl) * c;
  const T hi = exact + rest, lo = (exact - hi) + rest;
  return {from_bits<T>(to_bits(hi) ^ flip), from_bits<T>(to_bits(lo) ^ flip), quarter};
}

// Word i of five. By masks: they vectorise, while a compiler turns conditions on i into a table look-up.
struct Choice {
  uint32_t above[4];
};
SG_ALU_FN Choice choose(uint32_t i) {
  return {{0u - uint32_t(i > 0u), 0u - uint32_t(i > 1u), 0u - uint32_t(i > 2u), 0u - uint32_t(i > 3u)}};
}
SG_ALU_FN uint32_t pick(Choice i, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e) {
  return a ^ (i.above[0] & (a ^ b)) ^ (i.above[1] & (b ^ c)) ^ (i.above[2] & (c ^ d)) ^ (i.above[3] & (d ^ e));
}
SG_ALU_FN uint32_t join(uint32_t a, uint32_t b, uint32_t shift) { return (a << shift) | ((b >> 1) >> (31 - shift)); }

SG_ALU_FN Reduced<float> reduce(float x) {
  const uint32_t b = to_bits(x) & 0x7fffffffu;
  const uint32_t exponent = b >> 23, m = (b & 0x7fffffu) | 0x800000u;
  const uint32_t offset = exponent < 126u ? 0u : exponent - 120u;  // the words below open with 32 zeros
  const uint32_t shift = offset & 31u;
  const Choice i = choose(offset >> 5);
  const uint32_t a = pick(i, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u);
  const uint32_t c = pick(i, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u);
  const uint32_t d = pick(i, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
  const uint32_t e = pick(i, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
  const uint64_t middle = uint64_t(join(c, d, shift)) * m;
  const uint32_t last = static_cast<uint32_t>((uint64_t(join(d, e, shift)) * m) >> 32);
  const uint32_t lo = static_cast<uint32_t>(middle) + last;
  const uint32_t hi = join(a, c, shift) * m + static_cast<uint32_t>(middle >> 32) + (lo < last ? 1u : 0u);
  const uint32_t quarter = (hi + 0x20000000u) >> 30;  // hi.lo is the angle in units of four quarter turns
  const uint32_t part = hi - (quarter << 30);
  const uint32_t mask = (part & 0x80000000u) != 0 ? 0xffffffffu : 0u;
  const uint32_t h = part ^ mask, l = lo ^ mask;
  const float t0 = static_cast<float>(static_cast<int32_t>(h >> 6)) * 0x1p-24f;
  const float t1 = static_cast<float>(static_cast<int32_t>(((h & 63u) << 17) | (l >> 15))) * 0x1p-47f;
  const float t2 = static_cast<float>(static_cast<int32_t>(l & 0x7fffu)) * 0x1p-62f;
  const float th = t0 + t1, tl = ((t0 - th) + t1) + t2;
  const Reduced<float> r = radians<float>(th, tl, mask & 0x80000000u, quarter);
  const bool small = exponent < 126u;  // below 1/2
  return {small ? from_bits<float>(b) : r.hi, small ? 0.0f : r.lo, small ? 0u : r.quarter};
}

// After 64 zeros, the bits of 2/pi.
inline constexpr uint32_t kTwoOverPi[39] = {
    0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u};

SG_ALU_FN double counted(uint64_t n) { return from_bits<double>(n | 0x4330000000000000u) - kOneInt<double>; }

SG_ALU_FN Reduced<double> reduce(double x) {
  const uint64_t b = to_bits(x) & ~Layout<double>::kSign, low32 = 0xffffffffu;
  const uint32_t exponent = static_cast<uint32_t>(b >> 52);
  const uint64_t m0 = ((b >> 32) & 0xfffffu) | 0x100000u, m1 = b & low32;
  const uint32_t offset = exponent < 1022u ? 0u : exponent - 1013u;
  const uint32_t* t = kTwoOverPi + (offset >> 5);
  const uint32_t shift = offset & 31u;
  const uint64_t w0 = join(t[0], t[1], shift), w1 = join(t[1], t[2], shift), w2 = join(t[2], t[3], shift);
  const uint64_t w3 = join(t[3], t[4], shift), w4 = join(t[4], t[5], shift), w5 = join(t[5], t[6], shift);
  const uint64_t p1 = w1 * m1, p2 = w2 * m1, p3 = w3 * m1, p4 = w4 * m1;
  const uint64_t q1 = w1 * m0, q2 = w2 * m0, q3 = w3 * m0, q4 = w4 * m0, q5 = w5 * m0;
  const uint64_t a3 = (p3 & low32) + (p4 >> 32) + (q4 & low32) + (q5 >> 32);
  const uint64_t a2 = (a3 >> 32) + (p2 & low32) + (p3 >> 32) + (q3 & low32) + (q4 >> 32);
  const uint64_t a1 = (a2 >> 32) + (p1 & low32) + (p2 >> 32) + (q2 & low32) + (q3 >> 32);
  const uint64_t a0 = (a1 >> 32) + w0 * m1 + (p1 >> 32) + (q1 & low32) + (q2 >> 32);
  const uint64_t hi = (a0 << 32) | (a1 & low32), lo = (a2 << 32) | (a3 & low32);
  const uint64_t quarter = (hi + 0x2000000000000000u) >> 62;
  const uint64_t part = hi - (quarter << 62);
  const uint64_t mask = (part & Layout<double>::kSign) != 0 ? ~uint64_t(0) : 0u;
  const uint64_t h = part ^ mask, l = lo ^ mask;
  const double t0 = counted(h >> 9) * 0x1p-53;
  const double t1 = counted(((h & 511u) << 43) | (l >> 21)) * 0x1p-105;
  const double t2 = counted(l & 0x1fffffu) * 0x1p-126;
  const double th = t0 + t1, tl = ((t0 - th) + t1) + t2;
  const Reduced<double> r =
      radians<double>(th, tl, mask & Layout<double>::kSign, static_cast<uint32_t>(quarter));
  const bool small = exponent < 1022u;
  return {small ? from_bits<double>(b) : r.hi, small ? 0.0 : r.lo, small ? 0u : r.quarter};
}

// sin(r + quarter * pi/2), its sign flipped by `flip`; NaN where x is not finite.
template <class T>
SG_ALU_FN T turned_sine(T x, Reduced<T> r, uint32_t quarter, BitsOf<T> flip) {
  using L = Layout<T>;
  const T z = r.hi * r.hi;
  T s, c;
  if constexpr (sizeof(T) == 4) {
    s = polynomial<T>(z, -1.66666642e-1f, 8.33274797e-3f, -1.95878412e-4f);
    c = polynomial<T>(z, 4.16666642e-2f, -1.38883025e-3f, 2.45478914e-5f);
  } else {
    s = polynomial<T>(z, -1.6666666666666666e-1, 8.3333333333333315e-3, -1.984126984126506e-4, 2.7557319219335453e-6,
                      -2.5052106231157904e-8, 1.6058531414589011e-10, -7.5866850700912671e-13);
    c = polynomial<T>(z, 4.1666666666666664e-2, -1.3888888888888887e-3, 2.4801587301584645e-5, -2.755731922140076e-7,
                      2.0876755790363397e-9, -1.1470460773969325e-11, 4.7458652037874553e-14);
  }
  const T sine = r.hi + (r.hi * z * s + r.lo);
  const T half = T(0.5) * z, w = T(1) - half;
  const T cosine = w + (((T(1) - w) - half) + (z * z * c - r.hi * r.lo));
  const BitsOf<T> turn = (quarter & 2u) != 0 ? L::kSign : BitsOf<T>(0);
  const T y = from_bits<T>(to_bits((quarter & 1u) != 0 ? cosine : sine) ^ turn ^ flip);
  const bool finite = (to_bits(x) & ~L::kSign) < L::kInf;
  return finite ? y : from_bits<T>(L::kNan);
}
template <class T>
SG_ALU_FN T sin(T x) {
  const Reduced<T> r = reduce(x);
  return turned_sine(x, r, r.quarter, to_bits(x) & Layout<T>::kSign);
}
template <class T>
SG_ALU_FN T cos(T x) {
  const Reduced<T> r = reduce(x);
  return turned_sine(x, r, r.quarter + 1u, BitsOf<T>(0));
}
