"""Counts and integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._core import Tensor

__all__ = ["cumulative_trapezoid", "histc", "histogram", "mode", "sum_to_size", "trapezoid", "trapz"]


class Histogram(NamedTuple):
    """Counts, and the bounds of the bins."""

    hist: Tensor
    bin_edges: Tensor


class Mode(NamedTuple):
    """The most frequent values, and where one of them stands."""

    values: Tensor
    indices: Tensor


def _edges(input: Tensor, bins: int, low: float, high: float) -> Tensor:
    if low == high == 0 and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _core.linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)


def _counted(input: Tensor, edges: Tensor, weight: Tensor | None) -> Tensor:
    x, bins = input.reshape(-1), edges.shape[0] - 1
    place = _core.searchsorted(edges, x, right=True) - 1
    place = _core.where(x == edges[-1], bins - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    amount = _core.ones_like(x) if weight is None else weight.reshape(-1)
    counts = _core.zeros(bins, dtype=amount.dtype, device=x.device)
    return counts.index_add(0, place.clamp(0, bins - 1), _core.where(inside, amount, 0))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements are in each of `bins` equal parts of [min, max]; of the range of the input if both are 0."""
    return _counted(input, _edges(input, bins, min, max), None)


def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Counts and bounds; `bins` is how many there are, or their bounds."""
    edges = bins if isinstance(bins, Tensor) else _edges(input, bins, *(range or (0, 0)))
    counts = _counted(input, edges, weight)
    if density:
        counts = counts / counts.sum() / edges.diff()
    return Histogram(counts, edges)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Mode:
    """The most frequent value along a dimension, the smallest one of several, and its last index."""
    x = input.movedim(dim, -1)
    counts = (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1)
    often = counts == counts.amax(-1, keepdim=True)
    ordered, order = x.sort(dim=-1)
    first = often.gather(-1, order).int().argmax(-1, keepdim=True)
    values = ordered.gather(-1, first)
    places = _core.arange(x.shape[-1], device=x.device)
    indices = _core.where(x == values, places, -1).amax(-1, keepdim=True)
    found = values.movedim(-1, dim), indices.movedim(-1, dim)
    return Mode(*(found if keepdim else [part.squeeze(dim) for part in found]))


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral of y along a dimension by the trapezoidal rule."""
    return _panels(y, x, dx, dim).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral up to each point but the first."""
    return _panels(y, x, dx, dim).cumsum(dim)


def _panels(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    n = y.shape[dim]
    means = (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) / 2
    if x is None:
        return means * dx
    if x.ndim == 1:
        return means * x.diff().reshape(-1, *(1,) * (y.ndim - 1 - dim % y.ndim))
    return means * x.diff(dim=dim)


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum that undoes a broadcast to the input's shape."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    before = input.ndim - len(shape)
    dims = [*range(before), *(i + before for i, n in enumerate(shape) if n == 1 and input.shape[i + before] != 1)]
    return input.sum(dims, keepdim=True).reshape(shape) if dims else input
