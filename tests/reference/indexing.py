"""Rows of scans, and of reading and writing at computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import EVERY, FLOATS, NUMBERS, Array, Row, Shape, eps, relative

SCANNED: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(3, 4, 5)], [(1009, 3)], [(0, 3)]]
PLACES: Sequence[Sequence[Shape]] = [[(2, 3)], [(7, 5)], [(3, 4, 5)]]


def total(x: Array, oracle: Callable[..., Array], dim: int) -> Array:
    return np.asarray(oracle(x, axis=dim, dtype=x.dtype if x.dtype.kind == "f" else np.int64))


def sum_bound(dim: int) -> Callable[..., Array]:
    """That of sums, for as many elements as were added up."""

    def bound(x: Array, want: Array, got: Array) -> Array:
        absolute = np.abs(x).cumsum(dim)
        count = np.moveaxis(np.arange(1, x.shape[dim] + 1).reshape(-1, *[1] * (x.ndim - 1)), 0, dim)
        return np.asarray(2 * np.sqrt(count) * eps(got.dtype) * absolute)

    return bound


def product_bound(dim: int) -> Callable[..., Array]:
    return lambda x, want, got: np.asarray(2 * eps(got.dtype) * x.shape[dim] * np.abs(want))


def last_extreme(x: Array, dim: int, better: Any) -> Array:
    """The place of the last of the extremes so far."""
    best = better.accumulate(x, axis=dim)
    place = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    return np.asarray(np.maximum.accumulate(np.where(x == best, place, -1), axis=dim))


def spread(x: Any, shape: Shape, size: int) -> Any:
    """Indices of this shape below size, no two in a row or column the same while there are enough."""
    index = (np.indices(shape).sum(axis=0) + 1) % size if shape else np.zeros((), int)
    return sg.tensor(index, device=x.device) if isinstance(x, sg.Tensor) else index


def chosen(x: Any) -> Any:
    """A mask of the shape of x that depends on nothing else."""
    mask = np.arange(int(np.prod(x.shape))).reshape(x.shape) % 3 != 1
    return sg.tensor(mask, device=x.device) if isinstance(x, sg.Tensor) else mask


def written(x: Array, key: Any, value: Any, add: bool = False) -> Array:
    out = x.copy()
    if add:
        np.add.at(out, key, value)
    else:
        out[key] = value
    return out


def along_rows(x: Array) -> Any:
    """The key of put_along_axis for two different rows a column."""
    index = spread(x, (1, *x.shape[1:]), x.shape[0])
    return (index, *np.ogrid[tuple(slice(n) for n in index.shape)][1:])


def scattered(name: str, add: bool) -> Row:
    return Row(
        name,
        lambda x, y: getattr(x, name)(0, spread(x, (1, *x.shape[1:]), x.shape[0]), y[:1]),
        lambda x, y: written(x, along_rows(x), y[:1], add),
        [[s[0], s[0]] for s in PLACES],
        NUMBERS,
        ulp=0.5,
    )


def reduced(name: str, ufunc: np.ufunc) -> Row:
    """Three values meet in each element of one row, one in another."""
    rows = [1, 0, 1, 1]

    def op(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        index = sg.tensor(rows, device=x.device).reshape(4, *[1] * (x.ndim - 1)).expand(4, *y.shape[1:])
        return x.scatter_reduce(0, index, y, name)

    def oracle(x: Array, y: Array) -> Array:
        out = x.copy()
        ufunc.at(out, rows, y)
        if name == "mean":
            count = 1 + np.bincount(rows, minlength=len(x)).reshape(-1, *[1] * (x.ndim - 1))
            out = out / count if x.dtype.kind == "f" else out // count
        return out

    bound = relative(16 if name in ("sum", "mean") else 108) if not name.startswith("a") else None
    shapes: Sequence[Sequence[Shape]] = [[(2, 3), (4, 3)], [(7, 5), (4, 5)], [(3, 4, 5), (4, 4, 5)]]
    return Row(f"scatter_reduce:{name}", op, oracle, shapes, NUMBERS, bound=bound)


def by_rows(name: str, oracle: Callable[..., Array], **arguments: Any) -> Row:
    """Two slices along the last dimension."""

    def op(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        result: sg.Tensor = getattr(x, name)(-1, sg.tensor([2, 0], device=x.device), y[..., :2], **arguments)
        return result

    return Row(
        name,
        op,
        oracle,
        [[s[0], s[0]] for s in PLACES],
        NUMBERS,
        bound=lambda x, y, want, got: np.asarray(2 * eps(got.dtype) * (3 + np.abs(x))),
    )


ROWS: list[Row] = [
    *(
        Row(f"cumsum:{d}", lambda x, d=d: x.cumsum(d), lambda x, d=d: total(x, np.cumsum, d), SCANNED, EVERY,
            bound=sum_bound(d))
        for d in (0, 1)
    ),
    *(
        Row(f"cumprod:{d}", lambda x, d=d: x.cumprod(d), lambda x, d=d: total(x, np.cumprod, d),
            [*SCANNED[:2], [(3, 4, 5)], [(0, 3)]], EVERY, bound=product_bound(d))
        for d in (0, 1)
    ),
    *(
        Row(f"logcumsumexp:{d}", lambda x, d=d: x.logcumsumexp(d),
            lambda x, d=d: np.logaddexp.accumulate(x, axis=d), SCANNED, FLOATS, bound=relative(16),
            reason="a logarithm of sums of a logarithm, again and again")
        for d in (0, 1)
    ),
    Row("cummax", lambda x: x.cummax(1).values, lambda x: np.maximum.accumulate(x, axis=1), SCANNED, EVERY),
    Row("cummin", lambda x: x.cummin(0).values, lambda x: np.minimum.accumulate(x, axis=0), SCANNED, EVERY),
    Row("cummax:indices", lambda x: x.cummax(0).indices, lambda x: last_extreme(x, 0, np.maximum), SCANNED, EVERY,
        differentiable=False),
    Row("cummin:indices", lambda x: x.cummin(1).indices, lambda x: last_extreme(x, 1, np.minimum), SCANNED, EVERY,
        differentiable=False),
    Row("nonzero", lambda x: x.nonzero(), np.argwhere, [*SCANNED, [()], [(5000,)]], EVERY, differentiable=False),
    Row("masked_select", lambda x: x.masked_select(chosen(x)), lambda x: x[chosen(x)], SCANNED, EVERY),
    Row("masked_scatter", lambda x, y: x.masked_scatter(chosen(x), y),
        lambda x, y: written(x, chosen(x), y.ravel()[: chosen(x).sum()]), [[s[0], s[0]] for s in SCANNED], EVERY),
    Row("getitem:mask", lambda x: x[chosen(x)], lambda x: x[chosen(x)], PLACES, EVERY),
    Row("getitem:index", lambda x: x[:, [2, 0, 2]], lambda x: x[:, [2, 0, 2]], PLACES, EVERY),
    Row("gather", lambda x: x.gather(1, spread(x, (*x.shape[:1], 2, *x.shape[2:]), x.shape[1])),
        lambda x: np.take_along_axis(x, spread(x, (*x.shape[:1], 2, *x.shape[2:]), x.shape[1]), 1), PLACES, EVERY),
    Row("take_along_dim", lambda x: x.take_along_dim(spread(x, (1,) * x.ndim, x.shape[-1]), -1),
        lambda x: np.take_along_axis(x, np.broadcast_to(spread(x, (1,) * x.ndim, x.shape[-1]), (*x.shape[:-1], 1)), -1),
        PLACES, EVERY),
    Row("take", lambda x: x.take(sg.tensor([[3, -1], [0, 3]], device=x.device)), lambda x: x.take([[3, -1], [0, 3]]),
        PLACES, EVERY),
    Row("index_select", lambda x: x.index_select(-1, sg.tensor([2, 0, 2], device=x.device)),
        lambda x: x.take([2, 0, 2], -1), PLACES, EVERY),
    Row("embedding", lambda x: sg.embedding(sg.tensor([[1, 0], [1, 1]], device=x.device), x),
        lambda x: x[[[1, 0], [1, 1]]], PLACES[:2], EVERY),
    scattered("scatter", False),
    scattered("scatter_add", True),
    reduced("sum", np.add),
    reduced("mean", np.add),
    reduced("prod", np.multiply),
    reduced("amax", np.maximum),
    reduced("amin", np.minimum),
    by_rows("index_copy", lambda x, y: written(x, (..., [2, 0]), y[..., :2])),
    by_rows("index_add", lambda x, y: written(x, (..., [2, 0]), 2 * y[..., :2], True), alpha=2),
    Row("index_fill", lambda x: x.index_fill(-1, sg.tensor([2, 0], device=x.device), 3),
        lambda x: written(x, (..., [2, 0]), 3), PLACES, NUMBERS),
    Row("index_put", lambda x, y: x.index_put((sg.tensor([1, 0], device=x.device),), y[:2]),
        lambda x, y: written(x, ([1, 0],), y[:2]), [[s[0], s[0]] for s in PLACES], EVERY),
    Row("index_put:add", lambda x, y: x.index_put((sg.tensor([1, 1], device=x.device),), y[:2], accumulate=True),
        lambda x, y: written(x, ([1, 1],), y[:2], True), [[s[0], s[0]] for s in PLACES], NUMBERS, bound=relative(8)),
]  # fmt: skip
