"""Random walks along the edges of a graph."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..ops import GlslKernel, glsl_kernel

__all__ = ["random_walk"]

# Numbers come from a congruential generator whose states are permuted (PCG, O'Neill, 2014); each walk has its own.
_WALK = """
uint state;
uint drawn() {
  state = state * 747796405u + 2891336453u;
  uint word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (word >> 22) ^ word;
}
uint below(uint count) {
  uint high, low;
  umulExtended(drawn(), count, high, low);
  return high;
}
bool joined(int node, int other) {
  int end = load(rowptr, node + 1);
  for (int i = load(rowptr, node); i < end; ++i)
    if (load(col, i) == other) return true;
  return false;
}
void main() {
  uint walk = global_index, steps = room_shape(1);
  if (walk >= start_size) return;
  state = uint(load(seeds, walk));
  int before = -1, node = load(start, walk);
  store(nodes, walk * (steps + 1), node);
  for (uint i = 0; i < steps; ++i) {
    int begin = load(rowptr, node), edge = -1, next = node;
    uint count = uint(load(rowptr, node + 1) - begin);
    while (count > 0) {
      edge = begin + int(below(count));
      next = load(col, edge);
      if (before < 0 || count == 1) break;
      float chance = float(drawn() >> 8) / 16777216.0;
      if (chance < load(chances, 2) || (next == before && chance < load(chances, 0)) ||
          (chance < load(chances, 1) && joined(next, before)))
        break;
    }
    before = node;
    node = next;
    store(edges, walk * steps + i, edge);
    store(nodes, walk * (steps + 1) + i + 1, node);
  }
}
"""
_N = np.uint32


def _drawn(state: Any, who: Any) -> Any:
    state[who] = state[who] * _N(747796405) + _N(2891336453)
    of = state[who]
    word = ((of >> ((of >> _N(28)) + _N(4))) ^ of) * _N(277803737)
    return (word >> _N(22)) ^ word


def _walked(rowptr: Tensor, col: Tensor, start: Tensor, seeds: Tensor, chances: Tensor, room: Tensor) -> Any:
    """On the CPU: nodes and edges of each walk, all walks a step at a time."""
    bounds, ends, node, state = rowptr.numpy(), col.numpy(), start.numpy(), seeds.numpy().view(_N).copy()
    back, near, away = chances.numpy()
    size = len(bounds) - 1
    known = np.repeat(np.arange(size), np.diff(bounds)) * size + ends
    before, (walks, steps) = np.full(len(node), -1), room.shape
    nodes, edges = np.empty((walks, steps + 1), np.int32), np.empty((walks, steps), np.int32)
    nodes[:, 0] = node
    for i in range(steps):
        begin, count = bounds[node], np.diff(bounds)[node]
        edge, next_node = np.full(walks, -1), node.copy()
        who = np.flatnonzero(count > 0)
        while len(who):
            scaled = _drawn(state, who).astype(np.uint64) * count[who].astype(np.uint64) >> np.uint64(32)
            edge[who] = begin[who] + scaled.astype(int)
            next_node[who] = ends[edge[who]]
            if i == 0:
                break
            who = who[count[who] > 1]
            chance = (_drawn(state, who) >> _N(8)).astype(np.float32) / _N(16777216)
            there, last = next_node[who].astype(np.int64), before[who]
            taken = (chance < away) | ((there == last) & (chance < back))
            taken |= (chance < near) & np.isin(there * size + last, known)
            who = who[~taken]
        before, node = node, next_node
        nodes[:, i + 1], edges[:, i] = node, edge
    return _core.tensor(nodes), _core.tensor(edges)


@cache
def _kernel() -> GlslKernel:
    inputs = ["rowptr", "col", "start", "seeds", "chances", "room"]
    nodes = ("nodes", lambda *shapes: (shapes[-1][0], shapes[-1][1] + 1), _core.int32)
    edges = ("edges", "room", _core.int32)
    groups = lambda *shapes: -(-shapes[2][0] // 64)  # noqa: E731
    return glsl_kernel("random_walk", _WALK, inputs, [nodes, edges], groups, 64, cpu=_walked)


def walk(rowptr: Tensor, col: Tensor, start: Tensor, length: int, p: float, q: float) -> tuple[Tensor, Tensor]:
    """Nodes [walks, length + 1] and edges [walks, length], of a graph whose edges are sorted by where they begin."""
    count, device = len(start), start.device
    if not (p > 0 and q > 0) or length < 0:
        raise ValueError(f"random_walk: {length} steps, p {p}, q {q}; use 0 steps or more, p and q above 0")
    if count == 0 or length == 0:
        return start[:, None].expand(count, length + 1), start.new_zeros((count, length))
    most = max(1 / p, 1.0, 1 / q)
    chances = _core.tensor([1 / p / most, 1 / most, 1 / q / most], dtype=_core.float32, device=device)
    seeds = _core.randint(-(2**31), 2**31 - 1, (count,), dtype=_core.int32, device=device)
    room = _core.zeros((), dtype=_core.float32, device=device).expand(count, length)
    col = col if len(col) else start[:1]
    nodes, edges = _kernel()(rowptr.int(), col.int(), start.int(), seeds, chances, room)
    return nodes.long(), edges.long()


def random_walk(
    row: Tensor,
    col: Tensor,
    start: Tensor,
    walk_length: int,
    p: float = 1.0,
    q: float = 1.0,
    coalesced: bool = True,
    num_nodes: int | None = None,
    return_edge_indices: bool = False,
) -> Any:
    """Walks along edges that are drawn at random, as node2vec takes them (Grover and Leskovec, 2016).

    Args:
        row: int64 [edges], where edges begin.
        col: int64 [edges], where they end.
        start: int64 [walks], where walks begin.
        walk_length: steps of a walk; at a node without an edge it stays.
        p: the larger, the less likely is the step back to the node before.
        q: the larger, the less likely is a step to a node that is no neighbour of the node before.
        coalesced: whether edges are sorted here first; else they are sorted by row.
        num_nodes: how many nodes; left out, one more than the largest, which is read from the device.
        return_edge_indices: whether the edges of each walk are a second result, in their order here, -1 for none.

    Returns:
        int64 [walks, walk_length + 1], and with return_edge_indices int64 [walks, walk_length].

    Raises:
        ValueError: p or q of 0 or less.

    Example:
        >>> row, col = sg.tensor([0, 1, 2]), sg.tensor([1, 2, 0])
        >>> sg.graphs.random_walk(row, col, sg.tensor([0, 2]), 3).tolist()
        [[0, 1, 2, 0], [2, 0, 1, 2]]
    """
    if num_nodes is None:
        num_nodes = int(_core.cat([row, col, start]).max().item()) + 1
    if coalesced:
        order = (row * num_nodes + col).argsort()
        row, col = row[order], col[order]
    rowptr = _core.searchsorted(row.contiguous(), _core.arange(num_nodes + 1, device=row.device))
    nodes, edges = walk(rowptr, col, start, walk_length, p, q)
    return (nodes, edges) if return_edge_indices else nodes
