"""Calls of what reads and writes at computed places, sorts and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from torch_draw import OFTEN, OFTEN_FLOAT, Draw, Shape, along, call, distinct, place, size, wrong_or
from torch_oracle import INTEGERS, Call, Given

# ---- indexing --------------------------------------------------------------------------------------------------------


@call("gather")
def gather(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    shape = tuple(d.pick(*range(m + 1), m) for m in x.values.shape)
    shape = tuple(d.pick(1, 2, 4) if i == dim % max(x.values.ndim, 1) and n else m for i, m in enumerate(shape))
    index = d.index(d.shape(sizes=(1, 2)) if d.rarely() else shape, n, dtypes=("int64",) * 6 + ("int32", "float32"))
    if not index.values.size:  # PyTorch looks at no other thing then
        index = Given(
            np.zeros([0 if i == dim % max(x.values.ndim, 1) else m for i, m in enumerate(shape)] or [0]), "int64"
        )
    return x, dim, wrong_or(d, index, n, x.values.shape)


@call("take_along_dim")
def take_along_dim(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    shape = tuple(d.pick(1, 3) if i == dim % max(x.values.ndim, 1) else m for i, m in enumerate(x.values.shape))
    if d.rarely():
        return x, d.index(d.shape(0, 2), x.values.size)
    return x, d.index(shape, n), dim  # PyTorch does not look whether they are in range


@call("take")
def take(d: Draw) -> Any:
    x = d.tensor()
    return x, wrong_or(d, d.index(d.shape(), x.values.size, True), x.values.size, x.values.shape)


@call("index_select")
def index_select(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    shape = d.shape() if d.rarely() else d.shape(0, 1)
    return (
        x,
        dim,
        wrong_or(d, d.index(shape, n, dtypes=("int64", "int64", "int32", "int64", "float32")), n, x.values.shape),
    )


@call("embedding")
def embedding(d: Draw) -> Any:
    w = d.tensor((d.pick(1, 3, 5), size(d)), OFTEN_FLOAT)
    n = w.values.shape[0]
    return wrong_or(d, d.index(d.shape(), n, dtypes=("int64", "int32")), n, w.values.shape), w


def scattered(d: Draw) -> tuple[Given, int, Given, Given]:
    x = d.tensor(special=False)
    dim, n = along(d, x)
    shape = tuple(d.pick(*range(m + 1), m) for m in x.values.shape)
    index = d.index(d.shape(sizes=(1, 2)) if d.rarely() and n else shape, n)
    source = d.tensor(d.shape() if d.rarely() and index.values.size else index.values.shape, (x.dtype,), False)
    return x, dim, wrong_or(d, index, n, x.values.shape), source


@call("scatter_add")
def scatter_add(d: Draw) -> Any:
    return scattered(d)


@call("scatter")
def scatter(d: Draw) -> Any:
    x, dim, index, source = scattered(d)
    if x.values.ndim:  # one value for each place: which of several wins is not said
        index.values = np.zeros_like(index.values) if index.values.size else index.values
        index.values = index.values[: 1 if dim % x.values.ndim == 0 else None] if index.values.ndim else index.values
        if dim % x.values.ndim:
            key = tuple(slice(1) if i == dim % x.values.ndim else slice(None) for i in range(index.values.ndim))
            index.values = index.values[key]
    index.layout = "plain"
    kind = d.twenty()
    if kind < 12:
        return x, dim, index, source
    return x, dim, index, d.number()


@call("scatter_reduce", loose=4)
def scatter_reduce(d: Draw) -> Any:
    mode = d.pick("sum", "prod", "mean", "amax", "amin", "what")
    x, *rest = scattered(d)
    more = {"include_self": False} if d.often() else {}
    if more and mode in ("amax", "amin"):
        x.wants_grad = rest[-1].wants_grad = False  # PyTorch counts the element that it leaves out
    return [x, *rest, mode], more


def rows(d: Draw) -> tuple[Given, int, Given, Given]:
    x = d.tensor(d.shape(1), special=False)
    dim, n = along(d, x)
    k = d.pick(1, 2, 0) if n else 0
    index = d.index((k,), n, dtypes=("int64", "int64", "int64", "int32"))
    index.values = np.arange(k) % max(n, 1)  # no two alike
    index.layout = "plain"
    shape = list(x.values.shape)
    if shape and -len(shape) <= dim < len(shape):
        shape[dim] = min(k, max(n, 1))
        index.values = index.values[: shape[dim]]
    source = d.tensor(d.shape(1) if d.rarely() else tuple(shape), (x.dtype,), False)
    return x, dim, wrong_or(d, index, n, x.values.shape), source


@call("index_add")
def index_add(d: Draw) -> Any:
    x, dim, index, source = rows(d)
    return [x, dim, index, source], {"alpha": d.pick(2, 3, -1)} if d.twenty() > 14 and x.dtype != "bool" else {}


@call("index_copy")
def index_copy(d: Draw) -> Any:
    return rows(d)


@call("index_fill")
def index_fill(d: Draw) -> Any:
    x, dim, index, _ = rows(d)
    return x, dim, index, d.number() if d.often() else d.tensor(d.pick((), (), (1,)))


@call("index_put")
def index_put(d: Draw) -> Any:
    x = d.tensor(d.shape(1, 3, (1, 2, 3, 5)), special=False)
    count = d.pick(1, 1, 2) if x.values.ndim > 1 else 1
    k = min([2, *x.values.shape[:count]])
    indices = tuple(Given(np.arange(k), "int64") for _ in range(count))
    if d.rarely():
        wrong_or(d, indices[0], x.values.shape[0], x.values.shape)
    value = d.tensor(d.broadcast((k, *x.values.shape[count:])), (x.dtype,) if not d.rarely() else OFTEN, False)
    return [x, indices, value], {"accumulate": True} if d.often() else {}


@call("masked_select")
def masked_select(d: Draw) -> Any:
    x = d.tensor()
    return x, d.tensor(d.broadcast(x.values.shape), ("bool",) * 8 + ("uint8",), grad=False)


@call("masked_scatter")
def masked_scatter(d: Draw) -> Any:
    x = d.tensor()
    mask = d.tensor(d.broadcast(x.values.shape), ("bool",) * 8 + ("uint8",), grad=False)
    n = x.values.size
    return (
        x,
        mask,
        d.tensor((max(n - 1, 0) if d.rarely() else n + d.pick(0, 2),), (x.dtype,) if not d.rarely() else OFTEN),
    )


@call("nonzero argwhere")
def nonzero(d: Draw) -> Any:
    return [d.tensor()], {}


def key_for(d: Draw, shape: Shape) -> Any:
    """What stands between brackets."""
    parts: list[Any] = []
    dim = 0
    for _ in range(d.pick(*range(len(shape) + 2))):
        kind = d.twenty()
        n = shape[dim] if dim < len(shape) else 1
        if kind < 5:
            parts.append(place(d, n))
        elif kind < 11:
            parts.append(slice(d.pick(None, 0, 1, -1, -2, 9), d.pick(None, 2, -1, 9, 0), d.pick(None, 1, 2, 3)))
        elif kind < 13:
            parts.append(None)
            dim -= 1
        elif kind < 14 and ... not in [p for p in parts if not isinstance(p, (Given, list))]:
            parts.append(...)
        elif kind < 17 and n:
            parts.append(d.index(d.shape(0, 2, (1, 2, 3)), n, True, ("int64", "int64", "int32", "uint8")))
            if parts[-1].dtype == "uint8":
                parts[-1].dtype = "int64"
        elif kind < 18 and n:
            parts.append([place(d, n), 0])
        elif kind < 19:
            parts.append(d.tensor((n,), ("bool",), grad=False))
        else:
            parts.append(d.pick(True, False))
            dim -= 1
        dim += 1
    return tuple(parts) if len(parts) != 1 or d.often() else parts[0]


@call("getitem")
def getitem(d: Draw) -> Any:
    x = d.tensor()
    return Call("", (x, key_for(d, x.values.shape)), function=lambda _, x, key: x[key])


def assigned(_: Any, x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


@call("setitem")
def setitem(d: Draw) -> Any:
    x = d.tensor()
    x.layout = "copied"
    key = key_for(d, x.values.shape)
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, Given):
            part.layout = "plain"
            part.values = np.array(part.values)
            if part.dtype == "int64":  # every place once
                part.values.reshape(-1)[1:] = part.values.reshape(-1)[:1]
    value = d.number() if d.often() else d.tensor(d.pick((), (1,)), special=False, low=0)
    return Call("", (x, key, value), function=assigned)


# ---- sorting ---------------------------------------------------------------------------------------------------------
@call("sort")
def sort(d: Draw) -> Any:
    x = d.tensor()
    more = {"stable": True, **({"descending": True} if d.often() else {})}
    return [x], {**more, "dim": d.dim(x.values.ndim)}


@call("argsort")
def argsort(d: Draw) -> Any:
    return sort(d)


@call("msort")
def msort(d: Draw) -> Any:
    return [d.tensor()]


@call("topk")
def topk(d: Draw) -> Any:
    x = d.tensor(special=False)
    dim, n = along(d, x)
    distinct(d, x)
    n = x.values.shape[dim] if x.values.ndim and -x.values.ndim <= dim < x.values.ndim else 1
    return [x, d.pick(*range(n + 1), n) if not d.rarely() else d.pick(n + 1, -1), dim], {
        "largest": False
    } if d.often() else {}


@call("unique")
def unique(d: Draw) -> Any:
    return [d.tensor(special=False, grad=False)], {k: True for k in ("return_inverse", "return_counts") if d.often()}


@call("unique_consecutive")
def unique_consecutive(d: Draw) -> Any:
    return [d.tensor(special=False, grad=False)], {k: True for k in ("return_inverse", "return_counts") if d.often()}


@call("searchsorted")
def searchsorted(d: Draw) -> Any:
    s = d.tensor(d.shape(1, 2), special=False, grad=False)
    s.values, s.layout = np.sort(s.values, axis=-1), "plain"
    more = d.pick(
        {}, {"right": True}, {"side": "right"}, {"side": "left"}, {"out_int32": True}, {"right": True, "side": "left"}
    )
    if s.values.ndim == 1 and d.often():
        return [s, d.pick(1, 0.5, 2.0)], more
    lead = s.values.shape[:-1]
    return [
        s,
        d.tensor(d.shape() if d.rarely() else (*lead, size(d)), OFTEN if d.rarely() else (s.dtype,), False, grad=False),
    ], more


@call("bucketize")
def bucketize(d: Draw) -> Any:
    (s, x), more = searchsorted(d)
    more = {k: v for k, v in more.items() if k != "side"}
    return [x if isinstance(x, Given) else d.tensor(None, (s.dtype,), False), s], more


@call("isin")
def isin(d: Draw) -> Any:
    a, b = d.tensor(special=False, grad=False), d.tensor(special=False, grad=False)
    b.dtype, b.values = (a.dtype, b.values.astype(a.values.dtype)) if d.often() else (b.dtype, b.values)
    if a.dtype == "uint8":
        b.values = np.abs(b.values)
    return [a, b if d.often() else d.pick(1, 0.5, 2.0)], {"invert": True} if d.often() else {}


@call("bincount")
def bincount(d: Draw) -> Any:
    x = d.index(d.shape(1, 1) if not d.rarely() else d.shape(), 6, dtypes=INTEGERS)
    weights = {"weights": d.tensor(x.values.shape, OFTEN, False, grad=False)} if x.values.size and d.often() else {}
    return [x], {**weights, **({"minlength": d.pick(0, 3, 9, -1)} if d.often() else {})}
