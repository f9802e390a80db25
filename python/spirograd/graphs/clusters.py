"""Clusters of points and of nodes, for layers that pool them."""

from __future__ import annotations

from .. import _core
from .._core import Tensor

__all__ = ["graclus_cluster", "grid_cluster"]


def grid_cluster(pos: Tensor, size: Tensor, start: Tensor | None = None, end: Tensor | None = None) -> Tensor:
    """The number of the cell of a grid that each point lies in.

    Args:
        pos: [n, dimensions].
        size: [dimensions], of a cell.
        start: [dimensions], where the grid begins; left out, at the least positions.
        end: [dimensions], where it ends; left out, at the largest.

    Returns:
        int64 [n].

    Example:
        >>> x = sg.tensor([[0.0, 0.0], [11.0, 9.0], [2.0, 8.0], [2.0, 2.0], [8.0, 3.0]])
        >>> sg.graphs.grid_cluster(x, sg.tensor([5.0, 5.0])).tolist()
        [0, 5, 3, 0, 1]
    """
    pos = pos.detach().reshape(len(pos), -1)
    start = pos.amin(0) if start is None else start
    end = pos.amax(0) if end is None else end
    cells = (end - start).div(size).long() + 1
    steps = _core.cat([_core.ones_like(cells[:1]), cells.cumprod(0)[:-1]])
    return ((pos - start).div(size).long() * steps).sum(1)


def graclus_cluster(row: Tensor, col: Tensor, weight: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
    """Pairs of neighbours: in rounds, each edge that is the heaviest of both its nodes makes them one cluster.

    Equal edges are ordered at random. Rounds end when no edge has two single nodes, which is read from the device.

    Args:
        row: int64 [edges], where edges begin.
        col: int64 [edges], where they end; their direction does not matter.
        weight: [edges]; edges of less than 0 join nothing.
        num_nodes: how many nodes; left out, one more than the largest, which is read from the device.

    Returns:
        int64 [num_nodes], the lower node of each cluster.

    Example:
        >>> row, col = sg.tensor([0, 1, 2]), sg.tensor([1, 2, 3])
        >>> sg.graphs.graclus_cluster(row, col, sg.tensor([1.0, 5.0, 1.0])).tolist()
        [0, 1, 1, 3]
    """
    edges, device = len(row), row.device
    if num_nodes is None:
        num_nodes = int(_core.maximum(row, col).max().item()) + 1 if edges else 0
    order = _core.randperm(edges, device=device)
    if weight is not None:
        order = order[weight.detach()[order].argsort(stable=True)]
    rank = _core.zeros(edges, dtype=_core.int64, device=device).scatter(0, order, _core.arange(edges, device=device))
    both, lower = _core.cat([row, col]), _core.minimum(row, col)
    usable = (row != col) if weight is None else (row != col) & (weight.detach() >= 0)
    single = _core.full((num_nodes,), -1, dtype=_core.int64, device=device)
    cluster = single
    while edges:
        bid = _core.where(usable & (cluster[row] < 0) & (cluster[col] < 0), rank, -1)
        best = single.scatter_reduce(0, both, _core.cat([bid, bid]), "amax")
        won = (bid >= 0) & (best[row] == bid) & (best[col] == bid)
        if not won.any():
            break
        joined = _core.where(won, lower, -1)
        cluster = cluster.scatter_reduce(0, both, _core.cat([joined, joined]), "amax")
    joint: Tensor = _core.where(cluster < 0, _core.arange(num_nodes, device=device), cluster)
    return joint
