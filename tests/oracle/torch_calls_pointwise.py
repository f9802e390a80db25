"""Calls of operations that work element by element, and of operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch_draw import CALLS, LOOSE, NARROW, OFTEN_FLOAT, Draw, Maker, call, pair
from torch_oracle import FLOATS, INTEGERS, Call, Given, Type


# ---- element by element ----------------------------------------------------------------------------------------------
@call(
    "abs absolute ceil floor trunc fix frac neg negative sin cos tan atan arctan tanh sigmoid sinh cosh asinh "
    "arcsinh exp exp2 expm1 erf erfc square relu positive isnan isinf isfinite deg2rad rad2deg reciprocal sqrt rsqrt "
    "log log2 log10 log1p logical_not bitwise_not"
)
def unary(d: Draw) -> Any:
    return [d.tensor()]


@call("sign sgn")
def signed(d: Draw) -> Any:
    return [d.tensor(special=False)]  # NaN: docs/numerics.md


@call("acosh arccosh")
def unary_above_one(d: Draw) -> Any:
    return [d.tensor(low=1, special=False)]


@call("asin acos arcsin arccos atanh arctanh")
def unary_near_one(d: Draw) -> Any:
    return [d.tensor(low=-1, high=1)]


@call("selu silu mish softsign hardswish hardsigmoid logsigmoid tanhshrink", loose=10)
def activation(d: Draw) -> Any:
    return [d.tensor(dtypes=OFTEN_FLOAT)]


@call("round")
def rounding(d: Draw) -> Any:
    return [d.tensor(low=-300, high=300)], {"decimals": d.pick(0, 1, 2, -1)} if d.often() else {}


@call("gelu", loose=10)
def gelu(d: Draw) -> Any:
    return [d.tensor(dtypes=OFTEN_FLOAT, special=False)], {
        "approximate": d.pick("none", "tanh", "what")
    } if d.often() else {}


@call("celu elu leaky_relu hardshrink softshrink")
def activation_with_number(d: Draw) -> Any:
    return [d.tensor(dtypes=OFTEN_FLOAT), *([d.pick(0.5, 1, 0.25, 2.0)] if d.often() else [])], {}


@call("softplus hardtanh threshold")
def activation_with_numbers(d: Draw) -> Any:
    return [d.tensor(dtypes=OFTEN_FLOAT), *d.pick((0.5, 1.0), (1, 3), (-1.0, 0.5), (2.0, 20.0))], {}


@call("softmax log_softmax")
def softmax(d: Draw) -> Any:
    x = d.tensor(dtypes=OFTEN_FLOAT)
    return [x, d.dim(x.values.ndim)], {"dtype": Type(d.pick(*FLOATS))} if d.rarely() else {}


@call("atan2 arctan2")
def angle(d: Draw) -> Any:
    a = d.shape()
    x, y = d.tensor(a, special=False), d.tensor(d.broadcast(a), special=False)
    return (x, y) if d.often() else (y, x)


@call("maximum minimum logaddexp hypot logical_and logical_or logical_xor")
def binary(d: Draw) -> Any:
    return pair(d)


@call(
    "mul multiply true_divide divide fmod remainder floor_divide eq ne not_equal lt less le less_equal gt greater ge "
    "greater_equal bitwise_and bitwise_or bitwise_xor"
)
def binary_or_number(d: Draw) -> Any:
    return pair(d) if d.twenty() < 13 else (x := d.tensor(), d.number(x))


@call("pow")
def power(d: Draw) -> Any:
    kind = d.twenty()
    if kind < 8:
        return d.tensor(shape := d.shape(), special=False), d.tensor(d.broadcast(shape), special=False)
    x = d.tensor()
    return (x, d.number(x)) if kind < 16 else Call("pow", (d.number(x), x))


@call("bitwise_left_shift bitwise_right_shift")
def shift(d: Draw) -> Any:
    x = d.tensor(dtypes=INTEGERS)
    if d.rarely():
        return x, d.tensor(d.broadcast(x.values.shape))
    count = d.tensor(d.broadcast(x.values.shape), (x.dtype,), False, 0, 7)
    return x, d.pick(count, d.pick(0, 1, 3, 7))


@call("xlogy")
def xlogy(d: Draw) -> Any:
    kind = d.twenty()
    return pair(d) if kind < 14 else (d.tensor(), d.number()) if kind < 17 else (d.number(), d.tensor())


@call("add sub subtract")
def added(d: Draw) -> Any:
    arguments = binary_or_number(d)
    return arguments, {"alpha": d.pick(0, 1, 2, -1, 0.5, 3)} if d.twenty() > 14 else {}


@call("div")
def div(d: Draw) -> Any:
    mode = d.pick("floor", "trunc", None, "what")
    return binary_or_number(d), {"rounding_mode": mode} if d.twenty() > 12 else {}


@call("lerp")
def lerp(d: Draw) -> Any:
    a, b = pair(d, OFTEN_FLOAT)
    b.dtype = a.dtype if not d.rarely() else b.dtype
    if d.often():
        return a, b, d.pick(0.5, 0.25, 1, 2.0, -1.0)
    return a, b, d.tensor(d.broadcast(a.values.shape), (a.dtype,))


@call("addcmul addcdiv")
def addc(d: Draw) -> Any:
    shape = d.shape()
    a, b, c = (d.tensor(s, special=False, low=0.25) for s in (shape, d.broadcast(shape), d.broadcast(shape)))
    return [a, b, c], {"value": d.pick(0, 1, 2, 3)} if d.often() else {}


@call("clamp clip")
def clamp(d: Draw) -> Any:
    x = d.tensor()
    if d.often():
        whole = ((0,), (0, 2), (None, 1), (2, 1), (None, None))
        return [x, *d.pick(*whole, *(() if x.dtype in NARROW else ((-1, 1), (-0.5, 1.5), (1, -1), (-1.0, math.nan))))]
    bounds = [d.tensor(d.broadcast(x.values.shape)) for _ in range(2)]
    return [x, *d.pick((bounds[0],), tuple(bounds), (None, bounds[1]))]


@call("clamp_min clamp_max")
def clamp_one(d: Draw) -> Any:
    x = d.tensor()
    return x, d.number(x) if d.often() else d.tensor(d.broadcast(x.values.shape))


@call("nan_to_num")
def nan_to_num(d: Draw) -> Any:
    more = {k: d.pick(0.0, 1.5, -7, None) for k in ("nan", "posinf", "neginf") if d.twenty() > 12}
    return [d.tensor(special=True)], more


@call("where")
def where(d: Draw) -> Any:
    a, b = pair(d)
    c = d.tensor(d.broadcast(a.values.shape), ("bool", "bool", "bool", "uint8", "int64", "float32"), grad=False)
    kind = d.twenty()
    if kind < 3:
        return [c]
    return (c, a, b) if kind < 12 else (c, a, d.number(a)) if kind < 16 else (c, d.number(), d.number())


@call("isclose allclose")
def isclose(d: Draw) -> Any:
    x, y = pair(d)
    if not d.rarely():
        y = d.tensor(y.values.shape, (x.dtype,))
    return [x, y], {"equal_nan": True} if d.often() else {"rtol": 0.5, "atol": 0.25} if d.often() else {}


@call("equal")
def equal(d: Draw) -> Any:
    x = d.tensor()
    return x, d.pick(x, Given(x.values, x.dtype), d.tensor(x.values.shape))


@call("masked_fill")
def masked_fill(d: Draw) -> Any:
    x = d.tensor()
    mask = d.tensor(d.broadcast(x.values.shape), ("bool",) * 9 + ("uint8",), grad=False)
    return x, mask, d.number() if d.often() else d.tensor(d.pick((), (), (1,)))


# ---- operators -------------------------------------------------------------------------------------------------------
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "operator +": lambda a, b: a + b,
    "operator -": lambda a, b: a - b,
    "operator *": lambda a, b: a * b,
    "operator /": lambda a, b: a / b,
    "operator //": lambda a, b: a // b,
    "operator %": lambda a, b: a % b,
    "operator **": lambda a, b: a**b,
    "operator &": lambda a, b: a & b,
    "operator |": lambda a, b: a | b,
    "operator ^": lambda a, b: a ^ b,
    "operator <": lambda a, b: a < b,
    "operator <=": lambda a, b: a <= b,
    "operator ==": lambda a, b: a == b,
    "operator !=": lambda a, b: a != b,
    "operator >": lambda a, b: a > b,
    "operator >=": lambda a, b: a >= b,
}


def operator(name: str) -> Maker:
    def maker(d: Draw) -> Any:
        kind = d.twenty()
        arguments = pair(d) if kind < 8 else (x := d.tensor(), d.number(x))
        arguments = arguments if kind < 14 else arguments[::-1]
        return Call(name, tuple(arguments), function=lambda _, a, b: OPERATORS[name](a, b))

    return maker


for name in OPERATORS:
    CALLS[name], LOOSE[name] = operator(name), 1.0
