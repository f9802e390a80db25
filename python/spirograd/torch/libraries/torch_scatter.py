"""torch.ops.torch_scatter: the operations of that package's extension, which are those of sg.graphs."""

from __future__ import annotations

from ..._core import Tensor
from ...graphs import groups

__all__ = [
    "cuda_version", "gather_coo", "gather_csr", "scatter_max", "scatter_mean", "scatter_min", "scatter_mul",
    "scatter_sum", "segment_max_coo", "segment_max_csr", "segment_mean_coo", "segment_mean_csr", "segment_min_coo",
    "segment_min_csr", "segment_sum_coo", "segment_sum_csr",
]  # fmt: skip

Maybe = Tensor | None
Pair = tuple[Tensor, Tensor]


def cuda_version() -> int:
    """-1: it does not depend on CUDA."""
    return -1


def scatter_sum(src: Tensor, index: Tensor, dim: int, out: Maybe = None, dim_size: int | None = None) -> Tensor:
    """The sum of each group."""
    return groups.scatter(src, index, dim, out, dim_size, "sum")


def scatter_mul(src: Tensor, index: Tensor, dim: int, out: Maybe = None, dim_size: int | None = None) -> Tensor:
    """The product of each group."""
    return groups.scatter(src, index, dim, out, dim_size, "mul")


def scatter_mean(src: Tensor, index: Tensor, dim: int, out: Maybe = None, dim_size: int | None = None) -> Tensor:
    """The mean of each group."""
    return groups.scatter(src, index, dim, out, dim_size, "mean")


def scatter_min(src: Tensor, index: Tensor, dim: int, out: Maybe = None, dim_size: int | None = None) -> Pair:
    """The least of each group, and its place."""
    return groups.scatter_min(src, index, dim, out, dim_size)


def scatter_max(src: Tensor, index: Tensor, dim: int, out: Maybe = None, dim_size: int | None = None) -> Pair:
    """The largest of each group, and its place."""
    return groups.scatter_max(src, index, dim, out, dim_size)


def segment_sum_coo(src: Tensor, index: Tensor, out: Maybe = None, dim_size: int | None = None) -> Tensor:
    """The sum of each group."""
    return groups.segment_coo(src, index, out, dim_size, "sum")


def segment_mean_coo(src: Tensor, index: Tensor, out: Maybe = None, dim_size: int | None = None) -> Tensor:
    """The mean of each group."""
    return groups.segment_coo(src, index, out, dim_size, "mean")


def segment_min_coo(src: Tensor, index: Tensor, out: Maybe = None, dim_size: int | None = None) -> Pair:
    """The least of each group, and its place."""
    return groups.scatter_min(src, groups.led(index, src), index.ndim - 1, out, dim_size)


def segment_max_coo(src: Tensor, index: Tensor, out: Maybe = None, dim_size: int | None = None) -> Pair:
    """The largest of each group, and its place."""
    return groups.scatter_max(src, groups.led(index, src), index.ndim - 1, out, dim_size)


def gather_coo(src: Tensor, index: Tensor, out: Maybe = None) -> Tensor:
    """The element of its group for each place."""
    return _written(groups.gather_coo(src, index), out)


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Maybe = None) -> Tensor:
    """The sum of each group."""
    return groups.segment_csr(src, indptr, out, "sum")


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Maybe = None) -> Tensor:
    """The mean of each group."""
    return groups.segment_csr(src, indptr, out, "mean")


def segment_min_csr(src: Tensor, indptr: Tensor, out: Maybe = None) -> Pair:
    """The least of each group, and its place."""
    values, places = groups.segment_extremes(src, indptr, largest=False)
    return _written(values, out), places


def segment_max_csr(src: Tensor, indptr: Tensor, out: Maybe = None) -> Pair:
    """The largest of each group, and its place."""
    values, places = groups.segment_extremes(src, indptr, largest=True)
    return _written(values, out), places


def gather_csr(src: Tensor, indptr: Tensor, out: Maybe = None) -> Tensor:
    """The element of its group for each place."""
    return _written(groups.gather_csr(src, indptr), out)


def _written(made: Tensor, out: Maybe) -> Tensor:
    return made if out is None else out.copy_(made)
