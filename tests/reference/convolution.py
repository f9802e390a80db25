"""Rows of convolutions: sums over places, written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import NUMBERS, Array, Row, Shape, eps

Options = dict[str, Any]


def exact(x: sg.Tensor) -> Array:
    """Its values as float64."""
    return np.asarray(x.cpu().double().numpy())


def computed(x: sg.Tensor, w: sg.Tensor, g: sg.Tensor, dtype: sg.dtype, device: Any, **options: Any) -> list[Array]:
    """A convolution in two dimensions and both gradients for that of the result, computed in a type on a device."""
    x, w = (t.to(dtype).to(device).detach().requires_grad_() for t in (x, w))
    y = sg.conv2d(x, w, **options)
    y.backward(g.to(dtype).to(device))
    assert x.grad is not None and w.grad is not None
    return [exact(t) for t in (y.detach(), x.grad, w.grad)]


def each(v: Any, dims: int) -> tuple[int, ...]:
    return (v,) * dims if isinstance(v, int) else tuple(v)


def conv(dims: int, x: Array, w: Array, bias: Array | None = None, **options: Any) -> Array:
    """Every tap of the kernel times what it sees."""
    if x.ndim == dims + 1:
        return conv(dims, x[None], w, bias, **options)[0]
    stride, dilation = (each(options.get(o, 1), dims) for o in ("stride", "dilation"))
    padding, groups = each(options.get("padding", 0), dims), options.get("groups", 1)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    n, c, outputs, size = x.shape[0], x.shape[1], w.shape[0], x.shape[2:]
    result = [(size[d] - dilation[d] * (w.shape[d + 2] - 1) - 1) // stride[d] + 1 for d in range(dims)]
    out = np.zeros((n, groups, outputs // groups, *result), np.result_type(x, w))
    by_group = x.reshape(n, groups, c // groups, *size)
    for tap in np.ndindex(*w.shape[2:]):
        at = tuple(
            slice(t * d, t * d + s * (r - 1) + 1, s) for t, d, s, r in zip(tap, dilation, stride, result, strict=True)
        )
        taps = w[(slice(None), slice(None), *tap)].reshape(groups, outputs // groups, c // groups)
        out += np.einsum("ngc...,goc->ngo...", by_group[(..., *at)], taps)
    out = out.reshape(n, outputs, *result)
    return out if bias is None else out + bias.reshape(-1, *(1,) * dims)


def conv_transpose(dims: int, x: Array, w: Array, bias: Array | None = None, **options: Any) -> Array:
    """Every tap of the kernel written where it goes."""
    stride, dilation = (each(options.get(o, 1), dims) for o in ("stride", "dilation"))
    padding, more = (each(options.get(o, 0), dims) for o in ("padding", "output_padding"))
    groups = options.get("groups", 1)
    n, c, size = x.shape[0], x.shape[1], x.shape[2:]
    whole = [(size[d] - 1) * stride[d] + dilation[d] * (w.shape[d + 2] - 1) + 1 + more[d] for d in range(dims)]
    out = np.zeros((n, groups, w.shape[1], *whole), np.result_type(x, w))
    by_group = x.reshape(n, groups, c // groups, *size)
    for tap in np.ndindex(*w.shape[2:]):
        at = tuple(
            slice(t * d, t * d + s * (r - 1) + 1, s) for t, d, s, r in zip(tap, dilation, stride, size, strict=True)
        )
        taps = w[(slice(None), slice(None), *tap)].reshape(groups, c // groups, w.shape[1])
        out[(..., *at)] += np.einsum("ngc...,gco->ngo...", by_group, taps)
    out = out.reshape(n, groups * w.shape[1], *whole)
    out = out[(..., *(slice(p, s - p) for p, s in zip(padding, whole, strict=True)))]
    return out if bias is None else out + bias.reshape(-1, *(1,) * dims)


CONVOLUTIONS: Sequence[tuple[int, Sequence[Shape], Options]] = [
    (1, [(2, 3, 9), (4, 3, 3)], {}),
    (1, [(3, 9), (4, 3, 3), (4,)], {"stride": 2, "padding": 1}),
    (2, [(2, 3, 7, 6), (5, 3, 3, 2)], {}),
    (2, [(2, 4, 7, 9), (6, 2, 3, 3), (6,)], {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}),
    (2, [(2, 3, 8, 8), (3, 1, 3, 3)], {"groups": 3, "padding": 1}),
    (2, [(0, 3, 5, 5), (4, 3, 3, 3)], {"padding": 1}),
    (2, [(3, 17, 14, 14), (33, 17, 3, 3)], {"padding": 1}),
    (3, [(2, 2, 4, 5, 4), (3, 2, 2, 3, 2)], {"stride": (1, 2, 1), "padding": (1, 0, 1)}),
]
TRANSPOSED: Sequence[tuple[int, Sequence[Shape], Options]] = [
    (1, [(2, 4, 5), (4, 3, 3)], {"stride": 2, "padding": 1, "output_padding": 1}),
    (2, [(2, 3, 4, 5), (3, 2, 3, 2), (2,)], {}),
    (2, [(2, 4, 4, 3), (4, 3, 3, 3)], {"stride": (2, 3), "padding": 1, "dilation": (2, 1), "groups": 2}),
    (2, [(1, 2, 3, 3), (2, 3, 2, 2)], {"stride": 2, "output_padding": 1}),
]


def rows(name: str, dims: int, oracle: Any, shapes: Sequence[Shape], options: Options) -> Row:
    def bound(*values: Array) -> Array:
        *inputs, _, got = values
        size = inputs[1].size // max(min(inputs[1].shape[:2]), 1) + 1
        total = oracle(dims, *(np.abs(x) for x in inputs), **options)
        return np.asarray(4 * size**0.5 * eps(got.dtype) * total)

    label = ",".join(f"{k}={v}" for k, v in options.items()).replace(" ", "") or "plain"
    return Row(
        f"{name}{dims}d:{'x'.join(map(str, shapes[0]))},{label}",
        lambda *x: getattr(sg, f"{name}{dims}d")(*x, **options),
        lambda *x: oracle(dims, *x, **options),
        [shapes],
        NUMBERS if options == {} else ("float32", "float64"),
        bound=bound,
    )


ROWS: list[Row] = [
    *(rows("conv", dims, conv, shapes, options) for dims, shapes, options in CONVOLUTIONS),
    *(rows("conv_transpose", dims, conv_transpose, shapes, options) for dims, shapes, options in TRANSPOSED),
]
