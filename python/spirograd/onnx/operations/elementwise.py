"""Ops that compute element by element, and conversions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core import Tensor
from ...base.tree import flatten
from ..graph import Value, promoted
from .call import COMPARISONS, OPERATIONS, Call, Operation, op

# ---- element by element ----------------------------------------------------------------------------------------------
_UNARY = {
    "abs": "Abs", "absolute": "Abs", "__abs__": "Abs", "neg": "Neg", "negative": "Neg", "__neg__": "Neg", "exp": "Exp",
    "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "sigmoid": "Sigmoid", "relu": "Relu", "floor": "Floor", "ceil": "Ceil", "round": "Round",
    "sign": "Sign", "erf": "Erf", "softsign": "Softsign", "mish": "Mish",
}  # fmt: skip
_BINARY = {
    "add": "Add", "__add__": "Add", "sub": "Sub", "subtract": "Sub", "__sub__": "Sub", "mul": "Mul", "multiply": "Mul",
    "__mul__": "Mul", "maximum": "Max", "minimum": "Min", "logical_and": "And", "logical_or": "Or",
    "logical_xor": "Xor", "eq": "Equal", "__eq__": "Equal", "gt": "Greater", "greater": "Greater",
    "__gt__": "Greater", "ge": "GreaterOrEqual", "greater_equal": "GreaterOrEqual", "__ge__": "GreaterOrEqual",
    "lt": "Less", "less": "Less", "__lt__": "Less",
    "le": "LessOrEqual", "less_equal": "LessOrEqual", "__le__": "LessOrEqual",
}  # fmt: skip


def _unary(name: str) -> Operation:
    return lambda c, x: c.same(name, c.graph.cast(x, c.dtype))


def _binary(name: str) -> Operation:
    def entry(c: Call, a: Any, b: Any, *, alpha: float = 1) -> Value:
        if alpha != 1:
            b = c.binary("Mul", b, alpha, promoted(a, b))
        dtype = promoted(a, b)
        if name in ("Max", "Min", "Add", "Mul", "Sub") or name in COMPARISONS:
            dtype = "int64" if dtype == "bool" and name not in ("Equal",) else dtype
        if name in ("And", "Or", "Xor"):
            dtype = "bool"
        return c.graph.cast(c.binary(name, a, b, dtype), c.dtype)

    return entry


for _name, _node in _UNARY.items():
    OPERATIONS[_name] = _unary(_node)
for _name, _node in _BINARY.items():
    OPERATIONS[_name] = _binary(_node)


@op("__and__", "bitwise_and", "__or__", "bitwise_or", "__xor__", "bitwise_xor")
def _(c: Call, a: Any, b: Any) -> Value:
    kind = c.name.strip("_").removeprefix("bitwise_").capitalize()
    return c.binary(kind if c.dtype == "bool" else f"Bitwise{kind}", a, b, c.dtype)


@op("logical_not", "__invert__", "bitwise_not")
def _(c: Call, x: Value) -> Value:
    if c.dtype == "bool":
        return c.same("Not", c.graph.cast(x, "bool"))
    return c.same("BitwiseNot", x)


@op("div", "divide", "true_divide", "__truediv__")
def _(c: Call, a: Any, b: Any, *, rounding_mode: str | None = None) -> Value:
    out = c.binary("Div", a, b, c.dtype)
    if rounding_mode is None or c.dtype.startswith("int"):
        return out
    return c.same("Floor", out) if rounding_mode == "floor" else _truncated(c, out)


@op("floor_divide", "__floordiv__")
def _(c: Call, a: Any, b: Any) -> Value:
    if not c.dtype.startswith(("int", "uint")):
        return c.same("Floor", c.binary("Div", a, b, c.dtype))
    x, y = c.value(a, c.dtype), c.value(b, c.dtype)
    rest = c.binary("Mod", x, y)  # of the sign of b
    return c.binary("Div", c.binary("Sub", x, rest), y)


@op("remainder", "__mod__")
def _(c: Call, a: Any, b: Any) -> Value:
    if not c.dtype.startswith(("int", "uint")):
        return c.binary("Sub", a, c.binary("Mul", c.same("Floor", c.binary("Div", a, b, c.dtype)), b), c.dtype)
    return c.binary("Mod", a, b, c.dtype)


def _truncated(c: Call, x: Value) -> Value:
    return c.binary("Mul", c.same("Sign", x), c.same("Floor", c.same("Abs", x)))


@op("expm1", "log1p", "exp2", "log2", "log10", "erfc")
def _(c: Call, x: Value) -> Value:
    x = c.graph.cast(x, c.dtype)
    if c.name == "expm1":
        return c.binary("Sub", c.same("Exp", x), 1.0)
    if c.name == "log1p":
        return c.same("Log", c.binary("Add", x, 1.0))
    if c.name == "exp2":
        return c.same("Exp", c.binary("Mul", x, math.log(2)))
    if c.name == "erfc":
        return c.binary("Sub", 1.0, c.same("Erf", x))
    return c.binary("Div", c.same("Log", x), math.log(2 if c.name == "log2" else 10))


@op("addcmul", "addcdiv")
def _(c: Call, x: Value, a: Value, b: Value, *, value: float = 1) -> Value:
    product = c.binary("Mul" if c.name == "addcmul" else "Div", a, b, c.dtype)
    return c.binary("Add", x, c.binary("Mul", product, float(value)), c.dtype)


@op("logaddexp")
def _(c: Call, a: Value, b: Any) -> Value:
    far = c.same("Neg", c.same("Abs", c.binary("Sub", a, b)))
    return c.binary("Add", c.binary("Max", a, b), c.same("Log", c.binary("Add", c.same("Exp", far), 1.0)))


@op("deg2rad", "rad2deg")
def _(c: Call, x: Value) -> Value:
    return c.binary("Mul", x, math.pi / 180 if c.name == "deg2rad" else 180 / math.pi)


@op("where")
def _(c: Call, condition: Value, a: Any, b: Any) -> Value:
    return c.node("Where", c.graph.cast(condition, "bool"), c.value(a, c.dtype), c.value(b, c.dtype))


@op("masked_fill")
def _(c: Call, x: Value, mask: Value, value: Any) -> Value:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return c.graph.node("Where", [c.graph.cast(mask, "bool"), c.value(value, x.dtype), x], shape, x.dtype)


@op("clamp", "clip", "clamp_min", "clamp_max", "hardtanh", "relu6")
def _(c: Call, x: Value, min: Any = None, max: Any = None, **named: Any) -> Value:
    if c.name == "hardtanh":
        min, max = (-1.0 if min is None else min), (1.0 if max is None else max)
        min, max = named.get("min_val", min), named.get("max_val", max)
    if c.name == "relu6":
        min, max = 0.0, 6.0
    if c.name == "clamp_max":
        min, max = None, min if max is None else max
    x = c.graph.cast(x, c.dtype)
    if isinstance(min, Value) or isinstance(max, Value):
        x = x if min is None else c.binary("Max", x, min, c.dtype)
        return x if max is None else c.binary("Min", x, max, c.dtype)
    limits = [None if limit is None else c.value(limit, c.dtype) for limit in (min, max)]
    return c.node("Clip", x, *limits)


@op("isnan", "isinf", "isfinite")
def _(c: Call, x: Value) -> Value:
    if c.name != "isfinite":
        return c.node("IsNaN" if c.name == "isnan" else "IsInf", x, dtype="bool")
    return c.same("Not", c.binary("Or", c.node("IsNaN", x, dtype="bool"), c.node("IsInf", x, dtype="bool")))


# ---- activations -----------------------------------------------------------------------------------------------------
@op("gelu")
def _(c: Call, x: Value, approximate: str = "none") -> Value:
    if approximate == "tanh":
        cubed = c.binary("Mul", c.binary("Mul", x, x), x)
        inside = c.binary("Mul", c.binary("Add", x, c.binary("Mul", cubed, 0.044715)), math.sqrt(2 / math.pi))
        share = c.binary("Add", c.same("Tanh", inside), 1.0)
    else:
        share = c.binary("Add", c.same("Erf", c.binary("Mul", x, math.sqrt(0.5))), 1.0)
    return c.binary("Mul", c.binary("Mul", x, 0.5), share)


@op("leaky_relu")
def _(c: Call, x: Value, negative_slope: Any = 0.01) -> Value:
    if isinstance(negative_slope, Value):  # of PReLU
        below = c.binary("Less", x, 0.0)
        return c.graph.node("Where", [below, c.binary("Mul", x, negative_slope), x], x.shape, x.dtype)
    return c.same("LeakyRelu", x, alpha=float(negative_slope))


@op("softplus")
def _(c: Call, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    scaled = x if beta == 1 else c.binary("Mul", x, float(beta))
    soft = c.same("Softplus", scaled)
    soft = soft if beta == 1 else c.binary("Div", soft, float(beta))
    return c.node("Where", c.binary("Greater", scaled, float(threshold)), x, soft)


@op("hardshrink", "softshrink")
def _(c: Call, x: Value, lambd: float = 0.5) -> Value:
    return c.same("Shrink", x, lambd=float(lambd), bias=float(lambd) if c.name == "softshrink" else 0.0)


@op("threshold")
def _(c: Call, x: Value, threshold: float, value: float) -> Value:
    return c.node("Where", c.binary("Greater", x, threshold), x, c.value(value, x.dtype))


@op("softmax", "log_softmax")
def _(c: Call, x: Value, dim: int, dtype: Any = None) -> Value:
    x = c.graph.cast(x, c.dtype)
    return c.same("Softmax" if c.name == "softmax" else "LogSoftmax", x, axis=x.axis(dim))


# ---- types and copies ------------------------------------------------------------------------------------------------
@op("to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    return c.graph.cast(x, c.dtype)


@op("_autocast_arguments")
def _(c: Call, args: Any, kwargs: Any, narrow: bool) -> list[Value | None]:
    results = [x for x in flatten(c.result)[0] if isinstance(x, Tensor)]
    values = [x for x in flatten((args, kwargs))[0] if isinstance(x, (Value, Tensor))]
    return [
        c.graph.cast(v, x.dtype.name) if isinstance(v, Value) else None for v, x in zip(values, results, strict=True)
    ]


@op("detach", "clone", "contiguous", "_snapshot", "_stored", "data", "cpu", "gpu", "cuda", "positive", "__copy__")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    return x


@op("_check_parameter")
def _(c: Call, op: str, x: Value, good: Value) -> Value:
    return x


@op("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "empty_like", "new_empty")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    with_value = {"full_like": 0, "new_full": 1}.get(c.name)
    number = 1 if "ones" in c.name else 0
    if with_value is not None:
        number = args[with_value] if len(args) > with_value else kwargs["fill_value"]
    return c.graph.expand(c.value(number, c.dtype), c.shape)


OPERATIONS.update(
    {
        **dict.fromkeys(("ne", "not_equal", "__ne__"), lambda c, a, b: c.same("Not", c.binary("Equal", a, b))),
        **dict.fromkeys(("pow", "power", "__pow__"), lambda c, a, b: c.binary("Pow", a, b, c.dtype)),
        **dict.fromkeys(("trunc", "fix"), lambda c, x: _truncated(c, x)),
        "square": lambda c, x: c.binary("Mul", x, x),
        "rsqrt": lambda c, x: c.same("Reciprocal", c.same("Sqrt", c.graph.cast(x, c.dtype))),
        "hypot": lambda c, a, b: c.same("Sqrt", c.binary("Add", c.binary("Mul", a, a), c.binary("Mul", b, b))),
        "lerp": lambda c, x, end, weight: c.binary("Add", x, c.binary("Mul", c.binary("Sub", end, x), weight)),
        "silu": lambda c, x: c.binary("Mul", x, c.same("Sigmoid", x)),
        **dict.fromkeys(("elu", "celu"), lambda c, x, alpha=1.0: c.same(c.name.capitalize(), x, alpha=float(alpha))),
        "selu": lambda c, x: c.same("Selu", x, alpha=1.6732632423543772, gamma=1.0507009873554805),
        "logsigmoid": lambda c, x: c.same("Neg", c.same("Softplus", c.same("Neg", x))),
        "hardsigmoid": lambda c, x: c.same("HardSigmoid", x, alpha=1 / 6, beta=0.5),
        "hardswish": lambda c, x: c.same("HardSwish", x),
        "tanhshrink": lambda c, x: c.binary("Sub", x, c.same("Tanh", x)),
        "copy": lambda c, x, source, non_blocking=False: c.value(source, x.dtype),
        **dict.fromkeys(("fill", "zero"), lambda c, x, value=0: c.value(value, x.dtype)),
    }
)
