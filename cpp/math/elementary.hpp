// Pointwise ops made of exponentials, logarithms, angles and the error function. Form: math/pointwise.hpp.
// Both sides of a where() are computed: each stays finite where the other is chosen, and results that are odd in a are
// computed for |a|, so that tiny arguments and signed zeros come out.
#pragma once
#include <limits>

namespace sg::math {

inline constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046;

// y(|a|) with the sign of a; NaN and zeros as they are.
auto odd(auto a, auto y) { return where(a < 0, -y, where(a > 0, y, a)); }

struct Exp2 {
  static constexpr auto name = "exp2", doc = "2 to the power of a; exact for whole numbers.", result = "float",
                        saves = "o", autocast = "float32";
  static auto fwd(auto a) { return exp2(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * o * kLn2; }
};
struct Expm1 {
  static constexpr auto name = "expm1", doc = "exp(a) - 1, accurate for small a.", result = "float", saves = "a",
                        autocast = "float32";
  static auto fwd(auto a) { return expm1(a); }
  static auto vjp_a(auto g, auto a, auto) { return g * exp(a); }  // the result + 1 is 0 far below 0
};
struct Log1p {
  static constexpr auto name = "log1p", doc = "log(1 + a), accurate for small a.", result = "float", saves = "a",
                        autocast = "float32";
  static auto fwd(auto a) { return log1p(a); }
  static auto vjp_a(auto g, auto a, auto) { return g / (a + 1); }
};
struct Log2 {
  static constexpr auto name = "log2", doc = "The logarithm to base 2; exact for powers of two.", result = "float",
                        saves = "a", autocast = "float32";
  static auto fwd(auto a) { return log2(a); }
  static auto vjp_a(auto g, auto a, auto) { return g / (a * kLn2); }
};
struct Log10 {
  static constexpr auto name = "log10", doc = "The logarithm to base 10.", result = "float", saves = "a",
                        autocast = "float32";
  static auto fwd(auto a) { return log10(a); }
  static auto vjp_a(auto g, auto a, auto) { return g / (a * kLn10); }
};
struct Rsqrt {
  static constexpr auto name = "rsqrt", doc = "1 / sqrt(a), element by element.", result = "float", saves = "o",
                        autocast = "float32";
  static auto fwd(auto a) { return 1 / sqrt(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * -0.5 * (o * o * o); }
};
struct Reciprocal {
  static constexpr auto name = "reciprocal", doc = "1 / a, element by element.", result = "float", saves = "o",
                        autocast = "float32";
  static auto fwd(auto a) { return 1 / a; }
  static auto vjp_a(auto g, auto, auto o) { return -g * (o * o); }
};
struct Deg2rad {
  static constexpr auto name = "deg2rad", doc = "Degrees as radians.", result = "float", saves = "";
  static auto fwd(auto a) { return a * 0.017453292519943295; }
  static auto vjp_a(auto g, auto, auto) { return g * 0.017453292519943295; }
};
struct Rad2deg {
  static constexpr auto name = "rad2deg", doc = "Radians as degrees.", result = "float", saves = "";
  static auto fwd(auto a) { return a * 57.29577951308232; }
  static auto vjp_a(auto g, auto, auto) { return g * 57.29577951308232; }
};

struct Tan {
  static constexpr auto name = "tan", doc = "The tangent of a in radians.", result = "float", saves = "o",
                        autocast = "float32";
  static auto fwd(auto a) { return sin(a) / cos(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * (o * o + 1); }
};
struct Asin {
  static constexpr auto name = "asin", doc = "The angle in [-pi/2, pi/2] whose sine is a; NaN beyond 1.",
                        result = "float", saves = "a", autocast = "float32";
  static auto fwd(auto a) { return atan2(a, sqrt((1 - a) * (1 + a))); }
  static auto vjp_a(auto g, auto a, auto) { return g / sqrt((1 - a) * (1 + a)); }
};
struct Acos {
  static constexpr auto name = "acos", doc = "The angle in [0, pi] whose cosine is a; NaN beyond 1.", result = "float",
                        saves = "a", autocast = "float32";
  static auto fwd(auto a) { return atan2(sqrt((1 - a) * (1 + a)), a); }
  static auto vjp_a(auto g, auto a, auto) { return -g / sqrt((1 - a) * (1 + a)); }
};
struct Atan {
  static constexpr auto name = "atan", doc = "The angle in [-pi/2, pi/2] whose tangent is a.", result = "float",
                        saves = "a";
  static auto fwd(auto a) { return atan2(a, 1); }
  static auto vjp_a(auto g, auto a, auto) { return g / (a * a + 1); }
};
struct Atan2 {
  static constexpr auto name = "atan2", doc = "The angle of the point (b, a), in [-pi, pi], with C99's special values.",
                        result = "float", saves = "ab";
  static auto fwd(auto a, auto b) { return atan2(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) {
    const auto h = hypot(a, b);  // whose square might leave the range
    return where(h == 0, 0, g * (b / h / h));
  }
  static auto vjp_b(auto g, auto a, auto b, auto) {
    const auto h = hypot(a, b);
    return where(h == 0, 0, g * (-a / h / h));
  }
};
struct Hypot {
  static constexpr auto name = "hypot", doc = "sqrt(a * a + b * b), without overflow on the way.", result = "float",
                        saves = "ao|bo";
  static auto fwd(auto a, auto b) {
    const auto x = abs(a), y = abs(b), large = maximum(x, y), small = minimum(x, y);
    const auto ratio = where(large == 0, 0, small / large);
    const auto length = large * sqrt(1 + ratio * ratio);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return where(x == infinity, x, where(y == infinity, y, length));
  }
  static auto vjp_a(auto g, auto a, auto, auto o) { return g * (a / o); }
  static auto vjp_b(auto g, auto, auto b, auto o) { return g * (b / o); }
};

// exp(x) / 2 as the product of two numbers in range.
auto half_exp(auto x) {
  const auto root = exp(x * 0.5);
  return root * 0.5 * root;
}
struct Sinh {
  static constexpr auto name = "sinh", doc = "The hyperbolic sine, element by element.", result = "float", saves = "a",
                        autocast = "float32";
  static auto fwd(auto a) {
    const auto x = abs(a), e = expm1(minimum(x, 20));
    return odd(a, where(x < 20, (e + e / (e + 1)) * 0.5, half_exp(x)));
  }
  static auto vjp_a(auto g, auto a, auto) { return g * cosh(a); }
};
struct Cosh {
  static constexpr auto name = "cosh", doc = "The hyperbolic cosine, element by element.", result = "float",
                        saves = "a", autocast = "float32";
  static auto fwd(auto a) {
    const auto x = abs(a), e = exp(minimum(x, 20));
    return where(x < 20, e * 0.5 + 0.5 / e, half_exp(x));
  }
  static auto vjp_a(auto g, auto a, auto) { return g * sinh(a); }
};
struct Asinh {
  static constexpr auto name = "asinh", doc = "The number whose hyperbolic sine is a.", result = "float", saves = "a";
  static auto fwd(auto a) {
    const auto x = abs(a), c = minimum(x, 1e9), square = c * c;
    return odd(a, where(x < 1e9, log1p(c + square / (1 + sqrt(square + 1))), log(x) + kLn2));
  }
  static auto vjp_a(auto g, auto a, auto) { return g / sqrt(a * a + 1); }
};
struct Acosh {
  static constexpr auto name = "acosh", doc = "The number >= 0 whose hyperbolic cosine is a; NaN below 1.",
                        result = "float", saves = "a";
  static auto fwd(auto a) {
    const auto above = minimum(a, 1e9) - 1;
    return where(a < 1e9, log1p(above + sqrt(above) * sqrt(above + 2)), log(a) + kLn2);
  }
  static auto vjp_a(auto g, auto a, auto) { return g / (sqrt(a - 1) * sqrt(a + 1)); }
};
struct Atanh {
  static constexpr auto name = "atanh", doc = "The number whose hyperbolic tangent is a; NaN beyond 1.",
                        result = "float", saves = "a";
  static auto fwd(auto a) {
    const auto x = abs(a);
    return odd(a, log1p((x + x) / (1 - x)) * 0.5);
  }
  static auto vjp_a(auto g, auto a, auto) { return g / ((1 - a) * (1 + a)); }
};

struct Erf {
  static constexpr auto name = "erf", doc = "The error function, element by element.", result = "float", saves = "a";
  static auto fwd(auto a) { return erf(a); }
  static auto vjp_a(auto g, auto a, auto) { return g * 1.1283791670955126 * exp(-(a * a)); }
};
struct Erfc {
  static constexpr auto name = "erfc", doc = "1 - erf(a), accurate where that is tiny.", result = "float", saves = "a";
  static auto fwd(auto a) { return erfc(a); }
  static auto vjp_a(auto g, auto a, auto) { return g * -1.1283791670955126 * exp(-(a * a)); }
};
struct Logaddexp {
  static constexpr auto name = "logaddexp", doc = "log(exp(a) + exp(b)), without overflow on the way.",
                        result = "float", saves = "ab", autocast = "float32";
  static auto fwd(auto a, auto b) {
    return where(a == b, a + kLn2, maximum(a, b) + log1p(exp(-abs(a - b))));  // equal: infinities have no difference
  }
  static auto vjp_a(auto g, auto a, auto b, auto) { return g * sigmoid(a - b); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return g * sigmoid(b - a); }
};
struct Xlogy {
  static constexpr auto name = "xlogy", doc = "a * log(b); 0 where a is 0, unless b is NaN.", result = "float",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return where((a == 0) * (b == b), 0, a * log(b)); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where((a == 0) * (b <= 0), 0, g * log(b)); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return where(a == 0, 0, g * (a / b)); }
};

}  // namespace sg::math
