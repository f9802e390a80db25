// Rows of the pointwise ops, made from math/pointwise.hpp by loops over math/names.hpp, and their functions. The only
// file of ops/ that includes formulas.
#include "math/pointwise.hpp"

#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "kernel/expr.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {

// A gradient of zeros: the formulas of math/ find it when they are instantiated here.
static Tensor nothing_like(const Tensor& g) { return full(g.shape(), 0, g.dtype(), g.device()); }

namespace {

constexpr Result result_of(std::string_view word) {
  return word == "float"    ? Result::floating
         : word == "bool"   ? Result::boolean
         : word == "number" ? Result::number
                            : Result::same;
}

constexpr uint8_t saves_of(std::string_view letters) {
  uint8_t mask = 0;
  for (char c : letters)
    mask |= c == '|' ? 0 : c == 'a' ? kSavesA : c == 'b' ? kSavesB : c == 'c' ? kSavesC : kSavesOutput;
  return mask;
}

// "b|a": what the gradient by each input reads.
constexpr void set_saves(OpInfo& row, std::string_view letters) {
  row.saves = saves_of(letters);
  for (int i = 0; letters.find('|') != letters.npos || i > 0; ++i) {
    const size_t end = letters.find('|');
    row.reads[i] = kReadsOnly | saves_of(letters.substr(0, end));
    if (end == letters.npos) break;
    letters.remove_prefix(end + 1);
  }
}

// The values that the wanted gradients read, as a mask.
uint8_t reads(const Vjp& v) {
  uint8_t mask = 0;
  for (int i = 0; i < v.node.inputs; ++i)
    if (v.needs(i)) mask |= v.node.op->read_by(i);
  return mask;
}

// Formulas of gradients have several steps. Of half types they are computed in float32, so that only their results are
// rounded, by who asked for them.
Tensor widened(const Tensor& x) {
  const bool half = x && !x.is_number() && is_narrow(x.dtype()) && wide_of(x.dtype()) == DType::float32;
  return half ? cast(x, DType::float32) : x;
}

// The value of input i if a wanted gradient reads it, else nothing.
Tensor saved(const Vjp& v, int i) {
  return v.node.in[i].is_number || (reads(v) >> i & 1) ? widened(v.in(i)) : Tensor();
}
Tensor saved_output(const Vjp& v) { return reads(v) & kSavesOutput ? widened(v.out()) : Tensor(); }

// The gradients of a pointwise op: `formula(i, g)` towards input i.
template <class Formula>
void set_results(Vjp& v, int inputs, Formula formula) {
  const Tensor g = widened(v.g);
  const bool linear = v.node.op->saves == 0;  // so broadcasting may be undone first
  for (int i = 0; i < inputs; ++i) {
    if (!v.needs(i)) continue;
    const Tensor result = formula(i, linear ? sum_to(g, v.shape(i)) : g);
    v.result[i] = result && result.impl() == g.impl() ? v.g : result;  // handed on as it is
  }
}

template <class Op>
constexpr uint8_t takes_of() {
  if constexpr (requires { Op::takes; }) {
    const std::string_view word = Op::takes;
    if (word == "float") return kTakesFloats;
    if (word == "number") return kTakesIntegers | kTakesFloats;
    return word == "bits" ? kTakesBool | kTakesIntegers : kTakesIntegers;
  }
  return kTakesAll;
}

// Reads what a struct of math/ declares. What it leaves out keeps OpInfo's default, so a formula names only what is
// special about it.
template <class Op>
constexpr OpInfo row_of(int arity) {
  OpInfo row{Op::name, Op::doc, Kind::pointwise, arity, result_of(Op::result)};
  if constexpr (requires { Op::saves; }) set_saves(row, Op::saves);
  row.takes = takes_of<Op>();
  row.wide = requires { Op::autocast; };
  return row;
}

template <class Op>
constexpr OpInfo unary_row() {
  OpInfo row = row_of<Op>(1);
  row.emit = [](ProgramBuilder&, const Node&, const Expr* in) { return Op::fwd(in[0]); };
  if constexpr (requires { Op::saves; })
    row.vjp = [](Vjp& v) {
      const Tensor a = saved(v, 0), o = saved_output(v);
      set_results(v, 1, [&](int, const Tensor& g) -> Tensor { return Op::vjp_a(g, a, o); });
    };
  return row;
}

// Inputs without a gradient formula are numbers.
template <class Op>
constexpr OpInfo binary_row() {
  OpInfo row = row_of<Op>(2);
  row.emit = [](ProgramBuilder&, const Node&, const Expr* in) { return Op::fwd(in[0], in[1]); };
  if constexpr (requires { Op::saves; })
    row.vjp = [](Vjp& v) {
      const Tensor a = saved(v, 0), b = saved(v, 1), o = saved_output(v);
      set_results(v, 2, [&](int i, const Tensor& g) -> Tensor {
        if constexpr (requires { Op::vjp_b(a, a, b, o); })
          if (i == 1) return Op::vjp_b(g, a, b, o);
        return i == 0 ? Op::vjp_a(g, a, b, o) : Tensor();
      });
    };
  return row;
}

template <class Op>
constexpr OpInfo ternary_row() {
  OpInfo row = row_of<Op>(3);
  row.emit = [](ProgramBuilder&, const Node&, const Expr* in) { return Op::fwd(in[0], in[1], in[2]); };
  row.vjp = [](Vjp& v) {
    const Tensor a = saved(v, 0), b = saved(v, 1), c = saved(v, 2), o = saved_output(v);
    set_results(v, 3, [&](int i, const Tensor& g) -> Tensor {
      if constexpr (requires { Op::vjp_b(a, a, b, c, o); })
        if (i > 0) return i == 1 ? Op::vjp_b(g, a, b, c, o) : Op::vjp_c(g, a, b, c, o);
      return i == 0 ? Op::vjp_a(g, a, b, c, o) : Tensor();
    });
  };
  return row;
}

Expr emit_where(ProgramBuilder& builder, const Node& node, const Expr* in) {
  return builder.alu(Code::select, node.compute, builder.cast(in[0], DType::boolean), in[1], in[2]);
}
void vjp_where(Vjp& v) {
  const Tensor condition = v.in(0);
  if (v.needs(1)) v.result[1] = where(condition, v.g, 0);
  if (v.needs(2)) v.result[2] = where(condition, 0, v.g);
}

Expr emit_same(ProgramBuilder&, const Node&, const Expr* in) { return in[0]; }
void vjp_same(Vjp& v) { v.result[0] = v.g; }
Expr emit_cast(ProgramBuilder& builder, const Node& node, const Expr* in) { return builder.cast(in[0], node.dtype); }

// Gradients of formulas with numbers compute with numbers in the same text, at once and in double.
bool both_numbers(const Tensor& a, const Tensor& b) { return a.is_number() && b.is_number(); }

}  // namespace

double value_of(const Tensor& number) {
  return is_float(number.dtype()) ? number->number.f : static_cast<double>(number->number.i);
}

namespace ops {
#define SG_ROW(Op, ...) const OpInfo Op = unary_row<math::Op>();
SG_POINTWISE_UNARY(SG_ROW)
#undef SG_ROW
#define SG_ROW(Op, ...) const OpInfo Op = binary_row<math::Op>();
SG_POINTWISE_BINARY(SG_ROW)
#undef SG_ROW
#define SG_ROW(Op, ...) const OpInfo Op = binary_row<math::Op>();
SG_POINTWISE_COMPARE(SG_ROW)
#undef SG_ROW
#define SG_ROW(Op, ...) const OpInfo Op = ternary_row<math::Op>();
SG_POINTWISE_TERNARY(SG_ROW)
#undef SG_ROW
const OpInfo Where{.name = "where",
                   .doc = "a where the condition holds, else b.",
                   .kind = Kind::pointwise,
                   .arity = 3,
                   .saves = kSavesA,
                   .emit = emit_where,
                   .vjp = vjp_where};
const OpInfo Cast{.name = "cast",
                  .doc = "The same values in another type.",
                  .kind = Kind::pointwise,
                  .arity = 1,
                  .emit = emit_cast,
                  .vjp = vjp_same,
                  .hands_on = true};
const OpInfo Contiguous{.name = "contiguous",
                        .doc = "The same values in row-major order.",
                        .kind = Kind::pointwise,
                        .arity = 1,
                        .emit = emit_same,
                        .vjp = vjp_same,
                        .hands_on = true};
const OpInfo Stored{.name = "stored",
                    .doc = "The same values, written to memory by the kernel that makes them.",
                    .kind = Kind::pointwise,
                    .arity = 1,
                    .emit = emit_same,
                    .vjp = [](Vjp& v) { v.result[0] = stored(v.g); },
                    .stores = true};
}  // namespace ops

// Integers have no quotient by the number 0. Those by a tensor's zeros are 0, which no reader has to wait for.
static void refuse_zero(const OpInfo& op, const Tensor& a, const Tensor& b) {
  if (b->number.i != 0 || is_float(b.dtype()) || is_float(a.dtype()) || a.numel() == 0) return;
  if (&op == &ops::FloorDivide || &op == &ops::TruncDivide || &op == &ops::Remainder || &op == &ops::Fmod)
    fail<ValueError>(op.name, "integers are divided by 0 (ZeroDivisionError)", "use another number, or floats");
}

Tensor apply(const OpInfo& op, const Tensor& a) { return pointwise(op, {a}); }
Tensor apply(const OpInfo& op, const Tensor& a, const Tensor& b) {
  if (b.is_number()) refuse_zero(op, a, b);
  return pointwise(op, {a, b});
}
Tensor apply(const OpInfo& op, const Tensor& a, const Tensor& b, const Tensor& c) { return pointwise(op, {a, b, c}); }

#define SG_FUNCTION(Op, name) \
  Tensor name(const Tensor& a) { return apply(ops::Op, a); }
SG_NAMED_UNARY(SG_FUNCTION)
#undef SG_FUNCTION
#define SG_FUNCTION(Op, name) \
  Tensor name(const Tensor& a, const Tensor& b) { return apply(ops::Op, a, b); }
SG_NAMED_BINARY(SG_FUNCTION)
#undef SG_FUNCTION
#define SG_FUNCTION(Op, name) \
  Tensor name(const Tensor& a, const Tensor& b, const Tensor& c) { return apply(ops::Op, a, b, c); }
SG_POINTWISE_TERNARY(SG_FUNCTION)
#undef SG_FUNCTION

Tensor neg(const Tensor& a) { return a.is_number() ? Tensor(-value_of(a)) : apply(ops::Neg, a); }
Tensor abs(const Tensor& a) { return apply(ops::Abs, a); }
Tensor square(const Tensor& a) { return apply(ops::Square, a); }
Tensor sqrt(const Tensor& a) { return apply(ops::Sqrt, a); }
Tensor exp(const Tensor& a) { return apply(ops::Exp, a); }
Tensor log(const Tensor& a) { return a.is_number() ? Tensor(std::log(value_of(a))) : apply(ops::Log, a); }
Tensor tanh(const Tensor& a) { return apply(ops::Tanh, a); }
Tensor sigmoid(const Tensor& a) { return apply(ops::Sigmoid, a); }
Tensor relu(const Tensor& a) { return apply(ops::Relu, a); }
Tensor sin(const Tensor& a) { return apply(ops::Sin, a); }
Tensor cos(const Tensor& a) { return apply(ops::Cos, a); }
Tensor gelu_slope(const Tensor& a) { return apply(ops::GeluSlope, a); }

Tensor add(const Tensor& a, const Tensor& b) { return apply(ops::Add, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(value_of(a) - value_of(b)) : apply(ops::Sub, a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) { return apply(ops::Mul, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return apply(ops::Div, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply(ops::Maximum, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply(ops::Minimum, a, b); }

namespace {
// x ** 1: the same values, but a function of x to whoever asks for second derivatives.
void vjp_first_power(Vjp& v) { v.result[0] = grad_enabled() ? flat_in_input(v.g, v.node, 0) : v.g; }
const OpInfo kFirstPower{.name = "pow",
                         .doc = "The first power.",
                         .kind = Kind::pointwise,
                         .arity = 1,
                         .emit = emit_same,
                         .vjp = vjp_first_power};
}  // namespace

// The cheaper op where an exponent has one; its gradient is cheaper and exact as well.
Tensor pow(const Tensor& a, const Tensor& b) {
  if (b.is_number() && !a.is_number()) {
    const double exponent = value_of(b);
    if (!is_float(a.dtype()) && is_float(b.dtype())) return pow(cast(a, result_type({a, b})), b);
    if (exponent == 2) return square(a);
    if (is_float(a.dtype()) && exponent == 1) return apply(kFirstPower, a);
    if (is_float(a.dtype()) && exponent == 0.5) return sqrt(a);
    if (is_float(a.dtype()) && exponent == -0.5) return apply(ops::Rsqrt, a);
    if (is_float(a.dtype()) && exponent == -1) return apply(ops::Reciprocal, a);
    if (!is_float(a.dtype()) && !is_float(b.dtype()) && exponent < 0)
      fail<ValueError>("pow", "integers to the negative power " + std::to_string(b->number.i),
                       "convert to float32 first");
  }
  return apply(ops::Pow, a, b);
}

// A number as condition, as gradients have where an input was a number, needs no op.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (!condition.is_number())
    return pointwise(ops::Where, {condition.dtype() == DType::boolean ? condition : condition != 0, a, b});
  const Tensor& chosen = value_of(condition) != 0 ? a : b;
  const Tensor& other = value_of(condition) != 0 ? b : a;
  if (!chosen.is_number() || other.is_number()) return chosen;
  return full(other.shape(), value_of(chosen), other.dtype(), other.device());
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return cast_node(ops::Cast, x, dtype);
}
Tensor cast_once(const Tensor& x, DType dtype) { return cast_once(ops::Cast, x, dtype); }
Tensor converted(const Tensor& value, DType dtype) {
  if (!value.is_number()) return cast(value, dtype);
  if (dtype == DType::boolean) return Tensor(static_cast<int64_t>(value_of(value) != 0));
  return is_float(dtype) || !is_float(value.dtype()) ? value : Tensor(static_cast<int64_t>(value_of(value)));
}
Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : clone(x); }
Tensor clone(const Tensor& x) { return apply(ops::Contiguous, x); }
Tensor copied(const Tensor& out, const Tensor& x) { return out->storage.get() == x->storage.get() ? clone(out) : out; }
Tensor stored(const Tensor& x) { return apply(ops::Stored, x); }

Tensor operator-(const Tensor& a) { return neg(a); }
Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(int64_t{value_of(a) < value_of(b)}) : apply(ops::Lt, a, b);
}
Tensor operator<=(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(int64_t{value_of(a) <= value_of(b)}) : apply(ops::Le, a, b);
}
Tensor operator>(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(int64_t{value_of(a) > value_of(b)}) : apply(ops::Gt, a, b);
}
Tensor operator>=(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(int64_t{value_of(a) >= value_of(b)}) : apply(ops::Ge, a, b);
}
Tensor operator==(const Tensor& a, const Tensor& b) {
  return both_numbers(a, b) ? Tensor(int64_t{value_of(a) == value_of(b)}) : apply(ops::Eq, a, b);
}
Tensor operator!=(const Tensor& a, const Tensor& b) { return apply(ops::Ne, a, b); }

}  // namespace sg
