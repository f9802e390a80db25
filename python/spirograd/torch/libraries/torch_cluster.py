"""torch.ops.torch_cluster: the operations of that package's extension, which are those of sg.graphs."""

from __future__ import annotations

from typing import Any

from ... import _core, graphs
from ..._core import Tensor
from ...graphs.walks import walk

__all__ = [
    "cuda_version", "fps", "fps_ptr_list", "graclus", "grid", "knn", "nearest", "radius", "random_walk",
]  # fmt: skip

Maybe = Tensor | None


def cuda_version() -> int:
    """-1: it does not depend on CUDA."""
    return -1


def _batch(ptr: Maybe, points: Tensor) -> Maybe:
    """The cloud of each point, of where clouds begin."""
    if ptr is None:
        return None
    return graphs.gather_csr(_core.arange(len(ptr) - 1, device=points.device), ptr)


def fps(src: Tensor, ptr: Tensor, ratio: Any, random_start: bool) -> Tensor:
    """Points that are far from each other."""
    return graphs.fps(src, None, ratio, random_start, ptr=ptr)


def fps_ptr_list(src: Tensor, ptr: list[int], ratio: Any, random_start: bool) -> Tensor:
    """fps() with bounds in a list."""
    return fps(src, _core.tensor(ptr, device=src.device), ratio, random_start)


def knn(x: Tensor, y: Tensor, ptr_x: Maybe, ptr_y: Maybe, k: int, cosine: bool, num_workers: int = 1) -> Tensor:
    """The nearest points."""
    return graphs.knn(x, y, k, _batch(ptr_x, x), _batch(ptr_y, y), cosine)


def radius(
    x: Tensor, y: Tensor, ptr_x: Maybe, ptr_y: Maybe, r: float, max_num_neighbors: int, num_workers: int = 1,
    ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """The points within a distance."""
    pairs = graphs.radius(x, y, r, _batch(ptr_x, x), _batch(ptr_y, y), max_num_neighbors + ignore_same_index)
    return pairs[:, pairs[0] != pairs[1]] if ignore_same_index else pairs


def nearest(x: Tensor, y: Tensor, ptr_x: Maybe, ptr_y: Maybe) -> Tensor:
    """The nearest point."""
    return graphs.nearest(x, y, _batch(ptr_x, x), _batch(ptr_y, y))


def grid(pos: Tensor, size: Tensor, start: Maybe = None, end: Maybe = None) -> Tensor:
    """The cells of points."""
    return graphs.grid_cluster(pos, size, start, end)


def graclus(rowptr: Tensor, col: Tensor, weight: Maybe = None) -> Tensor:
    """Pairs of neighbours."""
    row = _batch(rowptr, col)
    assert row is not None
    return graphs.graclus_cluster(row, col, weight, len(rowptr) - 1)


def random_walk(
    rowptr: Tensor, col: Tensor, start: Tensor, walk_length: int, p: float, q: float
) -> tuple[Tensor, Tensor]:
    """Nodes and edges of walks."""
    return walk(rowptr, col, start, walk_length, p, q)
