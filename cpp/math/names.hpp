// The names of the pointwise ops, a list for each file of formulas: X(struct, function on tensors). Rows, functions and
// tables are loops over them; a file that needs only names is not compiled again when a formula changes.
// Knows no formula.
#pragma once

// clang-format off
// math/elementary.hpp
#define SG_ELEMENTARY_UNARY(X) \
  X(Exp2, exp2) X(Expm1, expm1) X(Log1p, log1p) X(Log2, log2) X(Log10, log10) X(Rsqrt, rsqrt) \
  X(Reciprocal, reciprocal) X(Deg2rad, deg2rad) X(Rad2deg, rad2deg) X(Tan, tan) X(Asin, asin) X(Acos, acos) \
  X(Atan, atan) X(Sinh, sinh) X(Cosh, cosh) X(Asinh, asinh) X(Acosh, acosh) X(Atanh, atanh) X(Erf, erf) \
  X(Erfc, erfc)
#define SG_ELEMENTARY_BINARY(X) \
  X(Atan2, atan2) X(Hypot, hypot) X(Logaddexp, logaddexp) X(Xlogy, xlogy)
// math/rounding.hpp
#define SG_ROUNDING_UNARY(X) \
  X(Floor, floor) X(Ceil, ceil) X(Round, round) X(Trunc, trunc) X(Frac, frac) X(Sign, sign) X(Isnan, isnan) \
  X(Isinf, isinf) X(Isfinite, isfinite) X(LogicalNot, logical_not) X(BitwiseNot, bitwise_not)
#define SG_ROUNDING_BINARY(X) \
  X(Fmod, fmod) X(Remainder, remainder) X(FloorDivide, floor_divide) X(TruncDivide, trunc_divide) \
  X(ClampMin, clamp_min) X(ClampMax, clamp_max) X(LogicalAnd, logical_and) X(LogicalOr, logical_or) \
  X(LogicalXor, logical_xor) X(BitwiseAnd, bitwise_and) X(BitwiseOr, bitwise_or) X(BitwiseXor, bitwise_xor) \
  X(ShiftLeft, bitwise_left_shift) X(ShiftRight, bitwise_right_shift)
#define SG_ROUNDING_TERNARY(X) \
  X(Clamp, clamp) X(Lerp, lerp)
// math/activation.hpp
#define SG_ACTIVATION_UNARY(X) \
  X(Selu, selu) X(Gelu, gelu) X(GeluTanh, gelu_tanh) X(Silu, silu) X(Mish, mish) X(Softsign, softsign) \
  X(Logsigmoid, logsigmoid) X(Hardsigmoid, hardsigmoid) X(Hardswish, hardswish) X(Tanhshrink, tanhshrink)
#define SG_ACTIVATION_BINARY(X) \
  X(LeakyRelu, leaky_relu) X(Elu, elu) X(Celu, celu) X(Softshrink, softshrink) X(Hardshrink, hardshrink)
#define SG_ACTIVATION_TERNARY(X) \
  X(Softplus, softplus) X(Hardtanh, hardtanh) X(Threshold, threshold)
// clang-format on

// Those of math/pointwise.hpp have functions of their own in ops/pointwise.cpp, which say more.
#define SG_NAMED_UNARY(X) SG_ELEMENTARY_UNARY(X) SG_ROUNDING_UNARY(X) SG_ACTIVATION_UNARY(X)
#define SG_NAMED_BINARY(X) SG_ELEMENTARY_BINARY(X) SG_ROUNDING_BINARY(X) SG_ACTIVATION_BINARY(X)
#define SG_POINTWISE_UNARY(X) \
  X(Neg) X(Abs) X(Square) X(Sqrt) X(Exp) X(Log) X(Tanh) X(Sigmoid) X(Relu) X(Sin) X(Cos) X(GeluSlope) SG_NAMED_UNARY(X)
#define SG_POINTWISE_BINARY(X) X(Add) X(Sub) X(Mul) X(Div) X(Pow) X(Maximum) X(Minimum) SG_NAMED_BINARY(X)
#define SG_POINTWISE_TERNARY(X) SG_ROUNDING_TERNARY(X) SG_ACTIVATION_TERNARY(X)
#define SG_POINTWISE_COMPARE(X) X(Lt) X(Le) X(Gt) X(Ge) X(Eq) X(Ne)
