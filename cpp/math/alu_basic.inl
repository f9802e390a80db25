// Included by alu.hpp inside its namespace: arithmetic, comparison, choice and conversion.

// How a float type is laid out.
template <class T>
struct Layout;
template <>
struct Layout<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 127;
  static constexpr Bits kSign = 0x80000000u;
  static constexpr Bits kInf = 0x7f800000u;
  static constexpr Bits kNan = 0x7fc00000u;
  static constexpr Bits kHead = 0xfffff000u;  // keeps 12 bits: the product of two heads is exact
};
template <>
struct Layout<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
  static constexpr Bits kSign = 0x8000000000000000u;
  static constexpr Bits kInf = 0x7ff0000000000000u;
  static constexpr Bits kNan = 0x7ff8000000000000u;
  static constexpr Bits kHead = 0xfffffffff8000000u;  // keeps 26 bits
};
template <class T>
using BitsOf = typename Layout<T>::Bits;

template <class T>
SG_ALU_FN BitsOf<T> to_bits(T x) {
  return std::bit_cast<BitsOf<T>>(x);
}
template <class T>
SG_ALU_FN T from_bits(BitsOf<T> b) {
  return std::bit_cast<T>(b);
}
template <class T>
SG_ALU_FN bool is_nan(T x) {
  return (to_bits(x) & ~Layout<T>::kSign) > Layout<T>::kInf;
}
// Integers compute as unsigned numbers of at least 32 bits: overflow wraps around.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
SG_ALU_FN T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  else return a + b;
}
template <class T>
SG_ALU_FN T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  else return a - b;
}
template <class T>
SG_ALU_FN T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  else return a * b;
}
template <class T>
SG_ALU_FN T neg(T a) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
  else return -a;
}
template <class T>
SG_ALU_FN T div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const T q = static_cast<T>(a / ((b == T(0)) | (b == T(-1)) ? T(1) : b));
    return b == T(0) ? T(0) : (b == T(-1) ? neg(a) : q);
  } else {
    return a / b;
  }
}
template <class T>
SG_ALU_FN T abs(T a) {
  if constexpr (std::is_same_v<T, bool>) return a;
  else if constexpr (std::is_integral_v<T>) return a < T(0) ? neg(a) : a;
  else return from_bits<T>(to_bits(a) & ~Layout<T>::kSign);
}
template <class T>
SG_ALU_FN T maximum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    const bool first = is_nan(a);
    return (first | (a >= b)) ? a : b;
  }
}
template <class T>
SG_ALU_FN T minimum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {
    const bool first = is_nan(a);
    return (first | (a <= b)) ? a : b;
  }
}
template <class T>
SG_ALU_FN T sqrt(T a) {
  if constexpr (sizeof(T) == 4) return __builtin_sqrtf(a);
  else return __builtin_sqrt(a);
}

template <class T>
SG_ALU_FN bool lt(T a, T b) {
  return a < b;
}
template <class T>
SG_ALU_FN bool le(T a, T b) {
  return a <= b;
}
template <class T>
SG_ALU_FN bool eq(T a, T b) {
  return a == b;
}
template <class T>
SG_ALU_FN bool ne(T a, T b) {
  return a != b;
}
template <class T>
SG_ALU_FN T select(bool condition, T if_true, T if_false) {
  return condition ? if_true : if_false;
}

// Float to integer truncates; NaN and values out of range give the smallest integer. Integers wrap around.
template <class To, class From>
SG_ALU_FN To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr From limit = sizeof(To) == 8 ? From(9223372036854775808.0) : From(2147483648.0);
    const bool fits = (x >= -limit) & (x < limit);
    const To whole = static_cast<To>(fits ? x : From(0));
    return fits ? whole : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(x);
  }
}

// float16 and bfloat16 are bits; a float is rounded to the nearest, ties to even, and every NaN becomes one.
// Twin: shaders/common.glsl.
SG_ALU_FN uint16_t to_bfloat16(float x) {
  const uint32_t b = to_bits(x);
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(is_nan(x) ? 0x7fc0u : rounded);
}
SG_ALU_FN float from_bfloat16(uint16_t h) { return from_bits<float>(static_cast<uint32_t>(h) << 16); }
SG_ALU_FN uint16_t to_float16(float x) {
  const uint32_t sign = (to_bits(x) >> 16) & 0x8000u, b = to_bits(x) & 0x7fffffffu;
  // Below 2^-14 the sum with 1/2 leaves the multiple of 2^-24 in the low bits.
  const uint32_t small = to_bits(from_bits<float>(b) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (b - 0x38000000u + 0xfffu + ((b >> 13) & 1u)) >> 13;
  const uint32_t big = b > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t h = b >= 0x47800000u ? big : (b < 0x38800000u ? small : normal);
  return static_cast<uint16_t>(b > 0x7f800000u ? h : h | sign);
}
SG_ALU_FN float from_float16(uint16_t h) {
  const uint32_t sign = (static_cast<uint32_t>(h) & 0x8000u) << 16, b = (static_cast<uint32_t>(h) & 0x7fffu) << 13;
  const float small = from_bits<float>(b + 0x38800000u) - 0x1p-14f;
  const uint32_t normal = b + (b >= 0x0f800000u ? 0x70000000u : 0x38000000u);
  return from_bits<float>((b < 0x00800000u ? to_bits(small) : normal) | sign);
}
