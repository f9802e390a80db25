// Every pointwise op: name, doc, forward, gradient. One body serves Expr (which records the formula for GPU and CPU
// kernels) and Tensor (whose operators make graph nodes, so gradients can be differentiated again).
//   result  "same": the promoted type; "float": integers become float32; "number": booleans become int64;
//           "bool": comparisons
//   takes   "float", "number" (no bool), "integer" or "bits" (integer or bool), where not all types make sense
//   saves   what the gradient reads: a, b, c (inputs) and o (the output); only these stay alive; absent: no gradient.
//           "b|a": the gradient by a reads b, and that by b reads a
//   autocast "float32": half types come in as that under autocast, since values leave their range; absent: as they are
//   fwd     the value;  vjp_a, vjp_b, vjp_c  the gradient towards each input, from g = d loss / d output
// To add an op: write its struct in the file of its family and name it in math/names.hpp. Knows only `auto`.
#pragma once
#include "math/activation.hpp"
#include "math/elementary.hpp"
#include "math/rounding.hpp"

namespace sg::math {

struct Add {
  static constexpr auto name = "add", doc = "a + b, element by element.", result = "same", saves = "";
  static auto fwd(auto a, auto b) { return a + b; }
  static auto vjp_a(auto g, auto, auto, auto) { return g; }
  static auto vjp_b(auto g, auto, auto, auto) { return g; }
};
struct Sub {
  static constexpr auto name = "sub", doc = "a - b, element by element.", result = "same", takes = "number", saves = "";
  static auto fwd(auto a, auto b) { return a - b; }
  static auto vjp_a(auto g, auto, auto, auto) { return g; }
  static auto vjp_b(auto g, auto, auto, auto) { return -g; }
};
struct Mul {
  static constexpr auto name = "mul", doc = "a * b, element by element.", result = "same", saves = "b|a";
  static auto fwd(auto a, auto b) { return a * b; }
  static auto vjp_a(auto g, auto, auto b, auto) { return g * b; }
  static auto vjp_b(auto g, auto a, auto, auto) { return g * a; }
};
struct Div {
  static constexpr auto name = "div", doc = "a / b, element by element; integers are divided as float32.",
                        result = "float", saves = "b|ab";
  static auto fwd(auto a, auto b) { return a / b; }
  static auto vjp_a(auto g, auto, auto b, auto) { return g / b; }
  static auto vjp_b(auto g, auto a, auto b, auto) { return -g * (a / b) / b; }
};
struct Pow {
  static constexpr auto name = "pow", doc = "a ** b, element by element, with C99's special values.", result = "same",
                        takes = "number", saves = "ab|ao", autocast = "float32";
  static auto fwd(auto a, auto b) { return pow(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(b == 0, 0, g * b * pow(a, b - 1)); }
  static auto vjp_b(auto g, auto a, auto, auto o) {
    const auto slope = g * o * log(a);
    return where(o == 0, 0, where(a == 0, where(o == 1, 0, slope), slope));  // 0 ** 0 is flat, 0 ** -1 is not
  }
};
struct Maximum {
  static constexpr auto name = "maximum", doc = "The larger of a and b; a NaN on either side wins.", result = "same",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return maximum(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a > b, g, where(a == b, g * 0.5, 0)); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return where(b > a, g, where(a == b, g * 0.5, 0)); }
};
struct Minimum {
  static constexpr auto name = "minimum", doc = "The smaller of a and b; a NaN on either side wins.", result = "same",
                        saves = "ab";
  static auto fwd(auto a, auto b) { return minimum(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a < b, g, where(a == b, g * 0.5, 0)); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return where(b < a, g, where(a == b, g * 0.5, 0)); }
};

struct Lt {
  static constexpr auto name = "lt", doc = "a < b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a < b; }
};
struct Le {
  static constexpr auto name = "le", doc = "a <= b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a <= b; }
};
struct Gt {
  static constexpr auto name = "gt", doc = "a > b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a > b; }
};
struct Ge {
  static constexpr auto name = "ge", doc = "a >= b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a >= b; }
};
struct Eq {
  static constexpr auto name = "eq", doc = "a == b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a == b; }
};
struct Ne {
  static constexpr auto name = "ne", doc = "a != b, element by element.", result = "bool";
  static auto fwd(auto a, auto b) { return a != b; }
};

struct Neg {
  static constexpr auto name = "neg", doc = "-a, element by element.", result = "same", takes = "number", saves = "";
  static auto fwd(auto a) { return -a; }
  static auto vjp_a(auto g, auto, auto) { return -g; }
};
struct Abs {
  static constexpr auto name = "abs", doc = "The absolute value; its gradient at 0 is 0.", result = "same",
                        takes = "number", saves = "a";
  static auto fwd(auto a) { return abs(a); }
  static auto vjp_a(auto g, auto a, auto) { return where(a > 0, g, where(a < 0, -g, 0)); }
};
struct Square {
  static constexpr auto name = "square", doc = "a * a, element by element; booleans become int64.", result = "number",
                        saves = "a";
  static auto fwd(auto a) { return a * a; }
  static auto vjp_a(auto g, auto a, auto) { return (g + g) * a; }
};
struct Sqrt {
  static constexpr auto name = "sqrt", doc = "The square root; NaN below 0.", result = "float", saves = "o";
  static auto fwd(auto a) { return sqrt(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * 0.5 / o; }
};
struct Exp {
  static constexpr auto name = "exp", doc = "e to the power of a, element by element.", result = "float", saves = "o",
                        autocast = "float32";
  static auto fwd(auto a) { return exp(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * o; }
};
struct Log {
  static constexpr auto name = "log", doc = "The natural logarithm; -inf at 0, NaN below.", result = "float",
                        saves = "a", autocast = "float32";
  static auto fwd(auto a) { return log(a); }
  static auto vjp_a(auto g, auto a, auto) { return g / a; }
};
struct Tanh {
  static constexpr auto name = "tanh", doc = "The hyperbolic tangent, element by element.", result = "float",
                        saves = "o";
  static auto fwd(auto a) { return tanh(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * (1 - o * o); }
};
struct Sigmoid {
  static constexpr auto name = "sigmoid", doc = "1 / (1 + exp(-a)), element by element.", result = "float", saves = "o";
  static auto fwd(auto a) { return sigmoid(a); }
  static auto vjp_a(auto g, auto, auto o) { return g * o * (1 - o); }
};
struct Relu {
  static constexpr auto name = "relu", doc = "a where it is positive, else 0; NaN stays NaN.", result = "same",
                        saves = "o";
  static auto fwd(auto a) { return maximum(a, 0); }
  static auto vjp_a(auto g, auto, auto o) { return where(o > 0, g, 0); }
};
struct Sin {
  static constexpr auto name = "sin", doc = "The sine of a in radians.", result = "float", saves = "a";
  static auto fwd(auto a) { return sin(a); }
  static auto vjp_a(auto g, auto a, auto) { return g * cos(a); }
};
struct Cos {
  static constexpr auto name = "cos", doc = "The cosine of a in radians.", result = "float", saves = "a";
  static auto fwd(auto a) { return cos(a); }
  static auto vjp_a(auto g, auto a, auto) { return -g * sin(a); }
};

}  // namespace sg::math
