"""Neighbours in clouds of points. A batch holds several clouds: each point has the number of its own, which ascends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from .. import _core
from .._core import Tensor
from ..ops import GlslKernel, glsl_kernel

__all__ = ["fps", "knn", "knn_graph", "nearest", "radius", "radius_graph"]

_MOST = 1 << 26  # distances that are held at a time

_FARTHEST = """
shared float far[256];
shared uint who[256];
void main() {
  uint me = gl_LocalInvocationIndex, cloud = gl_WorkGroupID.x, width = points_shape(1);
  uint begin = uint(load(begins, cloud)), end = uint(load(begins, cloud + 1));
  uint slot = uint(load(slots, cloud)), last = uint(load(slots, cloud + 1));
  uint at = uint(load(first, cloud));
  for (uint i = slot; i < last; ++i) {
    if (me == 0) store(picked, i, int(at));
    far[me] = -1.0;
    who[me] = begin;
    for (uint j = begin + me; j < end; j += 256) {
      float apart = 0.0;
      for (uint f = 0; f < width; ++f) {
        float gap = load(points, j * width + f) - load(points, at * width + f);
        apart += gap * gap;
      }
      if (i > slot) apart = min(apart, load(closest, j));
      store(closest, j, apart);
      if (apart > far[me]) {
        far[me] = apart;
        who[me] = j;
      }
    }
    barrier();
    for (uint left = 128; left > 0; left /= 2) {
      uint other = me + left;
      if (me < left && (far[other] > far[me] || (far[other] == far[me] && who[other] < who[me]))) {
        far[me] = far[other];
        who[me] = who[other];
      }
      barrier();
    }
    at = who[0];
    barrier();
  }
}
"""


def _farthest(points: Tensor, begins: Tensor, slots: Tensor, first: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """On the CPU: the points picked of each cloud, and how far each point is from the picked ones."""
    at, bounds, places, starts = points.numpy(), begins.numpy(), slots.numpy(), first.numpy()
    picked, closest = np.zeros(len(room), np.int32), np.zeros(len(at), at.dtype)
    for cloud, start in enumerate(starts):
        own = slice(bounds[cloud], bounds[cloud + 1])
        closest[own] = np.inf
        for i in range(places[cloud], places[cloud + 1]):
            picked[i] = start
            closest[own] = np.minimum(closest[own], np.square(at[own] - at[start]).sum(1))
            start = bounds[cloud] + closest[own].argmax()
    return _core.tensor(picked), _core.tensor(closest)


@cache
def _fps_kernel() -> GlslKernel:
    """A workgroup for each cloud; `room` has the size of the result."""
    inputs = ["points", "begins", "slots", "first", "room"]
    picked = ("picked", "room", _core.int32)
    closest = ("closest", lambda points, *_: points[:1])
    groups = lambda points, begins, slots, first, room: first  # noqa: E731
    return glsl_kernel("fps", _FARTHEST, inputs, [picked, closest], groups, 256, cpu=_farthest)


def _bounds(batch: Tensor | None, size: int, clouds: int | None = None) -> Tensor:
    """Where each cloud begins, and where the last ends."""
    if batch is None:
        return _core.tensor([0, size])
    clouds = int(batch[-1].item()) + 1 if clouds is None else clouds
    return _core.searchsorted(batch.contiguous(), _core.arange(clouds + 1, device=batch.device))


def _points(x: Tensor) -> Tensor:
    """[n, features], of a type that distances are computed in."""
    x = x.detach()[:, None].flatten(1)
    wide = x.dtype == _core.float64 and x.device.kind == "cpu"
    return x if wide else x.float()


def fps(
    src: Tensor,
    batch: Tensor | None = None,
    ratio: float | Tensor = 0.5,
    random_start: bool = True,
    batch_size: int | None = None,
    ptr: Tensor | None = None,
) -> Tensor:
    """Points of each cloud, each the farthest from those before it (farthest point sampling, Qi et al., 2017).

    Args:
        src: [n, ...].
        batch: int64 [n], the cloud of each point, ascending; left out, one cloud.
        ratio: the share of a cloud that is picked, rounded up; a number, or one for each cloud.
        random_start: whether the first point of a cloud is drawn, else it is the cloud's first.
        batch_size: how many clouds; left out, it is read from the device.
        ptr: in place of batch, int64 [clouds + 1], where each cloud begins.

    Returns:
        int64 [picked], indices of points; how many is read from the device.

    Example:
        >>> x = sg.tensor([[0.0], [1.0], [2.0], [9.0]])
        >>> sg.graphs.fps(x, ratio=0.75, random_start=False).tolist()
        [0, 3, 2]
    """
    points = _points(src)
    begins = (_bounds(batch, len(points), batch_size) if ptr is None else ptr).to(points.device)
    sizes = begins.diff()
    ends = (sizes.float() * ratio).ceil().long().cumsum(0)
    slots = _core.cat([ends.new_zeros(1), ends])
    first = begins[:-1]
    if random_start:
        first = first + (_core.rand(sizes.shape, device=points.device) * sizes).long().clamp(max=sizes - 1)
    total = int(slots[-1].item())
    if total == 0:
        return slots[:0]
    room = _core.zeros(total, device=points.device)
    picked: Tensor = _fps_kernel()(points, begins.int(), slots.int(), first.int(), room)[0]
    return picked.long()


def _distances(
    x: Tensor, y: Tensor, batch_x: Tensor | None, batch_y: Tensor | None, cosine: bool = False
) -> Iterator[tuple[Tensor, Tensor]]:
    """For some points of y at a time, their numbers [m] and squared distances to x, [m, n]; infinite between clouds."""
    if len(x) == 0 or len(y) == 0:
        return
    x, y = _points(x), _points(y)
    if x.shape[1] != y.shape[1] or (batch_x is None) != (batch_y is None):
        raise ValueError(
            f"neighbours: points of {x.shape[1]} and of {y.shape[1]} numbers; give the same, and both batches or none"
        )
    if cosine:
        x, y = (p / p.norm(dim=1, keepdim=True).clamp(min=1e-12) for p in (x, y))
    numbers = _core.arange(len(y), device=y.device)
    step = max(_MOST // len(x), 1)
    for begin in range(0, len(y), step):
        some = slice(begin, begin + step)
        apart = (y[some, None] - x).square().sum(2)
        if batch_x is not None and batch_y is not None:
            apart = _core.where(batch_y[some, None] == batch_x, apart, float("inf"))
        yield numbers[some], apart


def _pairs(found: list[tuple[Tensor, Tensor]], device: _core.Device) -> Tensor:
    if not found:
        return _core.zeros(2, 0, dtype=_core.int64, device=device)
    return _core.stack([_core.cat([part[i] for part in found]) for i in (0, 1)])


def knn(
    x: Tensor,
    y: Tensor,
    k: int,
    batch_x: Tensor | None = None,
    batch_y: Tensor | None = None,
    cosine: bool = False,
) -> Tensor:
    """The k points of x nearest to each point of y, the nearest first; all of its cloud if there are fewer.

    Args:
        x: [n, features].
        y: [m, features].
        batch_x: int64 [n], the cloud of each point; left out with batch_y, one cloud.
        batch_y: int64 [m].
        cosine: whether by the angle between points in place of their distance.

    Returns:
        int64 [2, pairs], points of y and their neighbours.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x, y = sg.tensor([[0.0], [1.0], [5.0]]), sg.tensor([[4.0]])
        >>> sg.graphs.knn(x, y, 2).tolist()
        [[0, 0], [2, 1]]
    """
    found = []
    for rows, apart in _distances(x, y, batch_x, batch_y, cosine):
        values, at = apart.topk(min(k, len(x)), largest=False)
        rows = rows[:, None].expand(at.shape)
        same = None if batch_x is None else values < float("inf")
        found.append((rows.reshape(-1), at.reshape(-1)) if same is None else (rows[same], at[same]))
    return _pairs(found, x.device)


def radius(
    x: Tensor,
    y: Tensor,
    r: float,
    batch_x: Tensor | None = None,
    batch_y: Tensor | None = None,
    max_num_neighbors: int = 32,
) -> Tensor:
    """The points of x that are less than r away from each point of y.

    Args:
        x: [n, features].
        y: [m, features].
        r: the distance.
        batch_x: int64 [n], the cloud of each point; left out with batch_y, one cloud.
        batch_y: int64 [m].
        max_num_neighbors: of more, the first.

    Returns:
        int64 [2, pairs], points of y and their neighbours; how many is read from the device.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x, y = sg.tensor([[0.0], [1.0], [5.0]]), sg.tensor([[0.5]])
        >>> sg.graphs.radius(x, y, 1.0).tolist()
        [[0, 0], [0, 1]]
    """
    found = []
    for rows, apart in _distances(x, y, batch_x, batch_y):
        near = apart < r * r
        row, at = (near & (near.cumsum(1) <= max_num_neighbors)).nonzero(as_tuple=True)
        found.append((rows[row], at))
    return _pairs(found, x.device)


def _graph(pairs: Tensor, loop: bool, flow: str) -> Tensor:
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"graph: flow is {flow!r}; use 'source_to_target' or 'target_to_source'")
    edges = pairs.flip(0) if flow == "source_to_target" else pairs
    return edges if loop else edges[:, edges[0] != edges[1]]


def knn_graph(
    x: Tensor,
    k: int,
    batch: Tensor | None = None,
    loop: bool = False,
    flow: str = "source_to_target",
    cosine: bool = False,
) -> Tensor:
    """Edges from the k nearest points to each point.

    Args:
        x: [n, features].
        k: how many neighbours.
        batch: int64 [n], the cloud of each point; left out, one cloud.
        loop: whether a point is its own neighbour.
        flow: "source_to_target" has the neighbours in the first row, "target_to_source" in the second.
        cosine: whether by the angle between points in place of their distance.

    Returns:
        int64 [2, edges].

    Example:
        >>> sg.graphs.knn_graph(sg.tensor([[0.0], [1.0], [5.0]]), 1).tolist()
        [[1, 0, 1], [0, 1, 2]]
    """
    return _graph(knn(x, x, k if loop else k + 1, batch, batch, cosine), loop, flow)


def radius_graph(
    x: Tensor,
    r: float,
    batch: Tensor | None = None,
    loop: bool = False,
    max_num_neighbors: int = 32,
    flow: str = "source_to_target",
) -> Tensor:
    """Edges between points that are less than r apart; arguments as of radius and knn_graph.

    Example:
        >>> sg.graphs.radius_graph(sg.tensor([[0.0], [1.0], [5.0]]), 2.0).tolist()
        [[1, 0], [0, 1]]
    """
    most = max_num_neighbors if loop else max_num_neighbors + 1
    return _graph(radius(x, x, r, batch, batch, most), loop, flow)


def nearest(x: Tensor, y: Tensor, batch_x: Tensor | None = None, batch_y: Tensor | None = None) -> Tensor:
    """The point of y that is nearest to each point of x.

    Args:
        x: [n, features].
        y: [m, features].
        batch_x: int64 [n], the cloud of each point; left out with batch_y, one cloud.
        batch_y: int64 [m], with a point of each cloud of x.

    Returns:
        int64 [n].

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x, y = sg.tensor([[0.0], [1.0], [5.0]]), sg.tensor([[0.0], [4.0]])
        >>> sg.graphs.nearest(x, y).tolist()
        [0, 0, 1]
    """
    found = [apart.argmin(1) for _, apart in _distances(y, x, batch_y, batch_x)]
    return _core.cat(found) if found else _core.zeros(0, dtype=_core.int64, device=x.device)
