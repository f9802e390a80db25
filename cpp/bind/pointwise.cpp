// Functions and methods of the pointwise ops. Ops of one or two tensors get theirs from a loop, with the form in place;
// ops with more arguments, whose signatures are PyTorch's, are written out. The formulas are in math/.
#include <string>

#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

PyObject* unary(const Call& call) {
  const OpInfo& op = *call.callable->op;
  Arguments a(op.name, call);
  PyObject* self = call.self ? call.self : a.need("input");
  a.done();
  return wrap(apply(op, tensor_of(op.name, self)));
}

// The two operands of a call, one of which is a tensor. `second` is the name of the other, `option` that of a keyword.
struct Operands {
  Operands(const Call& call, const char* second, const char* option = nullptr) : op(call.callable->op->name) {
    Arguments a(op, call);
    PyObject* self = call.self ? call.self : a.need("input");
    PyObject* other = a.need(second, "other");
    if (option) given_option = a.keyword(option);
    a.done();
    device = is_tensor(self) ? unwrap(self).device() : is_tensor(other) ? unwrap(other).device() : DeviceId{};
    x = &operand_of(op, self, room_x, device);
    y = &operand_of(op, other, room_y, device);
    if (x->is_number() && y->is_number())
      fail<TypeError>(op, "needs a tensor, got numbers only", "make one of them a tensor");
  }
  const char* op;
  DeviceId device;
  Tensor room_x, room_y;
  const Tensor *x, *y;
  PyObject* given_option = nullptr;
};

// Integers stay integers, as in PyTorch: the bounds lose their fractions.
Tensor hardtanh(const Tensor& x, const Tensor& low, const Tensor& high) {
  if (is_float(x.dtype())) return sg::hardtanh(x, low, high);
  const DType wide = DType::int64;  // in which unsigned types have bounds below 0
  return cast(sg::hardtanh(cast(x, wide), converted(low, wide), converted(high, wide)), x.dtype());
}

constexpr char kOther[] = "other", kMin[] = "min", kMax[] = "max";

template <const char* second>
PyObject* binary(const Call& call) {
  const Operands o(call, second);
  return wrap(apply(*call.callable->op, *o.x, *o.y));
}
PyObject* power(const Call& call) {  // some exponents are other ops
  const Operands o(call, "exponent");
  return wrap(pow(*o.x, *o.y));
}

template <Tensor (*op)(const Tensor&, const Tensor&, const Tensor&)>
PyObject* scaled(const Call& call) {
  const Operands o(call, kOther, "alpha");
  if (!given(o.given_option)) return wrap(apply(*call.callable->op, *o.x, *o.y));
  Tensor room;
  return wrap(op(*o.x, *o.y, operand_of(o.op, o.given_option, room, o.device)));
}
PyObject* divided(const Call& call) {
  const Operands o(call, kOther, "rounding_mode");
  if (!given(o.given_option)) return wrap(div(*o.x, *o.y));
  Fetched f;
  f.op = o.op;
  return wrap(div_rounded(*o.x, *o.y, From<std::string>::get(f, o.given_option)));
}

constexpr uint16_t kOperand = kTensor | kFloat | kInt | kBool;
constexpr uint16_t kOperands[] = {kOperand, kOperand, kAnything};

// What differs from op(input, other).
struct Special {
  std::string_view name;
  PyObject* (*run)(const Call&);
  Body body_in_place;
  int arguments = 2;
};
const Special specials[] = {
    {"add", scaled<add_scaled>, in_place<scaled<add_scaled>>, 3},
    {"sub", scaled<sub_scaled>, in_place<scaled<sub_scaled>>, 3},
    {"div", divided, in_place<divided>, 3},
    {"pow", power, in_place<power>},
    {"clamp_min", binary<kMin>, in_place<binary<kMin>>},
    {"clamp_max", binary<kMax>, in_place<binary<kMax>>},
};
const Special kUnary = {"", unary, in_place<unary>, 1};
const Special kBinary = {"", binary<kOther>, in_place<binary<kOther>>};

const Special& special(const OpInfo& op) {
  for (const Special& s : specials)
    if (s.name == op.name) return s;
  return op.arity == 1 ? kUnary : kBinary;
}

// ---- callables with more arguments ----------------------------------------------------------------------------------------
constexpr auto gelu_of = static_cast<Tensor (*)(const Tensor&, const std::string&)>(sg::gelu);

constexpr Callable callables[] = {
    {"round", bound<round_decimals>},
    {"clamp", bound<clamp_between>},
    {"lerp", bound<sg::lerp>},
    {"addcmul", bound<sg::addcmul>},
    {"addcdiv", bound<sg::addcdiv>},
    {"nan_to_num", bound<sg::nan_to_num>},
    {"positive", bound<sg::positive>},
    {"round_", in_place<bound<round_decimals>>},
    {"clamp_", in_place<bound<clamp_between>>},
    {"lerp_", in_place<bound<sg::lerp>>},
    {"addcmul_", in_place<bound<sg::addcmul>>},
    {"addcdiv_", in_place<bound<sg::addcdiv>>},
    {"nan_to_num_", in_place<bound<sg::nan_to_num>>},
    {"leaky_relu", bound<sg::leaky_relu>},
    {"elu", bound<sg::elu>},
    {"celu", bound<sg::celu>},
    {"gelu", bound<gelu_of>},
    {"softplus", bound<sg::softplus>, Autocast::wide},
    {"hardtanh", bound<hardtanh>},
    {"softshrink", bound<sg::softshrink>},
    {"hardshrink", bound<sg::hardshrink>},
    {"threshold", bound<sg::threshold>},
};

// Rows that are called through another function.
constexpr std::string_view inner[] = {"trunc_divide", "gelu_tanh", "gelu_slope"};

template <class List>
bool among(const List& list, std::string_view name) {
  for (std::string_view s : list)
    if (s == name) return true;
  return false;
}
bool written_out(std::string_view name) {
  for (const Callable& callable : callables)
    if (name == callable.name) return true;
  return false;
}

}  // namespace

void add_op_table(PyObject* module) {
  for (const OpInfo* op : elementwise_ops()) {
    if (among(inner, op->name) || written_out(op->name)) continue;
    const Special& how = special(*op);
    Callable callable(op->name, {how.run, {kOperands, how.arguments, kTensor}},
                      op->wide ? Autocast::wide : Autocast::none);
    callable.op = op;
    add_callables(module, &callable, 1);
    if (callable.scope == Scope::function || op->result == Result::boolean) continue;
    Callable into(std::string(op->name) + "_", how.body_in_place);  // without autocast: its type is that of the tensor
    into.op = op;
    add_callables(module, &into, 1);
  }
  add_callables(module, callables);
}

}  // namespace sg::bind
