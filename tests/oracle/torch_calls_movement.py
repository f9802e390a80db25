"""Calls of what moves, joins and cuts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torch_draw import EVERY, OFTEN, OFTEN_FLOAT, Draw, Shape, along, call, pair, place, size
from torch_oracle import Call, Type


# ---- movement --------------------------------------------------------------------------------------------------------
def refactored(d: Draw, shape: Shape) -> list[int]:
    """Sizes with as many elements, mostly, and one of them -1, sometimes."""
    n = math.prod(shape)
    if d.rarely():
        return list(d.shape())
    sizes = d.pick([n], [1, n], [n, 1], list(shape), list(shape[::-1]), [-1], [1, -1], [-1, 1], [*shape[:1], -1])
    return sizes


@call("reshape view")
def reshape(d: Draw) -> Any:
    x = d.tensor()
    return x, refactored(d, x.values.shape)


@call("reshape_as view_as expand_as")
def as_other(d: Draw) -> Any:
    x = d.tensor()
    return x, d.tensor(d.pick(x.values.shape[::-1], x.values.shape, (2, *x.values.shape), (x.values.size,)), grad=False)


@call("expand broadcast_to")
def expand(d: Draw) -> Any:
    shape = d.shape()
    x = d.tensor(d.broadcast(shape))
    return x, [n if d.twenty() < 17 else -1 for n in shape]


@call("flatten")
def flatten(d: Draw) -> Any:
    x = d.tensor()
    return [x, *([d.dim(x.values.ndim)] if d.often() else []), *([d.dim(x.values.ndim)] if d.often() else [])]


@call("ravel t")
def ravel(d: Draw) -> Any:
    return [d.tensor(d.shape(0, 2))]


@call("unflatten")
def unflatten(d: Draw) -> Any:
    x = d.tensor(d.shape(1, 2))
    dim = d.dim(x.values.ndim)
    n = x.values.shape[dim] if -x.values.ndim <= dim < x.values.ndim else 1
    return x, dim, d.pick((n, 1), (1, -1), (-1, 1), (n, -1), (2, -1), (n,), (1, n, 1), ())


@call("transpose swapaxes swapdims")
def transpose(d: Draw) -> Any:
    x = d.tensor()
    return x, d.dim(x.values.ndim), d.dim(x.values.ndim)


@call("permute")
def permute(d: Draw) -> Any:
    x = d.tensor()
    n = x.values.ndim
    if d.rarely():
        return x, [d.dim(n) for _ in range(d.pick(n, n, n + 1))]
    order = np.random.default_rng(d.seed()).permutation(n).tolist()
    return x, [i - n if d.rarely() else i for i in order]


@call("moveaxis movedim")
def moveaxis(d: Draw) -> Any:
    x = d.tensor(d.shape(1))
    n = x.values.ndim
    if d.often():
        return x, d.dim(n), d.dim(n)
    return x, tuple(d.dim(n) for _ in range(2)), tuple(d.dim(n) for _ in range(2))


@call("squeeze")
def squeeze(d: Draw) -> Any:
    x = d.tensor(d.shape(sizes=(0, 1, 1, 1, 2, 3)))
    dims = d.dims(x.values.ndim)
    return [x] if dims is None else [x, dims]


@call("unsqueeze")
def unsqueeze(d: Draw) -> Any:
    x = d.tensor()
    return x, d.dim(x.values.ndim + 1)


@call("select")
def select(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    return x, dim, place(d, n)


@call("narrow")
def narrow(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    start = d.pick(*range(n + 1))
    return x, dim, start - n if d.rarely() else start, d.pick(*range(n - start + 1)) + (1 if d.rarely() else 0)


@call("diagonal")
def diagonal(d: Draw) -> Any:
    x = d.tensor(d.shape(1, 3))
    n = x.values.ndim
    return [x, d.pick(0, 1, -1, 2, -9), *((d.dim(n), d.dim(n)) if d.often() else ())]


@call("diag")
def diag(d: Draw) -> Any:
    return d.tensor(d.shape(0, 3)), d.pick(0, 1, -1, 2, -9, 9)


@call("diag_embed")
def diag_embed(d: Draw) -> Any:
    x = d.tensor(d.shape(0, 2))
    n = x.values.ndim + 1
    return [x, d.pick(0, 1, -1, 2), *((d.dim(n), d.dim(n)) if d.often() else ())]


@call("unfold")
def unfold(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    return Call("unfold", (x, dim, d.pick(*range(n + 1), n + 1, -1), d.pick(1, 1, 2, 3, 0)), method=True)


@call("as_strided")
def as_strided(d: Draw) -> Any:
    x = d.tensor((7,), special=False)
    x.layout = "plain"
    return (
        x,
        d.pick((2, 3), (3,), (), (0, 2), (2, 2, 2)),
        d.pick((2, 1), (1, 1), (3,), (), (0, 1), (1, 1, 1)),
        d.pick(0, 1, 2, 7),
    )


@call("unbind")
def unbind(d: Draw) -> Any:
    x = d.tensor()
    return x, d.dim(x.values.ndim)


@call("split")
def split(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    return x, d.pick(1, 2, 3, n, [n], [1, n - 1], [0, n, 0], 0, -1, [n, 1]), dim


@call("split_with_sizes")
def split_with_sizes(d: Draw) -> Any:
    x = d.tensor()
    dim, n = along(d, x)
    return x, d.pick([n], [1, n - 1], [0, n, 0], [n, 1], []), dim


@call("chunk")
def chunk(d: Draw) -> Any:
    x = d.tensor()
    return x, d.pick(1, 2, 3, 5, 0), d.dim(x.values.ndim)


@call("tensor_split")
def tensor_split(d: Draw) -> Any:
    x = d.tensor()
    return x, d.pick(1, 2, 3, 0, (1,), (1, 2), (0, -1), (2, 1), (9,), ()), d.dim(x.values.ndim)


@call("hsplit vsplit")
def hsplit(d: Draw) -> Any:
    x = d.tensor(d.shape(0, 3, (2, 2, 4, 3, 0)))
    return x, d.pick(1, 2, 3, [1], [1, 2], [])


@call("atleast_1d atleast_2d atleast_3d")
def atleast(d: Draw) -> Any:
    return [d.tensor()]


@call("broadcast_tensors")
def broadcast_tensors(d: Draw) -> Any:
    return pair(d)


@call("cat concat concatenate")
def cat(d: Draw) -> Any:
    x = d.tensor()
    dim, _ = along(d, x)
    parts = [x]
    for _ in range(d.pick(0, 1, 2)):
        shape = list(x.values.shape)
        if shape and -len(shape) <= dim < len(shape):
            shape[dim] = size(d)
        parts.append(
            d.tensor(
                (0,) if d.rarely() else d.shape() if d.rarely() else tuple(shape), OFTEN if d.often() else (x.dtype,)
            )
        )
    return [parts, dim] if not d.rarely() else [[], dim]


@call("stack")
def stack(d: Draw) -> Any:
    x = d.tensor()
    others = [d.tensor(d.shape() if d.rarely() else x.values.shape) for _ in range(d.pick(0, 1, 2))]
    return [x, *others], d.dim(x.values.ndim + 1)


@call("hstack vstack dstack")
def hstack(d: Draw) -> Any:
    x = d.tensor()
    others = [d.tensor(d.shape() if d.rarely() else x.values.shape) for _ in range(d.pick(0, 1, 2))]
    return [[x, *others]]


@call("block_diag")
def block_diag(d: Draw) -> Any:
    return [d.tensor(d.shape(0, 2, (1, 2, 3))) for _ in range(d.pick(1, 2, 3))]


@call("meshgrid")
def meshgrid(d: Draw) -> Any:
    dtype = d.pick(*EVERY)
    parts = [d.tensor(d.shape(0, 1), (dtype,) if not d.rarely() else OFTEN) for _ in range(d.pick(1, 2, 3))]
    return parts, {"indexing": d.pick("ij", "xy", "ij", "what")}


@call("cartesian_prod")
def cartesian_prod(d: Draw) -> Any:
    dtype = d.pick(*EVERY)
    return [d.tensor((size(d),), (dtype,)) for _ in range(d.pick(1, 2, 3))]


@call("repeat")
def repeat(d: Draw) -> Any:
    x = d.tensor()
    counts = [d.pick(1, 2, 0, 3) for _ in range(x.values.ndim + d.pick(0, 0, 1))]
    return Call("repeat", (x, *(counts[1:] if d.rarely() else counts)), method=True)


@call("tile")
def tile(d: Draw) -> Any:
    return d.tensor(), [d.pick(1, 2, 0, 3) for _ in range(d.pick(0, 1, 2, 3, 4))]


@call("repeat_interleave")
def repeat_interleave(d: Draw) -> Any:
    x = d.tensor(d.shape(1))
    if d.often():
        return [x, d.pick(0, 1, 2, 3, -1)], {"dim": d.dim(x.values.ndim)} if d.often() else {}
    dim, n = along(d, x)
    return [x, d.index(d.pick((n,), (1,), (n + 1,), ()), 4)], {"dim": dim}


@call("flip")
def flip(d: Draw) -> Any:
    x = d.tensor()
    return x, [d.dim(x.values.ndim) for _ in range(d.pick(0, 1, 1, 2))]


@call("fliplr flipud")
def fliplr(d: Draw) -> Any:
    return [d.tensor()]


@call("roll")
def roll(d: Draw) -> Any:
    x = d.tensor(d.shape(sizes=(1, 2, 3, 5)))
    kind = d.twenty()
    if kind < 6:
        return x, d.pick(1, -2, 0, 9)
    if kind < 13:
        return x, d.pick(1, -2, 0, 9), d.dim(x.values.ndim)
    return x, d.pick((1, 2), (0, -1), (1,)), (d.dim(x.values.ndim), d.dim(x.values.ndim))


@call("rot90")
def rot90(d: Draw) -> Any:
    x = d.tensor()
    n = x.values.ndim
    return [x, d.pick(0, 1, 2, 3, -1, 7)] if d.often() else [x, d.pick(1, 2, 3), [d.dim(n), d.dim(n)]]


@call("pad")
def pad(d: Draw) -> Any:
    mode = d.pick("constant", "constant", "reflect", "replicate", "circular")
    shape = d.shape(1, 3) if mode == "constant" else d.shape(2, 3, (1, 2, 3, 5))
    x = d.tensor(shape, OFTEN if mode == "constant" else OFTEN_FLOAT, False)
    pairs = d.pick(1, 1, 2) if mode == "constant" else x.values.ndim - 1 if d.often() else 1
    widths = (0, 1, 2, -1, 3) if mode == "constant" else (0, 1, 2, 3)
    return [x, [d.pick(*widths) for _ in range(2 * pairs)], mode], {
        "value": d.pick(1, 0.5, -2)
    } if mode == "constant" and d.often() else {}


@call("tril triu")
def tril(d: Draw) -> Any:
    return d.tensor(d.shape(1, 3)), d.pick(0, 1, -1, 2, -9, 9)


@call("tril_indices triu_indices")
def tril_indices(d: Draw) -> Any:
    return [d.pick(0, 1, 3, 5), d.pick(0, 1, 3, 5), d.pick(0, 1, -1, 4, -9)], {
        "dtype": Type(d.pick(*EVERY))
    } if d.rarely() else {}


@call("clone contiguous detach")
def clone(d: Draw) -> Any:
    return [d.tensor()] if d.often() else Call("", (d.tensor(),), method=True)
