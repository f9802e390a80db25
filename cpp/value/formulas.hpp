// The formulas of math/pointwise.hpp on numbers: forward and gradient are written once, there.
#pragma once
#include "math/alu.hpp"
#include "math/pointwise.hpp"
#include "value/node.hpp"

namespace sg::value {

struct Real {
  double v;
  Real(double x) : v(x) {}
  friend Real operator+(Real a, Real b) { return a.v + b.v; }
  friend Real operator-(Real a, Real b) { return a.v - b.v; }
  friend Real operator*(Real a, Real b) { return a.v * b.v; }
  friend Real operator/(Real a, Real b) { return a.v / b.v; }
  friend Real operator-(Real a) { return -a.v; }
  friend bool operator>(Real a, Real b) { return a.v > b.v; }
  friend bool operator<(Real a, Real b) { return a.v < b.v; }
  friend bool operator==(Real a, Real b) { return a.v == b.v; }
  friend Real where(bool c, Real a, Real b) { return c ? a : b; }
  friend Real exp(Real a) { return alu::exp(a.v); }
  friend Real log(Real a) { return alu::log(a.v); }
  friend Real tanh(Real a) { return alu::tanh(a.v); }
  friend Real sigmoid(Real a) { return alu::sigmoid(a.v); }
  friend Real sqrt(Real a) { return alu::sqrt(a.v); }
  friend Real abs(Real a) { return alu::abs(a.v); }
  friend Real sin(Real a) { return alu::sin(a.v); }
  friend Real cos(Real a) { return alu::cos(a.v); }
};

// The formulas of one operand that Values use.
#define SG_VALUE_UNARY(X) \
  X(exp, Exp) X(log, Log) X(tanh, Tanh) X(sigmoid, Sigmoid) X(sqrt, Sqrt) X(abs, Abs) X(sin, Sin) X(cos, Cos)

inline double unary_value(Op op, double a) {
  switch (op) {
#define SG_CASE(name, Formula) \
  case Op::name:               \
    return math::Formula::fwd(Real(a)).v;
    SG_VALUE_UNARY(SG_CASE)
#undef SG_CASE
    default:
      return a;
  }
}

// d / d a, times g; o is the result.
inline double unary_gradient(Op op, double g, double a, double o) {
  switch (op) {
#define SG_CASE(name, Formula) \
  case Op::name:               \
    return math::Formula::vjp_a(Real(g), Real(a), Real(o)).v;
    SG_VALUE_UNARY(SG_CASE)
#undef SG_CASE
    default:
      return g;
  }
}

}  // namespace sg::value
