"""Reductions of groups of elements. A group is told by an index for each element, or by where each group begins."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from ..base.dtypes import finfo, iinfo

__all__ = [
    "gather_coo", "gather_csr", "scatter", "scatter_log_softmax", "scatter_logsumexp", "scatter_max", "scatter_min",
    "scatter_softmax", "scatter_std", "segment_coo", "segment_csr",
]  # fmt: skip


def _spread(index: Tensor, src: Tensor, dim: int) -> Tensor:
    """The index with a place for each element; one of a single dimension is that of `dim`."""
    before = (1,) * dim if index.ndim == 1 else ()
    return index.reshape(before + index.shape + (1,) * (src.ndim - len(before) - index.ndim)).expand(src.shape)


def _count(index: Tensor, dim_size: int | None) -> int:
    """How many groups there are: as many as given, else as the index names, which is read from the device."""
    if dim_size is not None:
        return dim_size
    return int(index.max().item()) + 1 if index.numel() else 0


def _groups(src: Tensor, dim: int, count: int, value: float) -> Tensor:
    shape = (*src.shape[:dim], count, *src.shape[dim + 1 :])
    return _core.full(shape, value, dtype=src.dtype, device=src.device)


def _added(begin: Tensor, src: Tensor, index: Tensor, dim: int) -> Tensor:
    if index.ndim == 1:
        return begin.index_add(dim, index, src)
    return begin.scatter_add(dim, _spread(index, src, dim), src)


def _sizes(src: Tensor, index: Tensor, dim: int, count: int) -> Tensor:
    """How many elements each group has, 1 for none, in a shape that broadcasts with the groups."""
    along = dim if index.ndim > 1 else 0
    ones = _core.ones(index.shape, dtype=src.dtype, device=src.device)
    sizes = _added(_groups(ones, along, count, 0), ones, index, along).clamp(min=1)
    return sizes.reshape(sizes.shape + (1,) * (src.ndim - dim - 1 if index.ndim == 1 else src.ndim - index.ndim))


def _extremes(
    src: Tensor, index: Tensor, dim: int, count: int, largest: bool, out: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The largest or least element of each group that is better than `out`, and its place in `dim`.

    Without `out`, that is the worst number of the type. Where no element is better, which NaN is not, the value is that
    of `out` or 0, and the place is the size of `dim`.
    """
    size, index = src.shape[dim], _spread(index, src, dim)
    limits = finfo(src.dtype) if src.dtype.is_floating_point else iinfo(src.dtype)
    begin = _groups(src, dim, count, limits.min if largest else limits.max) if out is None else out.detach()
    seen, bound = src.detach(), begin.gather(dim, index)
    better = seen > bound if largest else seen < bound
    best = begin.scatter_reduce(dim, index, _core.where(better, seen, bound), "amax" if largest else "amin")
    places = _core.arange(size, device=src.device).reshape((size,) + (1,) * (src.ndim - dim - 1))
    places = _core.where(better & (seen == best.gather(dim, index)), places, size)
    nowhere = _core.full(begin.shape, size, dtype=_core.int64, device=src.device)
    at = nowhere.scatter_reduce(dim, index, places, "amin")
    rest = begin if out is not None else _core.zeros_like(begin)
    return (_core.where(at < size, src.gather(dim, at.clamp(max=size - 1)), rest) if size else rest), at


def _reduced(src: Tensor, index: Tensor, dim: int, count: int, reduce: str, out: Tensor | None = None) -> Tensor:
    if reduce in ("sum", "add"):
        return _added(_groups(src, dim, count, 0) if out is None else out, src, index, dim)
    if reduce == "mean":
        total, sizes = _reduced(src, index, dim, count, "sum", out), _sizes(src, index, dim, count)
        return total / sizes if src.dtype.is_floating_point else total // sizes
    if reduce == "mul":
        begin = _groups(src, dim, count, 1) if out is None else out
        return begin.scatter_reduce(dim, _spread(index, src, dim), src, "prod")
    if reduce in ("min", "max"):
        return _extremes(src, index, dim, count, reduce == "max", out)[0]
    raise ValueError(f"scatter: reduce is {reduce!r}; use 'sum', 'mean', 'mul', 'min' or 'max'")


def _dimension(op: str, src: Tensor, index: Tensor, dim: int) -> int:
    if src.ndim == 0 or not -src.ndim <= dim < src.ndim:
        raise IndexError(f"{op}: dim is {dim}, the tensor has {src.ndim} dimensions")
    dim %= src.ndim
    fits = index.shape == src.shape[dim : dim + 1] if index.ndim == 1 else dim < index.ndim <= src.ndim
    if not fits:
        raise ValueError(
            f"{op}: index {list(index.shape)}, src {list(src.shape)}; give one for each place along dimension {dim}"
        )
    return dim


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    reduce: str = "sum",
) -> Tensor:
    """The sum, or another reduction, of the elements that have the same index.

    Args:
        src: [..., n, ...].
        index: [n], which group each place along `dim` belongs to, or a shape that broadcasts with src from the left.
        dim: the dimension of n.
        out: what groups begin with, and where results are written; else new, with 0 where a group has no element.
        dim_size: how many groups; left out, one more than the largest index, which is read from the device.
        reduce: "sum" (also "add"), "mean" (of integers rounded down), "mul", "min" or "max", whose gradient goes to the
            first of equal elements.

    Returns:
        [..., groups, ...].

    Raises:
        ValueError: an unknown reduction, or shapes that do not fit.
        IndexError: an index out of range.

    Example:
        >>> x, index = sg.tensor([1.0, 2.0, 3.0, 4.0]), sg.tensor([0, 1, 0, 2])
        >>> sg.graphs.scatter(x, index, reduce="max").tolist()
        [3.0, 2.0, 4.0]
    """
    dim = _dimension("scatter", src, index, dim)
    count = _count(index, dim_size) if out is None else out.shape[dim]
    made = _reduced(src, index, dim, count, reduce, out)
    return made if out is None else out.copy_(made)


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """The largest element of each group, and its place along `dim`, which is n in a group of none; see scatter.

    Example:
        >>> best, place = sg.graphs.scatter_max(sg.tensor([1.0, 2.0, 3.0]), sg.tensor([0, 2, 0]))
        >>> best.tolist(), place.tolist()
        ([3.0, 0.0, 2.0], [2, 3, 1])
    """
    return _placed("scatter_max", src, index, dim, out, dim_size)


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """The least element of each group, and its place along `dim`, which is n in a group of none; see scatter."""
    return _placed("scatter_min", src, index, dim, out, dim_size)


def _placed(
    op: str, src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None
) -> tuple[Tensor, Tensor]:
    dim = _dimension(op, src, index, dim)
    count = _count(index, dim_size) if out is None else out.shape[dim]
    values, places = _extremes(src, index, dim, count, op == "scatter_max", out)
    return (values if out is None else out.copy_(values)), places


def _centred(op: str, src: Tensor, index: Tensor, dim: int, dim_size: int | None) -> tuple[Tensor, Tensor, Tensor, int]:
    """Elements less the largest of their group, the largest, the index of each element, and the dimension."""
    if not src.dtype.is_floating_point:
        raise ValueError(f"{op}: src is {src.dtype.name}; use a floating-point type")
    dim = _dimension(op, src, index, dim)
    lowest = _groups(src, dim, _count(index, dim_size), -float("inf"))
    largest = _extremes(src.detach(), index, dim, lowest.shape[dim], True, lowest)[0]
    index = _spread(index, src, dim)
    return src - largest.gather(dim, index), largest, index, dim


def scatter_softmax(src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None) -> Tensor:
    """Softmax over the elements of each group; see scatter.

    Example:
        >>> x, index = sg.tensor([0.0, 0.0, 5.0]), sg.tensor([0, 0, 1])
        >>> sg.graphs.scatter_softmax(x, index).tolist()
        [0.5, 0.5, 1.0]
    """
    centred, largest, index, dim = _centred("scatter_softmax", src, index, dim, dim_size)
    shares = centred.exp()
    total = _core.zeros_like(largest).scatter_add(dim, index, shares)
    return shares / total.gather(dim, index)


def scatter_log_softmax(
    src: Tensor, index: Tensor, dim: int = -1, eps: float = 1e-12, dim_size: int | None = None
) -> Tensor:
    """The logarithm of scatter_softmax, of whose sums `eps` is a part."""
    centred, largest, index, dim = _centred("scatter_log_softmax", src, index, dim, dim_size)
    total = _core.zeros_like(largest).scatter_add(dim, index, centred.exp())
    return centred - (total + eps).log().gather(dim, index)


def scatter_logsumexp(
    src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None, eps: float = 1e-12
) -> Tensor:
    """The logarithm of the sum of exponentials of each group, 0 for a group of none; see scatter.

    Example:
        >>> x, index = sg.tensor([0.0, 0.0, 5.0]), sg.tensor([0, 0, 1])
        >>> sg.graphs.scatter_logsumexp(x, index).exp().round().tolist()
        [2.0, 148.0]
    """
    centred, largest, index, dim = _centred("scatter_logsumexp", src, index, dim, dim_size)
    total = _core.zeros_like(largest).scatter_add(dim, index, centred.nan_to_num(nan=-float("inf")).exp())
    return ((total + eps).log() + largest).nan_to_num(neginf=0.0)


def scatter_std(
    src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None, unbiased: bool = True
) -> Tensor:
    """The standard deviation of each group; see scatter.

    Args:
        unbiased: whether the squares are divided by one less than the elements of a group (1 for a single one).
    """
    dim = _dimension("scatter_std", src, index, dim)
    count = _count(index, dim_size)
    mean, sizes = _reduced(src, index, dim, count, "mean"), _sizes(src, index, dim, count)
    apart = src - mean.gather(dim, _spread(index, src, dim))
    squares = _reduced(apart * apart, index, dim, count, "sum")
    if unbiased:
        sizes = (sizes - 1).clamp(min=1)
    return (squares / (sizes + 1e-6)).sqrt()


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """scatter along the last dimension of an index that ascends there.

    Args:
        src: [..., n, ...].
        index: [..., n], of the dimensions that src begins with, or 1 in place of some.
        out, dim_size, reduce: as of scatter.

    Example:
        >>> x, index = sg.arange(6.0).reshape(2, 3), sg.tensor([[0, 0, 1]])
        >>> sg.graphs.segment_coo(x, index).tolist()
        [[1.0, 2.0], [7.0, 5.0]]
    """
    return scatter(src, led(index, src), index.ndim - 1, out, dim_size, reduce)


def gather_coo(src: Tensor, index: Tensor) -> Tensor:
    """The element of its group for each place of an index: [..., n, ...], what segment_coo gathers up.

    Example:
        >>> sg.graphs.gather_coo(sg.tensor([5.0, 7.0]), sg.tensor([0, 0, 1])).tolist()
        [5.0, 5.0, 7.0]
    """
    dim = index.ndim - 1
    if index.ndim == 1:
        return src.index_select(0, index)
    shape = (*src.shape[:dim], index.shape[dim], *src.shape[dim + 1 :])
    return src.gather(dim, index.reshape(index.shape + (1,) * (src.ndim - index.ndim)).expand(shape))


def led(index: Tensor, src: Tensor) -> Tensor:
    """The index, or bounds, with the first dimensions of src."""
    return index.expand((*src.shape[: index.ndim - 1], index.shape[-1]))


def _numbers(indptr: Tensor, size: int) -> Tensor:
    """Which group each place lies in, or how many there are where it lies in none."""
    places = _core.arange(size, device=indptr.device).expand((*indptr.shape[:-1], size))
    group = _core.searchsorted(indptr.contiguous(), places.contiguous(), right=True) - 1
    number: Tensor = _core.where(group < 0, indptr.shape[-1] - 1, group)
    return number


def segment_extremes(src: Tensor, indptr: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
    count, dim = indptr.shape[-1] - 1, indptr.ndim - 1
    index = _numbers(led(indptr, src), src.shape[dim])
    values, places = _extremes(src, index, dim, count + 1, largest)
    return values.narrow(dim, 0, count), places.narrow(dim, 0, count)


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """The sum, or another reduction, of elements that follow each other.

    Args:
        src: [..., n, ...].
        indptr: [..., groups + 1], where each group begins, and where the last ends; of the dimensions that src begins
            with, or 1 in place of some.
        out: where results are written.
        reduce: as of scatter.

    Returns:
        [..., groups, ...]; 0 for a group of none.

    Example:
        >>> sg.graphs.segment_csr(sg.tensor([1.0, 2.0, 3.0]), sg.tensor([0, 2, 2, 3])).tolist()
        [3.0, 0.0, 3.0]
    """
    count, dim = indptr.shape[-1] - 1, indptr.ndim - 1
    index = _numbers(led(indptr, src), src.shape[dim])
    made = _reduced(src, index, dim, count + 1, reduce).narrow(dim, 0, count)
    return made if out is None else out.copy_(made)


def gather_csr(src: Tensor, indptr: Tensor) -> Tensor:
    """The element of its group for each place between bounds: [..., n, ...], n read from the device.

    Example:
        >>> sg.graphs.gather_csr(sg.tensor([5.0, 7.0]), sg.tensor([0, 2, 3])).tolist()
        [5.0, 5.0, 7.0]
    """
    size = int(indptr.reshape(-1)[-1].item()) if src.numel() else 0
    return gather_coo(src, _numbers(led(indptr, src), size))
