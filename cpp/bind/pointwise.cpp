// Functions and methods of the pointwise ops. Ops of one or two tensors get theirs from a loop, with the form in place
// and other names; ops with more arguments, whose signatures are PyTorch's, are written out. The formulas are in math/.
#include <string>

#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

constexpr auto kFunction = Scope::function, kMethod = Scope::method;

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

std::string example(const OpInfo& op, const char* values, const char* whole_values) {
  return std::string("\n\nExample:\n    >>> y = sg.") + op.name + "(" +
         (op.takes & kTakesFloats ? values : whole_values) + ")";
}

std::string unary_doc(const OpInfo& op) {
  return std::string(op.doc) + "\n\nArgs:\n    input: a, a tensor of any shape." +
         (op.result == Result::floating ? " Integers and booleans become float32." : "") +
         "\n\nReturns:\n    A tensor of the same shape" + (op.result == Result::boolean ? ", of type bool." : ".") +
         example(op, "sg.tensor([0.5, 1.0])", "sg.tensor([1, 2])");
}

std::string binary_doc(const OpInfo& op, std::string_view parameters, const std::string& option) {
  return std::string(op.doc) + "\n\nArgs:\n    input: a, a tensor or a number.\n    " +
         std::string(parameters.substr(0, parameters.find(':'))) +
         ": b, a tensor or a number; one of the two is a tensor, shapes broadcast." + option +
         "\n\nReturns:\n    A tensor of the common shape" + (op.result == Result::boolean ? ", of type bool" : "") +
         ".\n\nRaises:\n    ValueError: the shapes do not broadcast." +
         example(op, "sg.tensor([1.0, 2.0]), 2.0", "sg.tensor([1, 2]), 2");
}

// What differs from op(input, other).
struct Special {
  std::string_view name;
  Body body, body_in_place;
  const char *parameters, *doc;
};
const Special specials[] = {
    {"add", scaled<add_scaled>, in_place<scaled<add_scaled>>, "other: Tensor | float, *, alpha: float = 1",
     "\n    alpha: what other is multiplied with."},
    {"sub", scaled<sub_scaled>, in_place<scaled<sub_scaled>>, "other: Tensor | float, *, alpha: float = 1",
     "\n    alpha: what other is multiplied with."},
    {"div", divided, in_place<divided>, "other: Tensor | float, *, rounding_mode: str | None = None",
     "\n    rounding_mode: None, 'floor' or 'trunc'; with the last two, integers stay integers."},
    {"pow", power, in_place<power>, "exponent: Tensor | float", ""},
    {"clamp_min", binary<kMin>, in_place<binary<kMin>>, "min: Tensor | float", ""},
    {"clamp_max", binary<kMax>, in_place<binary<kMax>>, "max: Tensor | float", ""},
};
const Special kBinary = {"", binary<kOther>, in_place<binary<kOther>>, "other: Tensor | float", ""};

const Special& special(const OpInfo& op) {
  for (const Special& s : specials)
    if (s.name == op.name) return s;
  return kBinary;
}

// NumPy's and PyTorch's other names.
constexpr struct {
  std::string_view op;
  const char* alias;
} aliases[] = {{"asin", "arcsin"},   {"acos", "arccos"},   {"atan", "arctan"},      {"atan2", "arctan2"},
               {"asinh", "arcsinh"}, {"acosh", "arccosh"}, {"atanh", "arctanh"},    {"neg", "negative"},
               {"abs", "absolute"},  {"sign", "sgn"},      {"trunc", "fix"},        {"sub", "subtract"},
               {"mul", "multiply"},  {"div", "divide"},    {"div", "true_divide"},  {"pow", "power"},
               {"gt", "greater"},    {"lt", "less"},       {"ge", "greater_equal"}, {"le", "less_equal"},
               {"ne", "not_equal"}};

// ---- callables with more arguments ----------------------------------------------------------------------------------------
constexpr auto gelu_of = static_cast<Tensor (*)(const Tensor&, const std::string&)>(sg::gelu);

#define SG_CLAMP_DOC                                                                                             \
  "input, at least min and at most max; where they cross, max.\n\nArgs:\n    min: a number, a tensor or None.\n" \
  "    max: the same.\n\nRaises:\n    ValueError: neither is given.\n\nExample:\n"                               \
  "    >>> sg.tensor([1.0, 5.0]).clamp(2.0, 4.0).tolist()\n    [2.0, 4.0]"
#define SG_CLAMP_ARGUMENTS "min: Tensor | float | None = None, max: Tensor | float | None = None"
#define SG_LERP_ARGUMENTS "end: Tensor, weight: Tensor | float"
#define SG_PRODUCT_ARGUMENTS "tensor1: Tensor, tensor2: Tensor, *, value: float = 1"
const Callable callables[] = {
    {"round", bound<round_decimals>, "*, decimals: int = 0", "Tensor",
     "The nearest whole number, ties to the even one; or the nearest multiple of 10^-decimals.\n\nExample:\n"
     "    >>> sg.tensor([0.5, 1.5, -2.25]).round().tolist()\n    [0.0, 2.0, -2.0]"},
    {"clamp", bound<clamp_between>, SG_CLAMP_ARGUMENTS, "Tensor", SG_CLAMP_DOC},
    {"clip", bound<clamp_between>, SG_CLAMP_ARGUMENTS, "Tensor", "The same as clamp. " SG_CLAMP_DOC},
    {"lerp", bound<sg::lerp>, SG_LERP_ARGUMENTS, "Tensor",
     "From input (weight 0) to end (weight 1) on a straight line, exact at both ends.\n\nExample:\n"
     "    >>> sg.zeros(2).lerp(sg.ones(2), 0.25).tolist()\n    [0.25, 0.25]"},
    {"addcmul", bound<sg::addcmul>, SG_PRODUCT_ARGUMENTS, "Tensor",
     "input + value * tensor1 * tensor2.\n\nExample:\n"
     "    >>> sg.ones(2).addcmul(sg.ones(2), sg.ones(2), value=0.5).tolist()\n    [1.5, 1.5]"},
    {"addcdiv", bound<sg::addcdiv>, SG_PRODUCT_ARGUMENTS, "Tensor",
     "input + value * tensor1 / tensor2.\n\nExample:\n"
     "    >>> sg.ones(2).addcdiv(sg.ones(2), sg.ones(2) * 2).tolist()\n    [1.5, 1.5]"},
    {"nan_to_num", bound<sg::nan_to_num>,
     "nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None", "Tensor",
     "Numbers in place of NaN and infinities.\n\nArgs:\n    nan: for NaN.\n    posinf: for inf; None: the largest "
     "finite number.\n    neginf: for -inf; None: the lowest finite number.\n\nExample:\n"
     "    >>> sg.tensor([0.0, 1.0]).log().nan_to_num(neginf=-9.0).tolist()\n    [-9.0, 0.0]"},
    {"positive", bound<sg::positive>, "", "Tensor",
     "The tensor itself.\n\nRaises:\n    TypeError: it is of bool.\n\nExample:\n"
     "    >>> sg.tensor([-1.0]).positive().tolist()\n    [-1.0]"},
    {"round_", in_place<bound<round_decimals>>, "*, decimals: int = 0", "Tensor", "round." SG_PLACE_DOC, kMethod},
    {"clamp_", in_place<bound<clamp_between>>, SG_CLAMP_ARGUMENTS, "Tensor", "clamp." SG_PLACE_DOC, kMethod},
    {"clip_", in_place<bound<clamp_between>>, SG_CLAMP_ARGUMENTS, "Tensor", "clip." SG_PLACE_DOC, kMethod},
    {"lerp_", in_place<bound<sg::lerp>>, SG_LERP_ARGUMENTS, "Tensor", "lerp." SG_PLACE_DOC, kMethod},
    {"addcmul_", in_place<bound<sg::addcmul>>, SG_PRODUCT_ARGUMENTS, "Tensor", "addcmul." SG_PLACE_DOC, kMethod},
    {"addcdiv_", in_place<bound<sg::addcdiv>>, SG_PRODUCT_ARGUMENTS, "Tensor", "addcdiv." SG_PLACE_DOC, kMethod},
    {"nan_to_num_", in_place<bound<sg::nan_to_num>>,
     "nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None", "Tensor",
     "nan_to_num." SG_PLACE_DOC, kMethod},
    {"leaky_relu", bound<sg::leaky_relu>, "input: Tensor, negative_slope: Tensor | float = 0.01", "Tensor",
     "input where it is positive, else input * negative_slope.\n\nExample:\n"
     "    >>> sg.leaky_relu(sg.tensor([-2.0, 2.0]), 0.5).tolist()\n    [-1.0, 2.0]",
     kFunction},
    {"elu", bound<sg::elu>, "input: Tensor, alpha: float = 1.0", "Tensor",
     "input where it is positive, else alpha * (exp(input) - 1).\n\nExample:\n    >>> y = sg.elu(sg.randn(3))",
     kFunction},
    {"celu", bound<sg::celu>, "input: Tensor, alpha: float = 1.0", "Tensor",
     "input where it is positive, else alpha * (exp(input / alpha) - 1).\n\nExample:\n"
     "    >>> y = sg.celu(sg.randn(3), 2.0)",
     kFunction},
    {"gelu", bound<gelu_of>, "input: Tensor, approximate: str = 'none'", "Tensor",
     "input times the normal distribution function of input.\n\nArgs:\n    approximate: 'none', or 'tanh' for the "
     "formula with tanh in place of erf.\n\nExample:\n    >>> y = sg.gelu(sg.randn(3))",
     kFunction},
    {"softplus", bound<sg::softplus>, "input: Tensor, beta: float = 1.0, threshold: float = 20.0", "Tensor",
     "log(1 + exp(beta * input)) / beta, and input itself where beta * input is above the threshold.\n\nExample:\n"
     "    >>> y = sg.softplus(sg.randn(3))",
     kFunction, Autocast::wide},
    {"hardtanh", bound<hardtanh>, "input: Tensor, min_val: float = -1.0, max_val: float = 1.0", "Tensor",
     "input, at least min_val and at most max_val.\n\nExample:\n"
     "    >>> sg.hardtanh(sg.tensor([-2.0, 0.5])).tolist()\n    [-1.0, 0.5]",
     kFunction},
    {"softshrink", bound<sg::softshrink>, "input: Tensor, lambd: float = 0.5", "Tensor",
     "input moved towards 0 by lambd, and 0 within lambd of it.\n\nExample:\n"
     "    >>> sg.softshrink(sg.tensor([-2.0, 0.25])).tolist()\n    [-1.5, 0.0]",
     kFunction},
    {"hardshrink", bound<sg::hardshrink>, "input: Tensor, lambd: float = 0.5", "Tensor",
     "input, and 0 within lambd of it.\n\nExample:\n"
     "    >>> sg.hardshrink(sg.tensor([-2.0, 0.25])).tolist()\n    [-2.0, 0.0]",
     kFunction},
    {"threshold", bound<sg::threshold>, "input: Tensor, threshold: float, value: float", "Tensor",
     "input where it is above the threshold, else value.\n\nExample:\n"
     "    >>> sg.threshold(sg.tensor([1.0, 3.0]), 2.0, 0.0).tolist()\n    [0.0, 3.0]",
     kFunction},
};

// Rows of math/ without a method: activations.
constexpr std::string_view functions_only[] = {"selu",       "silu",      "mish",        "softsign",
                                               "logsigmoid", "hardswish", "hardsigmoid", "tanhshrink"};
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
    const bool one = op->arity == 1;
    const Special& two = special(*op);
    const std::string doc = one ? unary_doc(*op) : binary_doc(*op, two.parameters, two.doc);
    Callable callable{op->name, one ? Body(unary, 1) : two.body, one ? "" : two.parameters, "Tensor", doc.c_str()};
    callable.op = op;
    if (op->wide) callable.autocast = Autocast::wide;
    if (among(functions_only, op->name)) callable.scope = kFunction, callable.parameters = "input: Tensor";
    add_callables(module, &callable, 1);
    for (const auto& [name, alias] : aliases) {
      if (name != op->name) continue;
      Callable other = callable;
      other.name = alias;
      const std::string same = std::string("The same as ") + op->name + ". " + doc;
      other.doc = same.c_str();
      add_callables(module, &other, 1);
    }
    if (callable.scope == kFunction || op->result == Result::boolean) continue;
    const std::string name = std::string(op->name) + "_";
    const std::string in_place_doc = std::string(op->name) + "." SG_PLACE_DOC;
    Callable into = callable;
    into.name = name.c_str();
    into.body = one ? in_place<unary> : two.body_in_place;
    into.doc = in_place_doc.c_str();
    into.scope = kMethod;
    into.autocast = Autocast::none;  // its type is that of the tensor
    add_callables(module, &into, 1);
  }
  add_callables(module, callables);
}

}  // namespace sg::bind
