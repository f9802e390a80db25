// Operators on Expr: writing a formula records it. A number in a formula takes the type of its partner.
#pragma once
#include "kernel/program.hpp"

namespace sg {

inline Expr literal(Expr like, double v) { return like.builder->constant(like.dtype, v); }

#define SG_EXPR_BINARY(op, code, type)                                                          \
  inline Expr operator op(Expr a, Expr b) { return a.builder->alu(Code::code, type(a), a, b); } \
  inline Expr operator op(Expr a, double b) { return a op literal(a, b); }                      \
  inline Expr operator op(double a, Expr b) { return literal(b, a) op b; }
#define SG_SAME(a) a.dtype
#define SG_BOOL(a) DType::boolean
SG_EXPR_BINARY(+, add, SG_SAME)
SG_EXPR_BINARY(-, sub, SG_SAME)
SG_EXPR_BINARY(*, mul, SG_SAME)
SG_EXPR_BINARY(/, div, SG_SAME)
SG_EXPR_BINARY(<, lt, SG_BOOL)
SG_EXPR_BINARY(<=, le, SG_BOOL)
SG_EXPR_BINARY(==, eq, SG_BOOL)
SG_EXPR_BINARY(!=, ne, SG_BOOL)
inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>(Expr a, double b) { return literal(a, b) < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator>=(Expr a, double b) { return literal(a, b) <= a; }
inline Expr operator-(Expr a) { return a.builder->alu(Code::neg, a.dtype, a); }

#define SG_EXPR_UNARY(name) \
  inline Expr name(Expr a) { return a.builder->alu(Code::name, a.dtype, a); }
SG_EXPR_UNARY(abs)
SG_EXPR_UNARY(sqrt)
SG_EXPR_UNARY(exp)
SG_EXPR_UNARY(log)
SG_EXPR_UNARY(tanh)
SG_EXPR_UNARY(sigmoid)
SG_EXPR_UNARY(sin)
SG_EXPR_UNARY(cos)
SG_EXPR_UNARY(expm1)
SG_EXPR_UNARY(log1p)
SG_EXPR_UNARY(exp2)
SG_EXPR_UNARY(log2)
SG_EXPR_UNARY(log10)
SG_EXPR_UNARY(erf)
SG_EXPR_UNARY(erfc)
#define SG_EXPR_PAIR(name) \
  inline Expr name(Expr a, Expr b) { return a.builder->alu(Code::name, a.dtype, a, b); }
SG_EXPR_PAIR(pow)
SG_EXPR_PAIR(maximum)
SG_EXPR_PAIR(minimum)
SG_EXPR_PAIR(atan2)
SG_EXPR_PAIR(fmod)
SG_EXPR_PAIR(bit_and)
SG_EXPR_PAIR(bit_or)
SG_EXPR_PAIR(bit_xor)
SG_EXPR_PAIR(shift_left)
SG_EXPR_PAIR(shift_right)
inline Expr maximum(Expr a, double b) { return maximum(a, literal(a, b)); }
inline Expr minimum(Expr a, double b) { return minimum(a, literal(a, b)); }
inline Expr atan2(Expr a, double b) { return atan2(a, literal(a, b)); }
inline Expr where(Expr c, Expr a, Expr b) { return a.builder->alu(Code::select, a.dtype, c, a, b); }
inline Expr where(Expr c, double a, Expr b) { return where(c, literal(b, a), b); }
inline Expr where(Expr c, Expr a, double b) { return where(c, a, literal(a, b)); }

// Integers are whole already.
inline bool holds_truth(Expr a) { return a.dtype == DType::boolean; }
inline bool holds_integers(Expr a) { return !is_float(a.dtype); }
inline Expr floor(Expr a) { return holds_integers(a) ? a : a.builder->alu(Code::floor, a.dtype, a); }
inline Expr rint(Expr a) { return holds_integers(a) ? a : a.builder->alu(Code::rint, a.dtype, a); }

#undef SG_EXPR_BINARY
#undef SG_EXPR_UNARY
#undef SG_EXPR_PAIR
#undef SG_SAME
#undef SG_BOOL

}  // namespace sg
