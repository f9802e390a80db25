// Machine functions on the CPU: error bounds against a wider type, special values, integers, casts, Philox.
// docs/numerics.md states the same bounds; the references are the C library's functions one type up.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "math/alu.hpp"

#define SG_ALU_NAMESPACE sg::alu_again
#include "math/alu.hpp"

namespace alu = sg::alu;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance from the exact value in units of the last place that T has there. Infinite where one side alone is NaN,
// or where infinity and a number more than a rounding apart meet.
template <class T, class Wide>
double ulps(T got, Wide exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded) ? 0 : kInf;
  if (got == rounded && (std::isinf(got) || got == 0)) return 0;
  if (std::isinf(got) || std::isinf(rounded)) {
    const T other = std::isinf(got) ? rounded : got;
    return std::abs(other) == std::numeric_limits<T>::max() ? 1 : kInf;
  }
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int unit = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::ldexp(std::abs(static_cast<Wide>(got) - exact), -unit));
}

// Every 9973rd bit pattern: 430,000 numbers of every size, with infinities' and NaNs' neighbourhoods.
template <class F, class Reference>
double worst_float(F f, Reference reference) {
  double worst = 0;
  for (uint64_t b = 0; b < (uint64_t(1) << 32); b += 9973) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(b));
    worst = std::max(worst, ulps(f(x), reference(static_cast<double>(x))));
  }
  return worst;
}

// Random bits, and random numbers in [-limit, limit] on a linear and a logarithmic scale.
template <class F, class Reference>
double worst_double(F f, Reference reference, double limit) {
  std::mt19937_64 random(7);
  double worst = 0;
  for (int i = 0; i < 150000; ++i) {
    const uint64_t bits = random();
    const double linear = limit * static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63;
    const double x = i % 3 == 0 ? std::bit_cast<double>(bits)
                                : (i % 3 == 1 ? linear : std::ldexp(linear, -static_cast<int>(bits % 60)));
    worst = std::max(worst, ulps(f(x), reference(static_cast<long double>(x))));
  }
  return worst;
}

template <class Wide>
Wide sigmoid(Wide x) {
  const Wide e = std::exp(-std::abs(x));
  return (x < 0 ? e : Wide(1)) / (Wide(1) + e);
}

// Bases of every size and near 1, exponents that keep the result in range, and random bits.
template <class T, class Wide>
double worst_pow(int count, double log2_range) {
  using Bits = alu::BitsOf<T>;
  std::mt19937_64 random(5);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t a = random(), b = random();
    T x = std::bit_cast<T>(static_cast<Bits>(a)), y = std::bit_cast<T>(static_cast<Bits>(b));
    if (i % 2 == 0) {
      const double fraction = static_cast<double>(a >> 12) * 0x1p-52;
      const T near_one = static_cast<T>(std::ldexp(1 + fraction, static_cast<int>(a % 3) - 1));
      x = i % 4 == 0 ? near_one : alu::abs(x);
      const double goal = log2_range * static_cast<double>(static_cast<int64_t>(b)) * 0x1p-63;
      y = static_cast<T>(goal / std::log2(static_cast<double>(x)));
    }
    const Wide exact = std::pow(static_cast<Wide>(x), static_cast<Wide>(y));
    worst = std::max(worst, ulps(alu::pow(x, y), exact));
  }
  return worst;
}

template <class T>
bool same(T a, T b) {
  return alu::is_nan(a) ? alu::is_nan(b) : alu::to_bits(a) == alu::to_bits(b);
}

}  // namespace

TEST_CASE("float functions stay within their bounds over all sizes") {
  CHECK(worst_float([](float x) { return alu::exp(x); }, [](double x) { return std::exp(x); }) < 1.1);
  CHECK(worst_float([](float x) { return alu::log(x); }, [](double x) { return std::log(x); }) < 1.0);
  CHECK(worst_float([](float x) { return alu::tanh(x); }, [](double x) { return std::tanh(x); }) < 2.6);
  CHECK(worst_float([](float x) { return alu::sigmoid(x); }, [](double x) { return sigmoid(x); }) < 2.5);
  CHECK(worst_float([](float x) { return alu::sin(x); }, [](double x) { return std::sin(x); }) < 1.1);
  CHECK(worst_float([](float x) { return alu::cos(x); }, [](double x) { return std::cos(x); }) < 1.1);
  CHECK(worst_float([](float x) { return alu::sqrt(x); }, [](double x) { return std::sqrt(x); }) <= 0.5);
  CHECK(worst_pow<float, double>(400000, 155) < 1.5);
  CHECK(worst_float([](float x) { return alu::expm1(x); }, [](double x) { return std::expm1(x); }) < 1.8);
  CHECK(worst_float([](float x) { return alu::log1p(x); }, [](double x) { return std::log1p(x); }) < 1.5);
  CHECK(worst_float([](float x) { return alu::exp2(x); }, [](double x) { return std::exp2(x); }) < 1.2);
  CHECK(worst_float([](float x) { return alu::log2(x); }, [](double x) { return std::log2(x); }) < 0.6);
  CHECK(worst_float([](float x) { return alu::log10(x); }, [](double x) { return std::log10(x); }) < 0.6);
  CHECK(worst_float([](float x) { return alu::erf(x); }, [](double x) { return std::erf(x); }) < 1.6);
  CHECK(worst_float([](float x) { return alu::erfc(x); }, [](double x) { return std::erfc(x); }) < 3.2);
  CHECK(worst_float([](float x) { return alu::atan2(x, 1.0f); }, [](double x) { return std::atan(x); }) < 2.3);
  CHECK(worst_float([](float x) { return alu::rint(x); }, [](double x) { return std::nearbyint(x); }) == 0);
  CHECK(worst_float([](float x) { return alu::floor(x); }, [](double x) { return std::floor(x); }) == 0);
}

TEST_CASE("double functions stay within their bounds") {
  using Wide = long double;
  CHECK(worst_double([](double x) { return alu::exp(x); }, [](Wide x) { return std::exp(x); }, 746) < 1.1);
  CHECK(worst_double([](double x) { return alu::log(x); }, [](Wide x) { return std::log(x); }, 4) < 1.0);
  CHECK(worst_double([](double x) { return alu::tanh(x); }, [](Wide x) { return std::tanh(x); }, 22) < 1.5);
  CHECK(worst_double([](double x) { return alu::sigmoid(x); }, [](Wide x) { return sigmoid(x); }, 746) < 2.5);
  CHECK(worst_double([](double x) { return alu::sin(x); }, [](Wide x) { return std::sin(x); }, 1e5) < 1.1);
  CHECK(worst_double([](double x) { return alu::cos(x); }, [](Wide x) { return std::cos(x); }, 1e5) < 1.1);
  CHECK(worst_pow<double, Wide>(150000, 1100) < 1.6);
  CHECK(worst_double([](double x) { return alu::expm1(x); }, [](Wide x) { return std::expm1(x); }, 60) < 2.0);
  CHECK(worst_double([](double x) { return alu::log1p(x); }, [](Wide x) { return std::log1p(x); }, 3) < 1.5);
  CHECK(worst_double([](double x) { return alu::exp2(x); }, [](Wide x) { return std::exp2(x); }, 1080) < 1.2);
  CHECK(worst_double([](double x) { return alu::log2(x); }, [](Wide x) { return std::log2(x); }, 4) < 0.6);
  CHECK(worst_double([](double x) { return alu::log10(x); }, [](Wide x) { return std::log10(x); }, 4) < 0.6);
  CHECK(worst_double([](double x) { return alu::erf(x); }, [](Wide x) { return std::erf(x); }, 7) < 1.6);
  CHECK(worst_double([](double x) { return alu::erfc(x); }, [](Wide x) { return std::erfc(x); }, 27) < 3.5);
  CHECK(worst_double([](double x) { return alu::atan2(x, 1.0); }, [](Wide x) { return std::atan(x); }, 4) < 2.4);
}

TEST_CASE("powers of two and ten are exact") {
  for (int i = -149; i < 128; ++i) {
    CHECK(alu::exp2(static_cast<float>(i)) == std::ldexp(1.0f, i));
    CHECK(alu::log2(std::ldexp(1.0f, i)) == static_cast<float>(i));
  }
  for (int i = -1074; i < 1024; ++i) {
    CHECK(alu::exp2(static_cast<double>(i)) == std::ldexp(1.0, i));
    CHECK(alu::log2(std::ldexp(1.0, i)) == i);
  }
  double ten = 1;
  for (int i = 0; i <= 22; ++i, ten *= 10) {
    CHECK(alu::log10(ten) == i);
    if (i <= 10) CHECK(alu::log10(static_cast<float>(ten)) == static_cast<float>(i));
  }
}

TEST_CASE("the angle of every pair of special values is C99's, within its bound") {
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 1e-30f, -1e-30f, 3e38f, -3e38f, 0.5f};
  for (float y : values) {
    for (float x : values) {
      INFO("y = " << y << ", x = " << x);
      CHECK(ulps(alu::atan2(y, x), std::atan2(static_cast<double>(y), static_cast<double>(x))) < 2.3);
      if (!std::isnan(alu::atan2(y, x))) CHECK(std::signbit(alu::atan2(y, x)) == std::signbit(y));
      const double dy = y, dx = x;
      CHECK(ulps(alu::atan2(dy, dx), std::atan2(static_cast<long double>(dy), static_cast<long double>(dx))) < 2.4);
    }
  }
}

TEST_CASE("remainders of floats are exact for all sizes, denormals included") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    const float a = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const float b = std::bit_cast<float>(static_cast<uint32_t>(bits >> 32));
    CHECK(same(alu::fmod(a, b), std::fmod(a, b)));
    const double c = std::bit_cast<double>(bits), d = std::bit_cast<double>(random());
    CHECK(same(alu::fmod(c, d), std::fmod(c, d)));
  }
  CHECK(same(alu::fmod(-6.0f, 3.0f), -0.0f));
  CHECK(alu::is_nan(alu::fmod(1.0f, 0.0f)));
  CHECK(same(alu::fmod(1.0f, kInf), 1.0f));
}

TEST_CASE("integer division, remainders and shifts are defined everywhere") {
  constexpr int32_t low = std::numeric_limits<int32_t>::min();
  constexpr int64_t low64 = std::numeric_limits<int64_t>::min();
  CHECK(alu::div(7, 0) == 0);
  CHECK(alu::div(low, -1) == low);
  CHECK(alu::div(low64, int64_t(-1)) == low64);
  CHECK(alu::div(-7, 2) == -3);
  CHECK(alu::fmod(7, 0) == 0);
  CHECK(alu::fmod(low, -1) == 0);
  CHECK(alu::fmod(-7, 2) == -1);
  for (int32_t count : {32, 33, 1 << 20, -1, low}) {
    CHECK(alu::shift_left(5, count) == 0);
    CHECK(alu::shift_right(5, count) == 0);
    CHECK(alu::shift_right(-5, count) == -1);
  }
  CHECK(alu::shift_left(1, 31) == low);
  CHECK(alu::shift_right(low, 31) == -1);
  CHECK(alu::shift_left(int64_t(1), int64_t(63)) == low64);
  CHECK(alu::bit_xor(5, 3) == 6);
}

TEST_CASE("the argument closest to a multiple of pi/2 keeps its digits") {
  const float x = std::ldexp(16367173.0f, 72);
  CHECK(ulps(alu::cos(x), std::cos(static_cast<double>(x))) < 1.1);
  const double y = std::ldexp(6381956970095103.0, 797);
  CHECK(ulps(alu::cos(y), std::cos(static_cast<long double>(y))) < 1.1);
}

TEST_CASE("special values of one argument") {
  CHECK(same(alu::exp(kInf), kInf));
  CHECK(same(alu::exp(-kInf), 0.0f));
  CHECK(same(alu::exp(89.0f), kInf));
  CHECK(same(alu::exp(-104.0f), 0.0f));
  CHECK(same(alu::exp(0.0f), 1.0f));
  CHECK(same(alu::log(0.0f), -kInf));
  CHECK(same(alu::log(-0.0f), -kInf));
  CHECK(same(alu::log(1.0f), 0.0f));
  CHECK(same(alu::log(kInf), kInf));
  CHECK(alu::is_nan(alu::log(-1.0f)));
  CHECK(alu::is_nan(alu::log(-kInf)));
  CHECK(same(alu::tanh(kInf), 1.0f));
  CHECK(same(alu::tanh(-kInf), -1.0f));
  CHECK(same(alu::tanh(-0.0f), -0.0f));
  CHECK(same(alu::sigmoid(kInf), 1.0f));
  CHECK(same(alu::sigmoid(-kInf), 0.0f));
  CHECK(alu::sigmoid(-100.0f) > 0.0f);
  CHECK(same(alu::sin(-0.0f), -0.0f));
  CHECK(same(alu::cos(0.0f), 1.0f));
  for (float x : {kInf, -kInf, kNan}) {
    CHECK(alu::is_nan(alu::sin(x)));
    CHECK(alu::is_nan(alu::cos(static_cast<double>(x))));
  }
  CHECK(alu::is_nan(alu::exp(kNan)));
  CHECK(alu::is_nan(alu::log(kNan)));
  CHECK(alu::is_nan(alu::tanh(kNan)));
  CHECK(alu::is_nan(alu::sigmoid(kNan)));
  CHECK(alu::is_nan(alu::sqrt(-1.0f)));
  CHECK(same(alu::sqrt(-0.0f), -0.0f));
}

TEST_CASE("pow follows C99 for every pair of special values") {
  const float values[] = {0.0f,   -0.0f, 1.0f,   -1.0f,       2.0f,        -2.0f,        3.0f,
                          -3.0f,  0.5f,  -0.5f,  kInf,        -kInf,       kNan,         1.5f,
                          1e-45f, 1e38f, -1e38f, 16777215.0f, 16777216.0f, -16777217.0f, 8388607.5f};
  for (float x : values) {
    for (float y : values) {
      INFO("x = " << x << ", y = " << y);
      CHECK(ulps(alu::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))) < 1.5);
      if (!std::isnan(alu::pow(x, y))) CHECK(std::signbit(alu::pow(x, y)) == std::signbit(std::pow(x, y)));
      const double dx = x, dy = y;
      CHECK(ulps(alu::pow(dx, dy), std::pow(static_cast<long double>(dx), static_cast<long double>(dy))) < 1.6);
    }
  }
}

TEST_CASE("pow of small integers is exact") {
  for (int x = 1; x <= 20; ++x) {
    int64_t product = 1;
    for (int y = 0; y <= 5; ++y, product *= x) {
      INFO("x = " << x << ", y = " << y);
      CHECK(alu::pow(static_cast<float>(x), static_cast<float>(y)) == static_cast<float>(product));
      CHECK(alu::pow(static_cast<double>(x), static_cast<double>(y)) == static_cast<double>(product));
      CHECK(alu::pow(int64_t(x), int64_t(y)) == product);
    }
  }
  CHECK(alu::pow(int32_t(-3), int32_t(3)) == -27);
  CHECK(alu::pow(int32_t(2), int32_t(31)) == std::numeric_limits<int32_t>::min());
  CHECK(alu::pow(int32_t(2), int32_t(32)) == 0);
}

TEST_CASE("maximum and minimum hand NaN on from either side") {
  CHECK(alu::is_nan(alu::maximum(kNan, 1.0f)));
  CHECK(alu::is_nan(alu::maximum(1.0f, kNan)));
  CHECK(alu::is_nan(alu::minimum(kNan, -kInf)));
  CHECK(alu::is_nan(alu::minimum(-kInf, kNan)));
  CHECK(alu::maximum(-2.0, 3.0) == 3.0);
  CHECK(alu::minimum(-2.0, 3.0) == -2.0);
  CHECK(alu::maximum(int64_t(-2), int64_t(3)) == 3);
  CHECK(alu::maximum(false, true));
  CHECK_FALSE(alu::minimum(false, true));
}

TEST_CASE("integers wrap around") {
  constexpr int32_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  CHECK(alu::add(high, 1) == low);
  CHECK(alu::sub(low, 1) == high);
  CHECK(alu::mul(high, 2) == -2);
  CHECK(alu::neg(low) == low);
  CHECK(alu::abs(low) == low);
  CHECK(alu::abs(int64_t(-5)) == 5);
  CHECK(alu::add(std::numeric_limits<int64_t>::max(), int64_t(1)) == std::numeric_limits<int64_t>::min());
  CHECK(alu::lt(1, 2));
  CHECK(alu::le(2.0, 2.0));
  CHECK(alu::ne(kNan, kNan));
  CHECK(alu::select(false, 1, 2) == 2);
}

TEST_CASE("casts truncate, and what does not fit gives the smallest integer") {
  constexpr int32_t low32 = std::numeric_limits<int32_t>::min();
  constexpr int64_t low64 = std::numeric_limits<int64_t>::min();
  CHECK(alu::cast<int32_t>(-1.9f) == -1);
  CHECK(alu::cast<int32_t>(2147483520.0f) == 2147483520);
  CHECK(alu::cast<int32_t>(2147483648.0f) == low32);
  CHECK(alu::cast<int32_t>(kNan) == low32);
  CHECK(alu::cast<int32_t>(-1e30) == low32);
  CHECK(alu::cast<int64_t>(kInf) == low64);
  CHECK(alu::cast<int64_t>(9007199254740993.0) == 9007199254740992);
  CHECK(alu::cast<int32_t>(int64_t(0x1ffffffff)) == -1);
  CHECK(alu::cast<bool>(0.5f));
  CHECK(alu::cast<bool>(kNan));
  CHECK_FALSE(alu::cast<bool>(-0.0));
  CHECK(alu::cast<float>(true) == 1.0f);
  CHECK(alu::cast<float>(int64_t(16777217)) == 16777216.0f);
}

TEST_CASE("Philox4x32-10 gives the published words") {
  struct Known {
    uint32_t counter[4], key[2], words[4];
  };
  const Known known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
                         {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                          {0xffffffffu, 0xffffffffu},
                          {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
                         {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u},
                          {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}};
  for (const Known& k : known) {
    const uint32_t* c = k.counter;
    const auto w = alu::philox(c[0], c[1], c[2], c[3], k.key[0], k.key[1]);
    CHECK((w.w0 == k.words[0] && w.w1 == k.words[1] && w.w2 == k.words[2] && w.w3 == k.words[3]));
  }
  const int64_t index = 0x123456789abcdef, seed = -77, offset = 0x7766554433221100;
  for (int64_t i = index; i < index + 8; ++i) {
    const uint64_t counter = static_cast<uint64_t>(i) / 4;
    const auto w = alu::philox(static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0x33221100u,
                               0x77665544u, 0xffffffb3u, 0xffffffffu);
    const uint32_t words[] = {w.w0, w.w1, w.w2, w.w3};
    CHECK(static_cast<uint32_t>(alu::random_bits(i, seed, offset)) == words[i % 4]);
  }
  CHECK(alu::unit_float(-1) == 1.0f - 0x1p-24f);
  CHECK(alu::unit_float(255) == 0.0f);
  CHECK(alu::unit_float(std::numeric_limits<int32_t>::min()) == 0.5f);
}

TEST_CASE("a second copy in another namespace gives the same bits") {
  for (float x = -20.0f; x < 20.0f; x += 0.37f) {
    CHECK(same(sg::alu_again::exp(x), alu::exp(x)));
    CHECK(same(sg::alu_again::sin(x), alu::sin(x)));
  }
}
