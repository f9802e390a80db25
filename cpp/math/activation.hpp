// Pointwise ops of neural networks. Form: math/pointwise.hpp; inputs after the first are numbers, such as slopes and
// thresholds, or tensors if there is a gradient towards them.
// Exponentials of the side that is not chosen are clamped: a gradient of 0 meets no infinity.
#pragma once

namespace sg::math {

struct LeakyRelu {
  static constexpr auto name = "leaky_relu", doc = "a where it is positive, else a * b.", result = "float",
                        saves = "ab|a";
  static auto fwd(auto a, auto b) { return where(a > 0, a, a * b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a > 0, g, g * b); }
  static auto vjp_b(auto g, auto a, auto, auto) { return where(a > 0, 0, g * a); }
};
struct Elu {
  static constexpr auto name = "elu", doc = "a where it is positive, else b * (exp(a) - 1).", result = "float",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return where(a > 0, a, b * expm1(minimum(a, 0))); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a > 0, g, g * (b * exp(minimum(a, 0)))); }
};
struct Celu {
  static constexpr auto name = "celu", doc = "a where it is positive, else b * (exp(a / b) - 1).", result = "float",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return where(a > 0, a, b * expm1(minimum(a, 0) / b)); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a > 0, g, g * exp(minimum(a, 0) / b)); }
};
// Klambauer et al., "Self-normalizing neural networks", 2017.
struct Selu {
  static constexpr auto name = "selu", doc = "1.0507 * (a where it is positive, else 1.6733 * (exp(a) - 1)).",
                        result = "float", saves = "a";
  static constexpr double scale = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
  static auto fwd(auto a) { return scale * where(a > 0, a, alpha * expm1(minimum(a, 0))); }
  static auto vjp_a(auto g, auto a, auto) { return g * where(a > 0, scale, scale * alpha * exp(minimum(a, 0))); }
};
// Hendrycks and Gimpel, "Gaussian error linear units", 2016.
struct Gelu {
  static constexpr auto name = "gelu", doc = "a times the normal distribution function of a.", result = "float",
                        saves = "a";
  static constexpr double root_half = 0.7071067811865476, peak = 0.3989422804014327;  // sqrt(1/2), 1/sqrt(2 pi)
  static auto fwd(auto a) { return a * 0.5 * erfc(a * -root_half); }
  static auto vjp_a(auto g, auto a, auto) { return g * gelu_slope(a); }
};
// An op of its own, so that its error function is that of gelu where one kernel computes both.
struct GeluSlope {
  static constexpr auto name = "gelu_slope", doc = "The slope of gelu at a.", result = "float", saves = "a";
  static auto fwd(auto a) { return erfc(a * -Gelu::root_half) * 0.5 + a * exp(a * a * -0.5) * Gelu::peak; }
  static auto vjp_a(auto g, auto a, auto) { return g * ((2 - a * a) * exp(a * a * -0.5) * Gelu::peak); }
};
struct GeluTanh {
  static constexpr auto name = "gelu_tanh", doc = "gelu with tanh in place of the error function.", result = "float",
                        saves = "a";
  static constexpr double linear = 1.5957691216057308, cubic = linear * 0.044715;  // 2 sqrt(2 / pi)
  static auto fwd(auto a) { return a * sigmoid(a * (a * a * cubic + linear)); }    // sigmoid(2u) = (1 + tanh(u)) / 2
  static auto vjp_a(auto g, auto a, auto) {
    const auto square = a * a, s = sigmoid(a * (square * cubic + linear));
    return g * (s + a * s * (1 - s) * (square * (3 * cubic) + linear));
  }
};
struct Silu {
  static constexpr auto name = "silu", doc = "a * sigmoid(a), element by element.", result = "float", saves = "a";
  static auto fwd(auto a) { return a * sigmoid(a); }
  static auto vjp_a(auto g, auto a, auto) {
    const auto s = sigmoid(a);
    return g * (s * (1 + a * (1 - s)));
  }
};
// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2); 1 to the last place above 20.
struct Mish {
  static constexpr auto name = "mish", doc = "a * tanh(softplus(a)), element by element.", result = "float",
                        saves = "a";
  static auto fwd(auto a) {
    const auto e = exp(minimum(a, 20)), n = e * (e + 2);
    return where(a > 20, a, a * (n / (n + 2)));
  }
  static auto vjp_a(auto g, auto a, auto) {
    const auto e = exp(minimum(a, 20)), n = e * (e + 2), d = n + 2;
    return where(a > 20, g, g * (n / d + minimum(a, 20) * sigmoid(a) * (4 * (n + 1) / (d * d))));
  }
};
struct Softplus {
  static constexpr auto name = "softplus", doc = "log(1 + exp(a * b)) / b, and a itself where a * b is above c.",
                        result = "float", saves = "abc";
  static auto fwd(auto a, auto b, auto c) {
    const auto z = a * b;
    return where(z > c, a, log1p(exp(minimum(z, c))) / b);
  }
  static auto vjp_a(auto g, auto a, auto b, auto c, auto) {
    const auto z = a * b;
    return where(z > c, g, g * sigmoid(z));
  }
};
struct Softsign {
  static constexpr auto name = "softsign", doc = "a / (1 + abs(a)), element by element.", result = "float", saves = "a";
  static auto fwd(auto a) { return a / (1 + abs(a)); }
  static auto vjp_a(auto g, auto a, auto) {
    const auto d = 1 + abs(a);
    return g / (d * d);
  }
};
struct Logsigmoid {
  static constexpr auto name = "logsigmoid", doc = "log(sigmoid(a)), accurate where that is tiny or near 0.",
                        result = "float", saves = "a", autocast = "float32";
  static auto fwd(auto a) { return minimum(a, 0) - log1p(exp(-abs(a))); }
  static auto vjp_a(auto g, auto a, auto) { return g * sigmoid(-a); }
};
struct Hardtanh {
  static constexpr auto name = "hardtanh", doc = "a between b and c, no gradient at the ends.", result = "same",
                        saves = "abc";
  static auto fwd(auto a, auto b, auto c) { return minimum(maximum(a, b), c); }
  static auto vjp_a(auto g, auto a, auto b, auto c, auto) { return where((a > b) * (a < c), g, 0); }
};
struct Hardsigmoid {
  static constexpr auto name = "hardsigmoid", doc = "a / 6 + 1 / 2, at least 0 and at most 1.", result = "float",
                        saves = "a";
  static auto fwd(auto a) { return minimum(maximum(a + 3, 0), 6) / 6; }
  static auto vjp_a(auto g, auto a, auto) { return where(abs(a) < 3, g / 6, 0); }
};
// Howard et al., "Searching for MobileNetV3", 2019.
struct Hardswish {
  static constexpr auto name = "hardswish", doc = "a * hardsigmoid(a), element by element.", result = "float",
                        saves = "a";
  static auto fwd(auto a) { return a * minimum(maximum(a + 3, 0), 6) / 6; }
  static auto vjp_a(auto g, auto a, auto) { return where(a <= -3, 0, where(a < 3, g * (a / 3 + 0.5), g)); }
};
struct Tanhshrink {
  static constexpr auto name = "tanhshrink", doc = "a - tanh(a), element by element.", result = "float", saves = "a";
  static auto fwd(auto a) { return a - tanh(a); }
  static auto vjp_a(auto g, auto a, auto) {
    const auto t = tanh(a);
    return g * (t * t);
  }
};
struct Softshrink {
  static constexpr auto name = "softshrink", doc = "a moved towards 0 by b, and 0 within b of it.", result = "float",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return where(a > b, a - b, where(a < -b, a + b, a * 0)); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(abs(a) > b, g, 0); }
};
struct Hardshrink {
  static constexpr auto name = "hardshrink", doc = "a, and 0 within b of it.", result = "float", saves = "ab";
  static auto fwd(auto a, auto b) { return where(abs(a) <= b, 0, a); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(abs(a) > b, g, 0); }
};
struct Threshold {
  static constexpr auto name = "threshold", doc = "a where it is above b, else c.", result = "same", saves = "ab";
  static auto fwd(auto a, auto b, auto c) { return where(a <= b, c, a); }
  static auto vjp_a(auto g, auto a, auto b, auto, auto) { return where(a <= b, 0, g); }
};

}  // namespace sg::math
