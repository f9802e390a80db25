"""Ops that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._core import Error, Tensor
from ..graph import Value
from .call import Call, op


# ---- places ----------------------------------------------------------------------------------------------------------
@op("reshape", "view", "flatten", "unflatten", "squeeze", "unsqueeze", "ravel", "view_as", "reshape_as", "expand_dims")
@op("atleast_1d", "atleast_2d", "atleast_3d")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    return c.graph.reshape(x, c.shape)


@op("expand", "expand_as", "broadcast_to")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    return c.graph.expand(x, c.shape)


@op("permute", "permute_dims", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis", "t", "T", "mT", "adjoint")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    # The op itself says where dimensions go: sizes of which no two are alike.
    probe = _core.empty([i + 2 for i in range(x.ndim)])
    moved = getattr(probe, c.name) if c.name in ("T", "mT") else getattr(probe, c.name)(*args, **kwargs)
    return c.graph.transpose(x, [n - 2 for n in moved.shape])


@op("cat", "concat", "concatenate", "stack")
def _(c: Call, tensors: Sequence[Value], dim: int = 0, **named: Any) -> Value:
    dim = named.get("axis", dim)
    axis = dim + len(c.shape) if dim < 0 else dim
    parts = [c.graph.cast(t, c.dtype) for t in tensors]
    if c.name == "stack":
        parts = [c.graph.reshape(p, [*p.shape[:axis], 1, *p.shape[axis:]]) for p in parts]
    return c.node("Concat", *(p for p in parts if p.shape != (0,) or len(c.shape) == 1), axis=axis)


@op("chunk", "split", "split_with_sizes", "tensor_split", "unbind", "hsplit", "vsplit")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Any:
    dim = kwargs.get("dim", args[-1] if len(args) > (0 if c.name == "unbind" else 1) else 0)
    dim = {"hsplit": min(1, x.ndim - 1), "vsplit": 0}.get(c.name, dim)
    axis, start, parts = x.axis(dim), 0, []
    for part in c.result:
        size = 1 if c.name == "unbind" else part.shape[axis]
        parts.append(c.graph.reshape(c.graph.slice(x, axis, start, start + size), part.shape))
        start += size
    return parts


@op("narrow")
def _(c: Call, x: Value, dim: int, start: int, length: int) -> Value:
    axis = x.axis(dim)
    start = start + x.shape[axis] if start < 0 else start
    return c.graph.slice(x, axis, start, start + length)


@op("select")
def _(c: Call, x: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index = index + x.shape[axis] if index < 0 else index
    return c.graph.reshape(c.graph.slice(x, axis, index, index + 1), c.shape)


@op("__getitem__")
def _(c: Call, x: Value, key: Any) -> Value:
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(k, Value) and k.constant is None for k in _flat(keys)):
        return _gathered(c, x, keys)
    if not all(
        k is None or k is Ellipsis or isinstance(k, slice) or (isinstance(k, int) and not isinstance(k, bool))
        for k in keys
    ):
        return numbered(c, x)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys = [*keys[:at], *[slice(None)] * (x.ndim - used), *keys[at + 1 :]]
    axis, out = 0, x
    for k in keys:
        if k is None:
            continue
        if isinstance(k, int):
            k = k + x.shape[axis] if k < 0 else k
            out = c.graph.slice(out, axis, k, k + 1)
        else:
            out = c.graph.slice(out, axis, *k.indices(x.shape[axis]))
        axis += 1
    return c.graph.reshape(out, c.shape)


def _flat(keys: Any) -> list[Any]:
    return [part for k in keys for part in (_flat(k) if isinstance(k, (list, tuple)) else [k])]


def _gathered(c: Call, x: Value, keys: list[Any]) -> Value:
    """x[i], x[:, i] and x[i, j]: integer indices that depend on the inputs."""
    places = [i for i, k in enumerate(keys) if isinstance(k, Value)]
    whole = all(isinstance(k, Value) or k == slice(None) for k in keys)
    if whole and all(keys[i].dtype != "bool" for i in places):
        if len(places) == 1:
            return c.node("Gather", x, c.graph.cast(keys[places[0]], "int64"), axis=places[0])
        if places == list(range(len(places))):
            shape = np.broadcast_shapes(*(keys[i].shape for i in places))
            parts = [
                c.graph.reshape(c.graph.expand(c.graph.cast(keys[i], "int64"), shape), [*shape, 1]) for i in places
            ]
            index = c.graph.node("Concat", parts, [*shape, len(parts)], "int64", axis=len(shape))
            return c.node("GatherND", x, index)
    raise Error(
        "onnx.export: an index that depends on the inputs is followed in x[i], x[:, i] and x[i, j]; use gather or where"
    )


def numbered(c: Call, x: Value) -> Value:
    """Any op that only moves elements: it is done with their numbers once, and the result says which goes where."""
    numbers = _core.arange(int(np.prod(x.shape))).reshape(x.shape)
    args = [numbers if isinstance(a, Tensor) and i == 0 else a for i, a in enumerate(c.args)]
    function = getattr(Tensor, c.name, None) or getattr(_core, c.name)
    return c.graph.take(x, np.array(function(*args, **c.kwargs).numpy()))


@op("flip", "fliplr", "flipud", "roll", "rot90", "diagonal", "repeat", "tile", "repeat_interleave", "unfold", "take")
@op("as_strided", "diag")
def _(c: Call, x: Value, *args: Any, **kwargs: Any) -> Value:
    return numbered(c, x)


@op("__setitem__")
def _(c: Call, x: Value, key: Any, value: Any) -> Value:
    if any(isinstance(k, Value) and k.constant is None for k in _flat(key if isinstance(key, tuple) else [key])):
        raise Error(
            "onnx.export: a write at places that depend on the inputs is not followed; use where() or scatter()"
        )
    size = int(np.prod(x.shape))
    places = np.array(_core.arange(size).reshape(x.shape)[c.args[1]].numpy())
    new = c.graph.expand(c.value(value, x.dtype), places.shape)
    flat = [c.graph.reshape(x, [size]), c.graph.constant(places.ravel(), "int64"), c.graph.reshape(new, [places.size])]
    return c.graph.reshape(c.graph.node("ScatterElements", flat, [size], x.dtype, axis=0), x.shape)


@op("pad")
def _(c: Call, x: Value, pad: Sequence[int], mode: str = "constant", value: float | None = 0.0) -> Value:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    rest = x.ndim - len(pairs)
    before, after = [0] * rest + [p for p, _ in pairs], [0] * rest + [p for _, p in pairs]
    inside = x
    for axis in range(x.ndim):  # negative ones cut
        low, high = max(-before[axis], 0), x.shape[axis] - max(-after[axis], 0)
        inside = c.graph.slice(inside, axis, low, high)
    pads = c.graph.ints([max(p, 0) for p in (*before, *after)])
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    if kind == "wrap":  # older readers have none
        return numbered(c, x)
    return c.node("Pad", inside, pads, c.value(float(value or 0), x.dtype) if kind == "constant" else None, mode=kind)


@op("embedding")
def _(c: Call, index: Value, weight: Value, *args: Any, **kwargs: Any) -> Value:
    return c.node("Gather", weight, index, axis=0)


@op("index_select")
def _(c: Call, x: Value, dim: int, index: Value) -> Value:
    return c.node("Gather", x, index, axis=x.axis(dim))


@op("gather", "take_along_dim")
def _(c: Call, x: Value, dim: Any, index: Any) -> Value:
    if isinstance(dim, Value):
        dim, index = index, dim
    return c.node("GatherElements", x, c.graph.cast(index, "int64"), axis=x.axis(dim))


@op("scatter", "scatter_add")
def _(c: Call, x: Value, dim: int, index: Value, src: Any) -> Value:
    source = c.graph.expand(c.value(src, x.dtype), index.shape) if not isinstance(src, Value) or src.ndim == 0 else src
    for axis, n in enumerate(index.shape):
        source = c.graph.slice(source, axis, 0, n)
    kind = "add" if c.name == "scatter_add" else "none"
    return c.node("ScatterElements", x, c.graph.cast(index, "int64"), source, axis=x.axis(dim), reduction=kind)


@op("index_add", "index_copy")
def _(c: Call, x: Value, dim: int, index: Value, source: Value, *, alpha: float = 1) -> Value:
    axis = x.axis(dim)
    source = c.graph.cast(source, x.dtype)
    source = source if alpha == 1 else c.binary("Mul", source, alpha)
    row = [index.shape[0] if i == axis else 1 for i in range(x.ndim)]
    places = c.graph.expand(c.graph.reshape(c.graph.cast(index, "int64"), row), source.shape)
    kind = "add" if c.name == "index_add" else "none"
    return c.node("ScatterElements", x, places, source, axis=axis, reduction=kind)


@op("tril", "triu")
def _(c: Call, x: Value, diagonal: int = 0) -> Value:
    return c.node("Trilu", x, c.graph.constant(diagonal, "int64"), upper=int(c.name == "triu"))


@op("one_hot")
def _(c: Call, x: Value, num_classes: int = -1) -> Value:
    ends = c.graph.constant([0, 1], "int64")
    return c.node("OneHot", x, c.graph.ints(c.shape[-1]), ends, axis=-1)
