"""Sums, products of matrices, attention and losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core import Error
from ..graph import Value, promoted
from .call import OPERATIONS, Call, given, op


# ---- sums and others over dimensions ---------------------------------------------------------------------------------
def reduced(c: Call, name: str, x: Value, dim: Any, keepdim: bool) -> Value:
    """A fold over dimensions."""
    axes = x.axes(dim)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i not in axes]
    if not axes:
        return x
    return c.graph.node(name, [x, c.graph.ints(axes)], shape, x.dtype, keepdims=int(keepdim))


@op("sum", "mean", "amax", "amin", "prod", "logsumexp")
def _(c: Call, x: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    names = {"sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin", "prod": "ReduceProd"}
    return reduced(c, names.get(c.name, "ReduceLogSumExp"), c.graph.cast(x, c.dtype), given(dim), keepdim)


@op("any", "all")
def _(c: Call, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    x = c.graph.cast(c.graph.cast(x, "bool"), "int32")
    return c.graph.cast(reduced(c, "ReduceMax" if c.name == "any" else "ReduceMin", x, given(dim), keepdim), "bool")


@op("max", "min")
def _(c: Call, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    if isinstance(dim, Value):
        return c.binary("Max" if c.name == "max" else "Min", x, dim)
    if dim is None:
        return reduced(c, "ReduceMax" if c.name == "max" else "ReduceMin", x, None, False)
    fold = reduced(c, "ReduceMax" if c.name == "max" else "ReduceMin", x, dim, keepdim)
    return fold, _arg(c, x, dim, keepdim, c.name)


def _arg(c: Call, x: Value, dim: int | None, keepdim: bool, kind: str) -> Value:
    if dim is None:
        x, dim = c.graph.reshape(x, [int(np.prod(x.shape))]), 0
    axis = x.axis(dim)
    shape = [1 if i == axis else n for i, n in enumerate(x.shape) if keepdim or i != axis]
    name = "ArgMax" if kind.endswith("max") else "ArgMin"
    return c.graph.node(name, [x], shape, "int64", axis=axis, keepdims=int(keepdim))


@op("var", "std", "var_mean", "std_mean")
def _(
    c: Call, x: Value, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = x.axes(given(dim))
    count = math.prod(x.shape[i] for i in axes)
    less = (1 if unbiased in (None, True) else 0) if correction is None else correction
    mean = reduced(c, "ReduceMean", x, axes, True)
    far = c.binary("Sub", x, mean)
    var = reduced(c, "ReduceMean", c.binary("Mul", far, far), axes, keepdim)
    if less:
        var = c.binary("Mul", var, count / max(count - less, 0) if count > less else math.nan)
    out = c.same("Sqrt", var) if c.name.startswith("std") else var
    if not c.name.endswith("mean"):
        return out
    return out, mean if keepdim else reduced(c, "ReduceMean", x, axes, False)


@op("norm")
def _(c: Call, x: Value, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    if p in (None, "fro", 2, 2.0):
        return reduced(c, "ReduceL2", x, given(dim), keepdim)
    if p == 1:
        return reduced(c, "ReduceL1", x, given(dim), keepdim)
    if math.isinf(p):
        return reduced(c, "ReduceMax" if p > 0 else "ReduceMin", c.same("Abs", x), given(dim), keepdim)
    total = reduced(c, "ReduceSum", c.binary("Pow", c.same("Abs", x), float(p)), given(dim), keepdim)
    return c.binary("Pow", total, 1 / p)


@op("cumsum")
def _(c: Call, x: Value, dim: int, *, dtype: Any = None) -> Value:
    return c.node("CumSum", c.graph.cast(x, c.dtype), c.graph.constant(x.axis(dim), "int64"))


@op("sort", "argsort")
def _(c: Call, x: Value, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    both = _largest(c, x, x.shape[x.axis(dim)], x.axis(dim), descending)
    return both if c.name == "sort" else both[1]


def _largest(c: Call, x: Value, k: int, axis: int, largest: bool) -> Any:
    shape = [*x.shape[:axis], k, *x.shape[axis + 1 :]]
    results = [(shape, x.dtype), (shape, "int64")]
    return c.graph.nodes_of("TopK", [x, c.graph.ints(k)], results, axis=axis, largest=int(largest), sorted=1)


# ---- products --------------------------------------------------------------------------------------------------------
def matmul(c: Call, a: Value, b: Value) -> Value:
    """A product of matrices, batches of them, or vectors."""
    dtype = promoted(a, b)
    a, b = c.graph.cast(a, dtype), c.graph.cast(b, dtype)
    rows = a.shape[-2:-1]
    columns = b.shape[-1:] if b.ndim > 1 else ()
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *rows, *columns)
    return c.graph.node("MatMul", [a, b], shape, dtype)


@op("matmul", "__matmul__", "mm", "bmm", "mv", "dot", "inner_product")
def _(c: Call, a: Value, b: Value) -> Value:
    return matmul(c, a, b)


@op("_banded")
def _(c: Call, x: Value, dim: int, first: Value, weights: Value, *transpose: Value) -> Value:
    """As a product with the whole matrix."""
    assert first.constant is not None and weights.constant is not None  # made from sizes
    rows, taps = weights.shape
    axis = x.axis(dim)
    whole = np.zeros((x.shape[axis], rows), weights.constant.dtype)
    whole[first.constant[:, None] + np.arange(taps), np.arange(rows)[:, None]] = weights.constant
    order = [d for d in range(x.ndim) if d != axis] + [axis]
    product = matmul(c, c.graph.transpose(x, order), c.graph.constant(whole, x.dtype))
    return c.graph.transpose(product, [order.index(d) for d in range(x.ndim)])


@op("addmm", "baddbmm", "addmv")
def _(c: Call, x: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    product = matmul(c, a, b)
    product = product if alpha == 1 else c.binary("Mul", product, float(alpha))
    return c.binary("Add", x if beta == 1 else c.binary("Mul", x, float(beta)), product)


@op("linear", "_linear")
def _(c: Call, x: Value, weight: Value, bias: Value | None = None) -> Value:
    out = matmul(c, x, c.graph.transpose(weight, [1, 0]))
    return out if bias is None else c.binary("Add", out, bias)


@op("einsum")
def _(c: Call, equation: str, *operands: Any) -> Value:
    values = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return c.node("Einsum", *(c.graph.cast(v, c.dtype) for v in values), equation=equation.replace(" ", ""))


def _for_heads(c: Call, x: Value, heads: int) -> Value:
    """Each head of a key or value as often as heads of the query use it."""
    own = x.shape[-3] if x.ndim > 2 else 1
    if own in (1, heads):
        return x
    *batch, _, rows, elements = x.shape
    x = c.graph.reshape(x, [*batch, own, 1, rows, elements])
    return c.graph.reshape(
        c.graph.expand(x, [*batch, own, heads // own, rows, elements]), [*batch, heads, rows, elements]
    )


@op("_attention")
def _(
    c: Call,
    q: Value,
    k: Value,
    v: Value,
    scale: float,
    causal: bool = False,
    mask: Value | None = None,
    dropout: float = 0.0,
    generator: Any = None,
) -> Value:
    if dropout:
        raise Error("onnx.export: attention draws which weights it drops, and a file cannot; call model.eval() first")
    heads = q.shape[-3] if q.ndim > 2 else 1
    k, v = _for_heads(c, k, heads), _for_heads(c, v, heads)
    turned = c.graph.transpose(k, [*range(k.ndim - 2), k.ndim - 1, k.ndim - 2])
    products = c.binary("Mul", matmul(c, q, turned), float(scale))
    low = c.value(-math.inf, products.dtype)
    if causal:
        mask = c.graph.constant(np.tril(np.ones((q.shape[-2], k.shape[-2]), bool)), "bool")
    if mask is None:
        return matmul(c, c.same("Softmax", products, axis=products.ndim - 1), v)
    shape = np.broadcast_shapes(products.shape, mask.shape)
    if mask.dtype == "bool":
        products = c.graph.node("Where", [mask, products, low], shape, products.dtype)
    else:
        products = c.binary("Add", products, c.graph.cast(mask, products.dtype))
    weights = c.same("Softmax", products, axis=products.ndim - 1)
    if not causal:  # a query that sees no key gets zeros
        most = reduced(c, "ReduceMax", products, -1, True)
        nothing = c.graph.node("Equal", [most, low], most.shape, "bool")
        weights = c.graph.node("Where", [nothing, c.value(0.0, weights.dtype), weights], weights.shape, weights.dtype)
    return matmul(c, weights, v)


# ---- losses ----------------------------------------------------------------------------------------------------------
@op("cross_entropy", "nll_loss")
def _(
    c: Call,
    x: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Value:
    axis = 1 if x.ndim > 1 else 0
    if c.name == "cross_entropy":
        x = c.same("LogSoftmax", x, axis=axis)
    if target.dtype.startswith("float"):
        raise Error(
            "onnx.export: cross_entropy of probabilities has no ONNX form here; use (-p * log_softmax(x)).sum(1)"
        )
    rows = c.graph.reshape(c.graph.cast(target, "int64"), [*target.shape[:axis], 1, *target.shape[axis:]])
    ignored = c.binary("Equal", rows, ignore_index)
    rows = c.graph.node("Where", [ignored, c.value(0, "int64"), rows], rows.shape, "int64")
    share = c.graph.expand(c.value(1.0, x.dtype), rows.shape)
    if weight is not None:
        share = c.graph.node("Gather", [weight, rows], rows.shape, x.dtype, axis=0)
    share = c.graph.node("Where", [ignored, c.value(0.0, x.dtype), share], rows.shape, x.dtype)
    at = c.graph.node("GatherElements", [x, rows], rows.shape, x.dtype, axis=axis)
    losses = c.same("Neg", c.binary("Mul", at, share))
    if label_smoothing:
        scaled = x
        if weight is not None:
            scaled = c.binary("Mul", x, c.graph.reshape(weight, [x.shape[axis], *[1] * (x.ndim - axis - 1)]))
        even = c.same("Neg", reduced(c, "ReduceSum", scaled, axis, True))
        even = c.graph.node("Where", [ignored, c.value(0.0, x.dtype), even], rows.shape, x.dtype)
        even = c.binary("Mul", even, label_smoothing / x.shape[axis])
        losses = c.binary("Add", c.binary("Mul", losses, 1 - label_smoothing), even)
    if reduction == "none":
        return c.graph.reshape(losses, c.shape)
    total = reduced(c, "ReduceSum", losses, None, False)
    return total if reduction == "sum" else c.binary("Div", total, reduced(c, "ReduceSum", share, None, False))


OPERATIONS.update(
    {
        **dict.fromkeys(("argmax", "argmin"), lambda c, x, dim=None, keepdim=False: _arg(c, x, dim, keepdim, c.name)),
        "topk": lambda c, x, k, dim=-1, largest=True, sorted=True: _largest(c, x, k, x.axis(dim), largest),
        **dict.fromkeys(("outer", "ger"), lambda c, a, b: c.binary("Mul", c.graph.reshape(a, [a.shape[0], 1]), b)),
    }
)
