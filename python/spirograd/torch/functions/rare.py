"""Functions that few programs use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _core, distributions, linalg
from ..._core import Tensor

__all__ = [
    "_log_softmax_backward_data",
    "_softmax_backward_data",
    "binomial",
    "frobenius_norm",
    "histogramdd",
    "nonzero_static",
    "nuclear_norm",
    "orgqr",
    "segment_reduce",
]


class Histogramdd(NamedTuple):
    """Counts, and the bounds of the bins of each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of softmax(), of that of its output."""
    found: Tensor = output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    return found.to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of log_softmax(), of that of its output."""
    found: Tensor = grad_output - output.exp() * grad_output.sum(dim, keepdim=True)
    return found.to(input_dtype)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Sums, means, products, least or greatest elements of parts of the first dimension that follow each other.

    Args:
        data: [n, ...].
        reduce: "sum", "mean", "prod", "min" or "max".
        lengths: how long each part is.
        offsets: where each begins, and where the last one ends, instead.
        indices, axis: None and 0.
        unsafe: accepted.
        initial: what each part begins with; None: that of no elements.

    Raises:
        ValueError: another way to reduce, or neither lengths nor offsets.
        NotImplementedError: along another dimension.
    """
    if axis != 0 or indices is not None or (lengths is not None and lengths.ndim != 1):
        raise NotImplementedError(
            "segment_reduce: only the first dimension can be cut, by lengths or offsets of its own"
        )
    if (lengths is None) == (offsets is None):
        raise ValueError("segment_reduce: give one of lengths and offsets")
    counts = lengths if lengths is not None else offsets.diff()  # type: ignore[union-attr]
    which = _core.arange(len(counts), device=data.device).repeat_interleave(counts.to(data.device))
    shape = (len(counts), *data.shape[1:])
    empty = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "min": float("inf"), "max": float("-inf")}
    if reduce not in empty:
        raise ValueError(f"segment_reduce: reduce {reduce!r} is unknown; use {', '.join(empty)}")
    start = _core.full(shape, empty[reduce] if initial is None else initial, dtype=data.dtype, device=data.device)
    if reduce in ("sum", "mean"):
        total = start.index_add(0, which, data)
        sizes = counts.to(data.device, data.dtype).reshape(-1, *(1,) * (data.ndim - 1))
        return total if reduce == "sum" else total / sizes
    index = which.reshape(-1, *(1,) * (data.ndim - 1)).expand(data.shape)
    return start.scatter_reduce(0, index, data, {"prod": "prod", "min": "amin", "max": "amax"}[reduce])


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogramdd:
    """How many points [..., n] are in each bin of a grid of n dimensions."""
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


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares, of all elements or along dimensions."""
    return linalg.vector_norm(input, 2, dim, keepdim=keepdim)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values."""
    return linalg.matrix_norm(input, "nuc", dim=(-2, -1) if dim is None else tuple(dim), keepdim=keepdim)


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Draws of binomial distributions; they come from the default generator."""
    return distributions.Binomial(count, prob).sample()


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places of the first `size` elements that are not 0; behind them, rows of fill_value."""
    found = input.nonzero()[:size]
    rest = _core.full((size - len(found), input.ndim), fill_value, dtype=_core.int64, device=input.device)
    return _core.cat([found, rest])


def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """linalg.householder_product() by its old name."""
    return linalg.householder_product(input, tau)
