"""Copies with elements written at places, and folds of the elements of places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ..base.overridable import open_functions

__all__ = ["as_strided_scatter", "diagonal_scatter", "index_reduce", "nonzero_static", "put", "segment_reduce"]
__all__ += ["select_scatter", "slice_scatter"]


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with slices of source folded into the slices that a one-dimensional index names.

    Args:
        input: [..., n, ...].
        dim: the dimension of size n.
        index: whole numbers below n, [k].
        source: [..., k, ...].
        reduce: "prod", "mean", "amax" or "amin", see scatter_reduce().
        include_self: whether the input's own elements count.

    Example:
        >>> x = sg.ones(3)
        >>> sg.index_reduce(x, 0, sg.tensor([0, 0]), sg.tensor([2.0, 3.0]), "prod").tolist()
        [6.0, 1.0, 1.0]
    """
    sizes = [-1 if d == dim % input.ndim else 1 for d in range(input.ndim)]
    places = index.reshape(sizes).expand(source.shape)
    return input.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements of the flattened input replaced, or added to.

    Args:
        input: a tensor.
        index: places in C order; negative ones count from the end.
        source: as many values.
        accumulate: adds them.

    Example:
        >>> sg.put(sg.zeros(2, 2), sg.tensor([1, -1]), sg.tensor([5.0, 6.0])).tolist()
        [[0.0, 5.0], [0.0, 6.0]]
    """
    flat = input.reshape(-1)
    source = source.reshape(-1)
    where = index.reshape(-1) % flat.shape[0]
    changed = flat.index_add(0, where, source) if accumulate else flat.index_copy(0, where, source)
    return changed.reshape(input.shape)


def _written(input: Tensor, key: Any, src: Tensor) -> Tensor:
    result = input.clone()
    result[key] = src
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of the input with src, which has a dimension less, at an index of a dimension.

    Example:
        >>> sg.select_scatter(sg.zeros(2, 2), sg.ones(2), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    return _written(input, (slice(None),) * (dim % input.ndim) + (index,), src)


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of the input with src in a slice of a dimension.

    Example:
        >>> sg.slice_scatter(sg.zeros(4), sg.ones(2), start=0, step=2).tolist()
        [1.0, 0.0, 1.0, 0.0]
    """
    return _written(input, (slice(None),) * (dim % input.ndim) + (slice(start, end, step),), src)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of the input with src on a diagonal.

    Example:
        >>> sg.diagonal_scatter(sg.zeros(2, 2), sg.ones(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    result = input.clone()
    result.diagonal(offset, dim1, dim2).copy_(src)
    return result


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """input with src written where as_strided(size, stride, storage_offset) would read it.

    Args:
        input: a tensor.
        src: a tensor of this size.
        size, stride: of the view.
        storage_offset: where it begins; None: 0.

    Raises:
        ValueError: the view leaves the input's memory, or src does not fit.

    Example:
        >>> sg.as_strided_scatter(sg.zeros(3), sg.ones(2), (2,), (2,)).tolist()
        [1.0, 0.0, 1.0]
    """
    places = _core.arange(input.numel(), device=input.device).as_strided(size, stride, storage_offset or 0)
    flat = input.reshape(-1).index_copy(0, places.reshape(-1), src.expand(places.shape).reshape(-1))
    return flat.reshape(input.shape)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places of the first `size` elements that are not 0, and rows of fill_value behind them: [size, dimensions].

    Example:
        >>> sg.nonzero_static(sg.tensor([0.0, 3.0]), size=2).tolist()
        [[1], [-1]]
    """
    found = input.nonzero()[:size]
    rest = _core.full((size - len(found), input.ndim), fill_value, dtype=_core.int64, device=input.device)
    return _core.cat([found, rest])


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

    Example:
        >>> sg.segment_reduce(sg.tensor([1.0, 2.0, 3.0]), "sum", lengths=sg.tensor([2, 1])).tolist()
        [3.0, 3.0]
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


open_functions(__name__)
