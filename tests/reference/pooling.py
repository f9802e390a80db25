"""Rows of pooling: each window looked at by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import Array, Row, Shape, relative

Options = dict[str, Any]


def each(v: Any, dims: int) -> tuple[int, ...]:
    return (v,) * dims if isinstance(v, int) else tuple(v)


def places(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> list[range]:
    """Of each window the elements along a dimension; negative ones, and those from size on, are padding."""
    rest = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (rest + stride - 1) // stride + 1 if ceil else rest // stride + 1
    if (count - 1) * stride >= size + padding:
        count -= 1
    starts = [i * stride - padding for i in range(count)]
    return [range(s, s + dilation * (kernel - 1) + 1, dilation) for s in starts]


def pooled(dims: int, x: Array, options: Options, of_window: Callable[[Array, list[range], Options], Any]) -> Array:
    """What `of_window` makes of each window of each image; x is [..., the last `dims` dimensions]."""
    kernel = each(options["kernel_size"], dims)
    stride, padding = each(options.get("stride") or kernel, dims), each(options.get("padding", 0), dims)
    dilation, ceil = each(options.get("dilation", 1), dims), options.get("ceil_mode", False)
    size = x.shape[-dims:]
    windows = [places(*v, ceil) for v in zip(size, kernel, stride, padding, dilation, strict=True)]
    shape = [len(w) for w in windows]
    out = [
        [of_window(image, [windows[d][i] for d, i in enumerate(at)], options) for at in np.ndindex(*shape)]
        for image in x.reshape(-1, *size)
    ]
    return np.asarray(out, x.dtype).reshape(*x.shape[:-dims], *shape)


def inside(image: Array, window: list[range]) -> Array:
    return image[np.ix_(*([i for i in r if 0 <= i < n] for r, n in zip(window, image.shape, strict=True)))]


def largest(image: Array, window: list[range], options: Options) -> Any:
    return inside(image, window).max()


def place_of_largest(image: Array, window: list[range], options: Options) -> int:
    best, where = None, -1
    for at in np.ndindex(*(len(r) for r in window)):
        place = tuple(r[i] for r, i in zip(window, at, strict=True))
        if all(0 <= p < n for p, n in zip(place, image.shape, strict=True)) and (best is None or image[place] > best):
            best, where = image[place], int(np.ravel_multi_index(place, image.shape))
    return where


def mean(image: Array, window: list[range], options: Options) -> Any:
    seen = inside(image, window)
    count = seen.size
    if options.get("count_include_pad", True):
        padding = each(options.get("padding", 0), image.ndim)
        ends = (min(r[-1] + 1, n + p) for r, n, p in zip(window, image.shape, padding, strict=True))
        count = int(np.prod([end - r[0] for end, r in zip(ends, window, strict=True)]))
    return seen.sum() / (options.get("divisor_override") or count)


MAXIMA: Sequence[tuple[int, Shape, Options]] = [
    (1, (2, 3, 9), {"kernel_size": 2}),
    (1, (3, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (2, (2, 3, 8, 6), {"kernel_size": 2}),
    (2, (2, 2, 9, 8), {"kernel_size": 3, "stride": (2, 1), "padding": 1}),
    (2, (1, 2, 8, 9), {"kernel_size": (3, 2), "stride": 2, "ceil_mode": True}),
    (2, (1, 2, 9, 9), {"kernel_size": 2, "dilation": (2, 3), "stride": 2}),
    (2, (1, 1, 20, 10), {"kernel_size": (17, 5), "stride": 3}),
]
MEANS: Sequence[tuple[int, Shape, Options]] = [
    (1, (2, 3, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (2, (2, 3, 8, 6), {"kernel_size": 2}),
    (2, (2, 2, 9, 8), {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    (2, (1, 2, 8, 9), {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True}),
    (2, (3, 7, 7), {"kernel_size": 3, "stride": 1, "divisor_override": 4}),
    (2, (1, 2, 10, 12), {"kernel_size": (9, 8), "stride": (1, 4)}),
]


def row(name: str, dims: int, shape: Shape, options: Options, of_window: Any, dtypes: Sequence[str]) -> Row:
    label = ",".join(f"{k}={v}" for k, v in options.items()).replace(" ", "")
    return Row(
        f"{name}:{label}",
        lambda x: getattr(sg, name)(x, **options),
        lambda x: pooled(dims, x, options, of_window),
        [[shape]],
        dtypes,
        bound=None if of_window is largest else relative(16),
    )


def row_of_indices(dims: int, shape: Shape, options: Options) -> Row:
    return Row(
        f"max_pool{dims}d_with_indices:{','.join(options)}",
        lambda x: getattr(sg, f"max_pool{dims}d_with_indices")(x, **options).indices,
        lambda x: pooled(dims, x, options, place_of_largest).astype(np.int64),
        [[shape]],
        ("float32", "int32"),
        differentiable=False,
    )


ROWS: list[Row] = [
    *(row(f"max_pool{d}d", d, shape, o, largest, ("float32", "float64", "int32")) for d, shape, o in MAXIMA),
    *(row_of_indices(d, shape, o) for d, shape, o in MAXIMA),
    *(row(f"avg_pool{d}d", d, shape, o, mean, ("float32", "float64")) for d, shape, o in MEANS),
]
