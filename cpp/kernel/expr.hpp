// Operators and functions on Expr: writing a formula records it. A number in a formula takes the type of its partner.
// Each machine function of math/alu.def has one of its name; knows no op.
#pragma once
#include "kernel/program.hpp"

namespace sg {

inline Expr literal(Expr like, double v) { return like.builder->constant(like.dtype, v); }
inline bool holds_truth(Expr a) { return a.dtype == DType::boolean; }
inline bool holds_integers(Expr a) { return !is_float(a.dtype); }

inline Expr alu_node(Code code, AluKind kind, Expr a, Expr b = {}) {
  if (kind == AluKind::rounding && holds_integers(a)) return a;  // whole already
  return a.builder->alu(code, kind == AluKind::comparison ? DType::boolean : a.dtype, a, b);
}

#define SG_EXPR_1(name, kind) \
  inline Expr name(Expr a) { return alu_node(Code::name, AluKind::kind, a); }
#define SG_EXPR_2(name, kind)                                                            \
  inline Expr name(Expr a, Expr b) { return alu_node(Code::name, AluKind::kind, a, b); } \
  inline Expr name(Expr a, double b) { return name(a, literal(a, b)); }                  \
  inline Expr name(double a, Expr b) { return name(literal(b, a), b); }
#define ALU(name, arity, infix, kind, cost) SG_EXPR_##arity(name, kind)
#define ALU_OWN(...)
#include "math/alu.def"
#undef SG_EXPR_1
#undef SG_EXPR_2

#define SG_OPERATOR(op, name)                                      \
  inline Expr operator op(Expr a, Expr b) { return name(a, b); }   \
  inline Expr operator op(Expr a, double b) { return name(a, b); } \
  inline Expr operator op(double a, Expr b) { return name(a, b); }
SG_OPERATOR(+, add)
SG_OPERATOR(-, sub)
SG_OPERATOR(*, mul)
SG_OPERATOR(/, div)
SG_OPERATOR(<, lt)
SG_OPERATOR(<=, le)
SG_OPERATOR(==, eq)
SG_OPERATOR(!=, ne)
#undef SG_OPERATOR
inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>(Expr a, double b) { return b < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator>=(Expr a, double b) { return b <= a; }
inline Expr operator-(Expr a) { return neg(a); }

inline Expr where(Expr c, Expr a, Expr b) { return a.builder->alu(Code::select, a.dtype, c, a, b); }
inline Expr where(Expr c, double a, Expr b) { return where(c, literal(b, a), b); }
inline Expr where(Expr c, Expr a, double b) { return where(c, a, literal(a, b)); }

}  // namespace sg
