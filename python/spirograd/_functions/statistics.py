"""Counts, integrals and slopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from ..base.overridable import open_functions

__all__ = ["cumulative_trapezoid", "gradient", "histc", "histogram", "histogramdd", "mode", "trapezoid", "trapz"]


class Histogram(NamedTuple):
    """Counts, and the bounds of the bins."""

    hist: Tensor
    bin_edges: Tensor


class Histogramdd(NamedTuple):
    """Counts, and the bounds of the bins of each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


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
    """How many elements are in each of `bins` equal parts of [min, max], in the type of the input: [...] -> [bins].

    Args:
        input: a tensor.
        bins: how many parts.
        min, max: the range; both 0: that of the input.

    Example:
        >>> sg.histc(sg.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
        [0.0, 2.0, 1.0, 0.0]
    """
    if not input.is_floating_point():  # the edges are fractions
        exact = input.device.features.get("shaderFloat64") != "no"
        return histc(input.to(_core.float64 if exact else _core.float32), bins, min, max).to(input.dtype)
    return _counted(input, _edges(input, bins, min, max), None)


def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Counts, and the bounds of the bins: [...] -> [bins], [bins + 1].

    Args:
        input: a tensor of a floating type.
        bins: how many there are, or their bounds.
        range: the first and the last bound; None: those of the input.
        weight: of each element; None: 1.
        density: counts are divided by their sum and the widths of the bins.

    Example:
        >>> sg.histogram(sg.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist.tolist()
        [2.0, 1.0]
    """
    edges = bins if isinstance(bins, Tensor) else _edges(input, bins, *(range or (0, 0)))
    counts = _counted(input, edges, weight)
    if density:
        counts = counts / counts.sum() / edges.diff()
    return Histogram(counts, edges)


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogramdd:
    """How many points are in each bin of a grid of n dimensions: [..., n] -> [bins, ...], and each dimension's bounds.

    Args:
        input: points.
        bins: how many there are in each dimension; or for each how many, or bounds.
        range: the first and the last bound of each dimension; None: those of the points.
        weight: of each point; None: 1.
        density: counts are divided by their sum and the sizes of the bins.

    Example:
        >>> sg.histogramdd(sg.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.2]]), bins=2).hist.tolist()
        [[0.0, 1.0], [2.0, 0.0]]
    """
    points = input.reshape(-1, input.shape[-1])
    n = points.shape[1]
    each: list[Any] = [bins] * n if isinstance(bins, int) else list(bins)
    edges: list[Tensor] = []
    number = _core.zeros(len(points), dtype=_core.int64, device=input.device)
    inside = number == 0
    for i, wanted in enumerate(each):
        x = points[:, i]
        if isinstance(wanted, Tensor):
            bound = wanted
        else:
            low, high = (x.min().item(), x.max().item()) if range is None else (range[2 * i], range[2 * i + 1])
            if low == high:
                low, high = low - 0.5, high + 0.5
            bound = _core.linspace(low, high, wanted + 1, dtype=input.dtype, device=input.device)
        count = len(bound) - 1
        place = _core.where(x == bound[-1], count - 1, _core.searchsorted(bound, x.contiguous(), right=True) - 1)
        fits = (x >= bound[0]) & (x <= bound[-1])
        place = place.clamp(0, count - 1)
        number, inside = number * count + place, inside & fits
        edges.append(bound)
    sizes = [len(bound) - 1 for bound in edges]
    amount = _core.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    total = _core.zeros(sizes, dtype=amount.dtype, device=input.device).reshape(-1)
    found = total.index_add(0, number, _core.where(inside, amount, 0)).reshape(sizes)
    if density:
        found = found / found.sum()
        for i, bound in enumerate(edges):
            found = found / bound.diff().reshape([-1 if j == i else 1 for j, _ in enumerate(edges)])
    return Histogramdd(found, tuple(edges))


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Mode:
    """The most frequent value along a dimension, the smallest one of several, and its last index.

    [..., n] -> [...], [...]. Memory grows with the square of n.

    Example:
        >>> values, indices = sg.mode(sg.tensor([3, 1, 3, 1, 2]))
        >>> values.item(), indices.item()
        (1, 3)
    """
    if not input.ndim:
        return Mode(input.clone(), _core.zeros((), dtype=_core.int64, device=input.device))
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
    """The integral of y along a dimension by the trapezoidal rule: [..., n] -> [...].

    Args:
        y: samples.
        x: where they are, [n] or as y; None: dx apart.
        dx: their distance.
        dim: the dimension.

    Example:
        >>> sg.trapezoid(sg.tensor([1.0, 2.0, 3.0])).item()
        4.0
    """
    return _panels(y, x, dx, dim).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral up to each point but the first: [..., n] -> [..., n - 1]; arguments as in trapezoid().

    Example:
        >>> sg.cumulative_trapezoid(sg.tensor([1.0, 2.0, 3.0])).tolist()
        [1.5, 4.0]
    """
    return _panels(y, x, dx, dim).cumsum(dim)


def _panels(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    n = y.shape[dim]
    sums = y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)
    if x is None:
        return sums / 2 * dx
    steps = x.diff().reshape(-1, *(1,) * (y.ndim - 1 - dim % y.ndim)) if x.ndim == 1 else x.diff(dim=dim)
    return sums * steps / 2


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum that undoes a broadcast from a shape, which is given as one argument or several.

    Raises:
        ValueError: the input's shape is no broadcast of it.
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    before = input.ndim - len(shape)
    dims = [*range(before), *(i + before for i, n in enumerate(shape) if n == 1 and input.shape[i + before] != 1)]
    return input.sum(dims, keepdim=True).reshape(shape) if dims or not shape else input


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Differences of neighbours over their distance, one tensor a dimension: of both neighbours inside, of one at the
    ends, where edge_order=2 fits a parabola.

    Args:
        input: samples.
        spacing: the distance; or one for each dimension: numbers, or tensors with coordinates.
        dim: a dimension or several; None: all.
        edge_order: 1 or 2.

    Raises:
        ValueError: a dimension has fewer than edge_order + 1 samples, or spacing does not fit.

    Example:
        >>> sg.gradient(sg.tensor([1.0, 2.0, 4.0]))[0].tolist()
        [1.0, 1.5, 2.0]
    """
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    several = isinstance(spacing, (list, tuple))
    if several and len(spacing) != len(dims):
        raise ValueError(f"gradient: {len(spacing)} spacings for {len(dims)} dimensions; give one for each")
    steps = spacing if several else [spacing] * len(dims)
    return tuple(_slope(input, step, d, edge_order) for step, d in zip(steps, dims, strict=True))


def _slope(y: Tensor, step: Any, dim: int, edge_order: int) -> Tensor:
    y = y if y.is_floating_point() else y.to(_core.float32)
    n = y.shape[dim]
    if n < edge_order + 1:
        raise ValueError(f"gradient: {n} samples along dimension {dim}; edge_order={edge_order} needs more")
    if isinstance(step, Tensor) and step.ndim == 1:
        h = step.diff().to(y.dtype).reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
    else:
        sizes = [n - 1 if d == dim % y.ndim else 1 for d in range(y.ndim)]
        h = _core.ones(sizes, dtype=y.dtype, device=y.device) * step
    slopes = y.diff(dim=dim) / h
    if n == 2:
        return _core.cat([slopes, slopes], dim)
    h0, h1 = h.narrow(dim, 0, n - 2), h.narrow(dim, 1, n - 2)
    s0, s1 = slopes.narrow(dim, 0, n - 2), slopes.narrow(dim, 1, n - 2)
    inside = (h1 * s0 + h0 * s1) / (h0 + h1)
    first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, n - 2, 1)
    if edge_order == 2:
        bend = (s1 - s0) / (h0 + h1)
        first = first - bend.narrow(dim, 0, 1) * h.narrow(dim, 0, 1)
        last = last + bend.narrow(dim, n - 3, 1) * h.narrow(dim, n - 2, 1)
    return _core.cat([first, inside, last], dim)


open_functions(__name__)
