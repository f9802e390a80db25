"""Rows of the pointwise ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import spirograd as sg

from .row import EACH, EVERY, FLOATS, INTEGERS, NUMBERS, PAIRS, Array, Row, Shape, relative

BITS = (*INTEGERS, "bool")
WHERE: Sequence[Sequence[Shape]] = [[(2, 3), (2, 3), (2, 3)], [(3,), (2, 1), (2, 3)], [(0,), (1,), ()], [(7, 127)] * 3]


def unary(
    name: str,
    oracle: Callable[..., Array],
    low: float = -3.0,
    high: float = 3.0,
    ulp: float = 0.0,
    dtypes: Sequence[str] = NUMBERS,
    kinks: Sequence[float] = (),
    differentiable: bool = True,
    bound: Callable[..., Array] | None = None,
    reason: str = "",
) -> Row:
    op = getattr(sg, name)
    domains = ((low, high),)
    return Row(name, op, oracle, EACH, dtypes, domains, ulp, bound, reason, differentiable, kinks, pointwise=True)


def binary(
    name: str,
    op: Callable[..., sg.Tensor],
    oracle: Callable[..., Array],
    dtypes: Sequence[str] = NUMBERS,
    domains: Sequence[tuple[float, float]] = ((-3.0, 3.0),),
    ulp: float = 0.5,
    differentiable: bool = True,
    reason: str = "",
) -> Row:
    return Row(name, op, oracle, PAIRS, dtypes, domains, ulp, None, reason, differentiable, pointwise=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


erf: Callable[[Array], Array] = np.vectorize(math.erf, otypes=[float])
erfc: Callable[[Array], Array] = np.vectorize(math.erfc, otypes=[float])


def activation(
    name: str,
    oracle: Callable[..., Array],
    op: Callable[[sg.Tensor], sg.Tensor] | None = None,
    kinks: Sequence[float] = (),
) -> Row:
    """Absolute bound: some of them are the difference of larger numbers."""
    op = op or getattr(sg, name.split(":")[0])
    return Row(name, op, oracle, EACH, FLOATS, bound=relative(8), reason=ACTIVATION, kinks=kinks, pointwise=True)


ACTIVATION = "a product or difference of rounded parts: the error grows with the parts, not with the result"


ROWS: list[Row] = [
    binary("add", lambda a, b: a + b, np.add),
    binary("sub", lambda a, b: a - b, np.subtract),
    binary("mul", lambda a, b: a * b, np.multiply),
    binary("div", lambda a, b: a / b, np.divide, domains=((-3, 3), (1, 4))),
    binary("pow", lambda a, b: a**b, np.power, domains=((0.2, 4), (0, 3)), ulp=4),
    binary("maximum", sg.maximum, np.maximum, ulp=0),
    binary("minimum", sg.minimum, np.minimum, ulp=0),
    *(
        binary(name, op, oracle, EVERY, ((-2, 2),), 0, False)
        for name, op, oracle in (
            ("lt", lambda a, b: a < b, np.less),
            ("le", lambda a, b: a <= b, np.less_equal),
            ("gt", lambda a, b: a > b, np.greater),
            ("ge", lambda a, b: a >= b, np.greater_equal),
            ("eq", lambda a, b: a == b, np.equal),
            ("ne", lambda a, b: a != b, np.not_equal),
        )
    ),
    Row(
        "where",
        lambda c, a, b: sg.where(c > 0, a, b),
        lambda c, a, b: np.where(c > 0, a, b),
        WHERE,
        NUMBERS,
        kinks=(0.0,),
        pointwise=True,
    ),
    unary("neg", np.negative),
    unary("abs", np.abs, kinks=(0.0,)),
    unary("square", np.square, ulp=0.5),
    unary("sqrt", np.sqrt, 0.1, 9, ulp=0.5),
    unary("exp", np.exp, ulp=4),
    unary("log", np.log, 0.1, 9, ulp=4),
    unary("tanh", np.tanh, ulp=4),
    unary("sigmoid", sigmoid, ulp=4),
    unary("relu", lambda x: np.maximum(x, 0), kinks=(0.0,)),
    unary("sin", np.sin, -50, 50, ulp=4),
    unary("cos", np.cos, -50, 50, ulp=4),
    unary("exp2", np.exp2, ulp=4),
    unary("expm1", np.expm1, ulp=4),
    unary("log1p", np.log1p, -0.9, 9, ulp=4),
    unary("log2", np.log2, 0.1, 9, ulp=4),
    unary("log10", np.log10, 0.1, 9, ulp=4),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 9, ulp=2),
    unary("reciprocal", lambda x: 1 / x, 0.3, 4, ulp=0.5),
    unary("deg2rad", np.deg2rad, -400, 400, ulp=2),
    unary("rad2deg", np.rad2deg, -9, 9, ulp=2),
    unary("tan", np.tan, -1.4, 1.4, ulp=4),
    unary("asin", np.arcsin, -0.95, 0.95, ulp=4),
    unary("acos", np.arccos, -0.95, 0.95, ulp=4),
    unary("atan", np.arctan, ulp=4),
    unary("sinh", np.sinh, ulp=4),
    unary("cosh", np.cosh, ulp=4),
    unary("asinh", np.arcsinh, ulp=4),
    unary("acosh", np.arccosh, 1.1, 9, ulp=4),
    unary("atanh", np.arctanh, -0.95, 0.95, ulp=4),
    unary("erf", erf, ulp=4),
    unary("erfc", erfc, ulp=4),
    binary("atan2", sg.atan2, np.arctan2, NUMBERS, ((-3, 3), (0.5, 3)), 4),
    binary("hypot", sg.hypot, np.hypot, NUMBERS, ((-3, 3), (0.5, 3)), 4),
    Row("logaddexp", sg.logaddexp, np.logaddexp, PAIRS, NUMBERS, bound=relative(2), reason=ACTIVATION, pointwise=True),
    binary("xlogy", sg.xlogy, lambda a, b: a * np.log(b), NUMBERS, ((0.2, 3), (1.2, 3)), 4),
    *(
        unary(name, oracle, kinks=(-2.0, -1.0, 0.0, 1.0, 2.0), differentiable=False)
        for name, oracle in (("floor", np.floor), ("ceil", np.ceil), ("round", np.round), ("trunc", np.trunc))
    ),
    Row(
        "round:decimals",
        lambda x: sg.round(x, decimals=2),
        lambda x: np.round(x, 2),
        EACH,
        FLOATS,
        bound=relative(2),
        differentiable=False,
        pointwise=True,
    ),
    unary("frac", lambda x: x - np.trunc(x), dtypes=FLOATS, kinks=(-2.0, -1.0, 0.0, 1.0, 2.0)),
    unary("sign", np.sign, differentiable=False),
    *(
        unary(name, oracle, dtypes=EVERY, differentiable=False)
        for name, oracle in (
            ("isnan", np.isnan),
            ("isinf", np.isinf),
            ("isfinite", np.isfinite),
            ("logical_not", np.logical_not),
        )
    ),
    unary("bitwise_not", np.invert, -9, 9, dtypes=BITS, differentiable=False),
    *(
        binary(name, op, oracle, NUMBERS, ((-9, 9), (-3, 3)), ulp, False)
        for name, op, oracle, ulp in (
            ("fmod", sg.fmod, np.fmod, 0),
            ("remainder", lambda a, b: a % b, np.remainder, 0.5),
            ("floor_divide", lambda a, b: a // b, np.floor_divide, 0),
        )
    ),
    binary(
        "div:floor",
        lambda a, b: sg.div(a, b, rounding_mode="floor"),
        np.floor_divide,
        NUMBERS,
        ((-9, 9), (1, 3)),
        0,
        False,
    ),
    binary(
        "div:trunc",
        lambda a, b: sg.div(a, b, rounding_mode="trunc"),
        lambda a, b: np.trunc(a / b),
        NUMBERS,
        ((-9, 9), (1, 3)),
        0,
        False,
    ),
    binary("add:alpha", lambda a, b: sg.add(a, b, alpha=2), lambda a, b: a + 2 * b),
    binary("sub:alpha", lambda a, b: sg.sub(a, b, alpha=2), lambda a, b: a - 2 * b),
    *(
        binary(name, op, oracle, EVERY, ((-2, 2),), 0, False)
        for name, op, oracle in (
            ("logical_and", sg.logical_and, np.logical_and),
            ("logical_or", sg.logical_or, np.logical_or),
            ("logical_xor", sg.logical_xor, np.logical_xor),
        )
    ),
    *(
        binary(name, op, oracle, BITS, ((-99, 99),), 0, False)
        for name, op, oracle in (
            ("bitwise_and", lambda a, b: a & b, np.bitwise_and),
            ("bitwise_or", lambda a, b: a | b, np.bitwise_or),
            ("bitwise_xor", lambda a, b: a ^ b, np.bitwise_xor),
        )
    ),
    *(
        binary(name, op, oracle, INTEGERS, ((-99, 99), (0, 9)), 0, False)
        for name, op, oracle in (
            ("bitwise_left_shift", lambda a, b: a << b, np.left_shift),
            ("bitwise_right_shift", lambda a, b: a >> b, np.right_shift),
        )
    ),
    binary("clamp_min", sg.clamp_min, np.maximum, ulp=0),
    binary("clamp_max", sg.clamp_max, np.minimum, ulp=0),
    Row(
        "clamp:numbers",
        lambda x: sg.clamp(x, -1, 2),
        lambda x: np.clip(x, -1, 2),
        EACH,
        NUMBERS,
        kinks=(-1.0, 2.0),
        pointwise=True,
    ),
    Row("clamp", sg.clamp, lambda x, a, b: np.minimum(np.maximum(x, a), b), WHERE, NUMBERS, pointwise=True),
    Row(
        "lerp",
        sg.lerp,
        lambda a, b, c: a + c * (b - a),
        WHERE,
        FLOATS,
        bound=relative(8),
        reason=ACTIVATION,
        pointwise=True,
    ),
    Row(
        "lerp:number",
        lambda a, b: sg.lerp(a, b, 0.25),
        lambda a, b: a + (b - a) / 4,
        PAIRS,
        FLOATS,
        bound=relative(2),
        reason=ACTIVATION,
        pointwise=True,
    ),
    Row(
        "addcmul",
        lambda a, b, c: sg.addcmul(a, b, c, value=0.5),
        lambda a, b, c: a + 0.5 * b * c,
        WHERE,
        FLOATS,
        bound=relative(8),
        reason=ACTIVATION,
        pointwise=True,
    ),
    Row(
        "addcdiv",
        lambda a, b, c: sg.addcdiv(a, b, c, value=0.5),
        lambda a, b, c: a + 0.5 * b / c,
        WHERE,
        FLOATS,
        ((-3, 3), (-3, 3), (1, 4)),
        bound=relative(8),
        reason=ACTIVATION,
        pointwise=True,
    ),
    unary("nan_to_num", np.nan_to_num),
    unary("positive", np.positive),
    activation("leaky_relu", lambda x: np.where(x > 0, x, 0.01 * x), kinks=(0.0,)),
    activation("elu", lambda x: np.where(x > 0, x, np.expm1(x)), kinks=(0.0,)),
    activation("elu:alpha", lambda x: np.where(x > 0, x, 2 * np.expm1(x)), lambda x: sg.elu(x, 2.0), (0.0,)),
    activation("celu", lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), lambda x: sg.celu(x, 2.0), (0.0,)),
    activation(
        "selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), None, (0.0,)
    ),
    activation("gelu", lambda x: x * erfc(-x / np.sqrt(2)) / 2),
    activation(
        "gelu:tanh",
        lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        lambda x: sg.gelu(x, approximate="tanh"),
    ),
    activation("silu", lambda x: x * sigmoid(x)),
    activation("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    activation("softplus", lambda x: np.log1p(np.exp(x))),
    activation(
        "softplus:beta",
        lambda x: np.where(3 * x > 4, x, np.log1p(np.exp(3 * x)) / 3),
        lambda x: sg.softplus(x, 3.0, 4.0),
        (4 / 3,),
    ),
    activation("softsign", lambda x: x / (1 + np.abs(x))),
    activation("logsigmoid", lambda x: -np.log1p(np.exp(-x))),
    activation("hardtanh", lambda x: np.clip(x, -1, 1), None, (-1.0, 1.0)),
    activation("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6),
    activation("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    activation("tanhshrink", lambda x: x - np.tanh(x)),
    activation("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), None, (-0.5, 0.5)),
    activation("hardshrink", lambda x: np.where(np.abs(x) <= 0.5, 0, x), None, (-0.5, 0.5)),
    activation("threshold", lambda x: np.where(x > 0.5, x, 2), lambda x: sg.threshold(x, 0.5, 2.0), (0.5,)),
]
