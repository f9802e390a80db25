"""Functions that few programs use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _core, distributions, linalg
from ..._core import Tensor
from ...base.out import placed
from ..arguments import without_layout

__all__ = [
    "_log_softmax_backward_data",
    "_softmax_backward_data",
    "binomial",
    "empty_permuted",
    "empty_strided",
    "frobenius_norm",
    "histogramdd",
    "nonzero_static",
    "nuclear_norm",
    "orgqr",
    "scatter",
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
        data: [..., n, ...].
        reduce: "sum", "mean", "prod", "min" or "max".
        lengths: how long each part is, together n: [..., parts], with the dimensions before the one that is cut.
        offsets: where each begins, and where the last one ends, instead: [..., parts + 1].
        indices: None.
        axis: the dimension that is cut.
        unsafe: accepted; what lies behind the parts of the first dimension is left out in any case.
        initial: what each part begins with; None: that of no elements.

    Returns:
        [..., parts, ...].

    Raises:
        ValueError: another way to reduce, neither lengths nor offsets, or others than the dimensions before axis.
    """
    if indices is not None or (lengths is None) == (offsets is None):
        raise ValueError("segment_reduce: give one of lengths and offsets")
    axis %= data.ndim
    counts = lengths if lengths is not None else offsets.diff(dim=-1)  # type: ignore[union-attr]
    if tuple(counts.shape[:-1]) != tuple(data.shape[:axis]):
        raise ValueError(
            f"segment_reduce: lengths {list(counts.shape)} for dimension {axis} of {list(data.shape)}; "
            "give those of each row before it"
        )
    if axis:
        found = segment_reduce(data.flatten(0, axis), reduce, lengths=counts.reshape(-1), initial=initial)
        return found.reshape(*counts.shape, *data.shape[axis + 1 :])
    which = _core.arange(len(counts), device=data.device).repeat_interleave(counts.to(data.device))
    data = data[: len(which)]
    shape = (len(counts), *data.shape[1:])
    empty = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "min": float("inf"), "max": float("-inf")}
    if reduce not in empty:
        raise ValueError(f"segment_reduce: reduce {reduce!r} is unknown; use {', '.join(empty)}")
    start = _core.full(shape, empty[reduce] if initial is None else initial, dtype=data.dtype, device=data.device)
    if reduce in ("sum", "mean"):
        total = start.index_add(0, which, data)
        sizes = counts.to(data.device, data.dtype).reshape(-1, *(1,) * (data.ndim - 1))
        if initial is not None:
            sizes = sizes.clamp(min=1)
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
    """Draws of binomial distributions, which come from the default generator; ValueError, at the next read, for
    negative counts and what is no probability."""
    good = (prob >= 0) & (prob <= 1) & (count >= 0)
    return distributions.Binomial(count, _core._check_parameter("binomial", prob, good)).sample()


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places of the first `size` elements that are not 0; behind them, rows of fill_value."""
    found = input.nonzero()[:size]
    rest = _core.full((size - len(found), input.ndim), fill_value, dtype=_core.int64, device=input.device)
    return _core.cat([found, rest])


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with elements at the indices of one dimension replaced, added to or multiplied.

    Args:
        input: [...].
        dim: the dimension that index counts along.
        index: whole numbers, of as many dimensions.
        src, value: a tensor, or a number for all.
        reduce: None replaces; "add" or "multiply".
        out: where the result is written.

    Raises:
        ValueError: another way to reduce, or shapes that do not fit.
    """
    src = value if src is None else src
    if reduce is None:
        made = _core.scatter(input, dim, index, src)
    elif reduce in ("add", "multiply"):
        source = (
            src if isinstance(src, Tensor) else _core.full(index.shape, src, dtype=input.dtype, device=input.device)
        )
        made = input.scatter_reduce(dim, index, source, "sum" if reduce == "add" else "prod")
    else:
        raise ValueError(f"scatter: reduce {reduce!r} is unknown; use 'add' or 'multiply'")
    return made if out is None else placed("scatter", made, out)


def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """linalg.householder_product() by its old name."""
    return linalg.householder_product(input, tau)


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions have these steps in memory."""
    count = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return _core.empty(count, **without_layout("empty_strided", options)).as_strided(size, stride)


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions are in memory in this order, from the outermost on."""
    order = list(physical_layout)
    made = _core.empty([size[d] for d in order], **without_layout("empty_permuted", options))
    return made.permute([order.index(d) for d in range(len(order))])
