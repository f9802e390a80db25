// Pointwise ops on whole numbers, limits, truth and bits. Form: math/pointwise.hpp. `holds_integers(a)` asks for the
// type; `nothing_like(g)` is a gradient of zeros.
// Integers: by zero, quotients and remainders are 0; the smallest over -1 wraps around (math/alu_whole.inl).
#pragma once
#include <limits>

namespace sg::math {

#define SG_STEP \
  static auto vjp_a(auto g, auto, auto) { return nothing_like(g); }
#define SG_STEPS                                                          \
  static auto vjp_a(auto g, auto, auto, auto) { return nothing_like(g); } \
  static auto vjp_b(auto g, auto, auto, auto) { return nothing_like(g); }

struct Floor {
  static constexpr auto name = "floor", doc = "The largest whole number that is not above a.", result = "same",
                        takes = "number", saves = "";
  static auto fwd(auto a) { return floor(a); }
  SG_STEP
};
struct Ceil {
  static constexpr auto name = "ceil", doc = "The smallest whole number that is not below a.", result = "same",
                        takes = "number", saves = "";
  static auto fwd(auto a) { return holds_integers(a) ? a : -floor(-a); }
  SG_STEP
};
struct Round {
  static constexpr auto name = "round", doc = "The nearest whole number; ties to the even one.", result = "same",
                        takes = "number", saves = "";
  static auto fwd(auto a) { return rint(a); }
  SG_STEP
};
struct Trunc {
  static constexpr auto name = "trunc", doc = "a without its fraction.", result = "same", takes = "number", saves = "";
  static auto fwd(auto a) { return holds_integers(a) ? a : where(a < 0, -floor(-a), floor(a)); }
  SG_STEP
};
struct Frac {
  static constexpr auto name = "frac", doc = "The fraction of a, with its sign: a - trunc(a).", result = "same",
                        takes = "float", saves = "";
  static auto fwd(auto a) { return a - Trunc::fwd(a); }
  static auto vjp_a(auto g, auto, auto) { return g; }
};
struct Sign {
  static constexpr auto name = "sign", doc = "-1, 0 or 1; NaN stays NaN.", result = "same", saves = "";
  static auto fwd(auto a) { return holds_truth(a) ? a : where(a > 0, 1, where(a < 0, -1, a)); }
  SG_STEP
};

struct Isnan {
  static constexpr auto name = "isnan", doc = "Whether a is NaN.", result = "bool";
  static auto fwd(auto a) { return a != a; }
};
struct Isinf {
  static constexpr auto name = "isinf", doc = "Whether a is infinite.", result = "bool";
  static auto fwd(auto a) { return holds_integers(a) ? a != a : abs(a) == std::numeric_limits<double>::infinity(); }
};
struct Isfinite {
  static constexpr auto name = "isfinite", doc = "Whether a is neither infinite nor NaN.", result = "bool";
  static auto fwd(auto a) { return holds_integers(a) ? a == a : abs(a) < std::numeric_limits<double>::infinity(); }
};

// r != 0 and of another sign than b: a remainder rounded to zero that Python rounds down.
auto rounds_down(auto r, auto b) { return (r != 0) * ((r < 0) != (b < 0)); }

struct Fmod {
  static constexpr auto name = "fmod", doc = "The remainder of a / b with the sign of a, exact; integers by 0 give 0.",
                        result = "same", takes = "number", saves = "|ab";
  static auto fwd(auto a, auto b) { return fmod(a, b); }
  static auto vjp_a(auto g, auto, auto, auto) { return g; }
  static auto vjp_b(auto g, auto a, auto b, auto) { return -g * trunc_divide(a, b); }
};
struct Remainder {
  static constexpr auto name = "remainder",
                        doc = "The remainder of a / b with the sign of b, as Python's %; integers by 0 give 0.",
                        result = "same", takes = "number", saves = "|ab";
  static auto fwd(auto a, auto b) {
    const auto r = fmod(a, b);
    return where(rounds_down(r, b), r + b, r);
  }
  static auto vjp_a(auto g, auto, auto, auto) { return g; }
  static auto vjp_b(auto g, auto a, auto b, auto) { return -g * floor_divide(a, b); }
};
struct FloorDivide {
  static constexpr auto name = "floor_divide",
                        doc = "a / b rounded down, as Python's //; integers by 0 give 0, floats inf or NaN.",
                        result = "same", takes = "number", saves = "";
  static auto fwd(auto a, auto b) {
    const auto r = fmod(a, b), q = a / b;
    if (holds_integers(a)) return where(rounds_down(r, b), q - 1, q);
    const auto whole = (a - r) / b, lower = where(rounds_down(r, b), whole - 1, whole), down = floor(lower);
    const auto near = where(lower - down > 0.5, down + 1, down);
    return where(b == 0, q, where(lower == 0, q * 0, near));  // q * 0: a zero with the quotient's sign
  }
  SG_STEPS
};
struct TruncDivide {
  static constexpr auto name = "trunc_divide", doc = "a / b rounded to zero; integers by 0 give 0.", result = "same",
                        takes = "number", saves = "";
  static auto fwd(auto a, auto b) { return Trunc::fwd(a / b); }
  SG_STEPS
};

struct ClampMin {
  static constexpr auto name = "clamp_min", doc = "a, or b where a is below it; NaN on either side wins.",
                        result = "same", saves = "ab";
  static auto fwd(auto a, auto b) { return maximum(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a >= b, g, 0); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return where(a < b, g, 0); }
};
struct ClampMax {
  static constexpr auto name = "clamp_max", doc = "a, or b where a is above it; NaN on either side wins.",
                        result = "same", saves = "ab";
  static auto fwd(auto a, auto b) { return minimum(a, b); }
  static auto vjp_a(auto g, auto a, auto b, auto) { return where(a <= b, g, 0); }
  static auto vjp_b(auto g, auto a, auto b, auto) { return where(a > b, g, 0); }
};
struct Clamp {
  static constexpr auto name = "clamp", doc = "a, at least b and at most c; c where they cross. NaN wins.",
                        result = "same", saves = "abc";
  static auto fwd(auto a, auto b, auto c) { return minimum(maximum(a, b), c); }
  static auto vjp_a(auto g, auto a, auto b, auto c, auto) { return where((a >= b) * (a <= c), g, 0); }
  static auto vjp_b(auto g, auto a, auto b, auto c, auto) { return where((a < b) * (b < c), g, 0); }
  static auto vjp_c(auto g, auto a, auto b, auto c, auto) { return where((a > c) + (b > c), g, 0); }
};
struct Lerp {
  static constexpr auto name = "lerp", doc = "From a (c = 0) to b (c = 1): a + c * (b - a), exact at both ends.",
                        result = "same", takes = "float", saves = "c|c|ab";
  static auto fwd(auto a, auto b, auto c) {
    const auto way = b - a;
    return where(abs(c) < 0.5, a + c * way, b - way * (1 - c));
  }
  static auto vjp_a(auto g, auto, auto, auto c, auto) { return g * (1 - c); }
  static auto vjp_b(auto g, auto, auto, auto c, auto) { return g * c; }
  static auto vjp_c(auto g, auto a, auto b, auto, auto) { return g * (b - a); }
};

struct LogicalNot {
  static constexpr auto name = "logical_not", doc = "Whether a is 0.", result = "bool";
  static auto fwd(auto a) { return a == 0; }
};
struct LogicalAnd {
  static constexpr auto name = "logical_and", doc = "Whether neither a nor b is 0.", result = "bool";
  static auto fwd(auto a, auto b) { return (a != 0) * (b != 0); }
};
struct LogicalOr {
  static constexpr auto name = "logical_or", doc = "Whether a or b is not 0.", result = "bool";
  static auto fwd(auto a, auto b) { return (a != 0) + (b != 0); }
};
struct LogicalXor {
  static constexpr auto name = "logical_xor", doc = "Whether one of a and b is 0, and the other is not.",
                        result = "bool";
  static auto fwd(auto a, auto b) { return (a != 0) != (b != 0); }
};
struct BitwiseNot {
  static constexpr auto name = "bitwise_not", doc = "Every bit of a inverted.", result = "same", takes = "bits";
  static auto fwd(auto a) { return holds_truth(a) ? a == 0 : -1 - a; }
};
struct BitwiseAnd {
  static constexpr auto name = "bitwise_and", doc = "The bits that a and b share.", result = "same", takes = "bits";
  static auto fwd(auto a, auto b) { return bit_and(a, b); }
};
struct BitwiseOr {
  static constexpr auto name = "bitwise_or", doc = "The bits of a and of b.", result = "same", takes = "bits";
  static auto fwd(auto a, auto b) { return bit_or(a, b); }
};
struct BitwiseXor {
  static constexpr auto name = "bitwise_xor", doc = "The bits in which a and b differ.", result = "same",
                        takes = "bits";
  static auto fwd(auto a, auto b) { return bit_xor(a, b); }
};
struct ShiftLeft {
  static constexpr auto name = "bitwise_left_shift",
                        doc = "a * 2^b modulo the size of the type; 0 where b is negative.", result = "same",
                        takes = "integer";
  static auto fwd(auto a, auto b) { return shift_left(a, b); }
};
struct ShiftRight {
  static constexpr auto name = "bitwise_right_shift",
                        doc = "a / 2^b rounded down; only the sign is left where b is negative or too large.",
                        result = "same", takes = "integer";
  static auto fwd(auto a, auto b) { return shift_right(a, b); }
};

#undef SG_STEP
#undef SG_STEPS

}  // namespace sg::math
