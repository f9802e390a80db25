"""Graphs and clouds of points: what torch_scatter's own operators compute, with their gradients, and what each point of
torch_cluster's description says, in loops.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from graph_cases import cases
from spirograd import graphs

# By torch_scatter 2.1.2 with PyTorch 2.13 on a CPU.
STORED = np.load(Path(__file__).parents[1] / "golden" / "graphs.npz")


def test_all_results_are_those_of_torch_scatter(device: sg.Device) -> None:
    seen = set()
    for name, results in cases(graphs, lambda values: sg.tensor(values, device=device)):
        for i, result in enumerate(results):
            wanted = STORED[f"{name} {i}"]
            seen.add(f"{name} {i}")
            assert result.device == device and result.numpy(force=True).dtype == wanted.dtype, name
            np.testing.assert_allclose(result.numpy(force=True), wanted, rtol=1e-4, atol=1e-5, err_msg=name)
    assert seen == set(STORED.files) and len(seen) > 150


class Clouds:
    """Two sets of points, in one cloud or several, and the squares of distances within clouds."""

    def __init__(self, clouds: int, device: sg.Device) -> None:
        numbers = np.random.RandomState(clouds)
        self.x, self.y = numbers.randn(40, 3).astype("f"), numbers.randn(25, 3).astype("f")
        self.of_x, self.of_y = np.arange(40) * clouds // 40, np.arange(25) * clouds // 25
        self.points = [sg.tensor(p, device=device) for p in (self.x, self.y)]
        self.batches = [sg.tensor(b, device=device) if clouds > 1 else None for b in (self.of_x, self.of_y)]
        self.apart = np.square(self.y[:, None].astype("d") - self.x).sum(2)
        self.apart[self.of_y[:, None] != self.of_x] = np.inf


@pytest.fixture(params=[1, 3])
def clouds(request: pytest.FixtureRequest, device: sg.Device) -> Clouds:
    return Clouds(request.param, device)


def test_neighbours_are_the_nearest_of_all(clouds: Clouds) -> None:
    x, y = clouds.points
    wanted = [(i, j) for i, row in enumerate(clouds.apart) for j in np.argsort(row)[:6] if row[j] < np.inf]
    assert list(map(tuple, graphs.knn(x, y, 6, *clouds.batches).t().tolist())) == wanted
    far = (
        -(clouds.y / np.linalg.norm(clouds.y, axis=1)[:, None])
        @ (clouds.x / np.linalg.norm(clouds.x, axis=1)[:, None]).T
    )
    far[clouds.of_y[:, None] != clouds.of_x] = np.inf
    wanted = [(i, j) for i, row in enumerate(far) for j in np.argsort(row)[:2]]
    assert list(map(tuple, graphs.knn(x, y, 2, *clouds.batches, cosine=True).t().tolist())) == wanted
    assert graphs.nearest(y, x, *clouds.batches[::-1]).tolist() == clouds.apart.argmin(1).tolist()


def test_neighbours_within_a_distance(clouds: Clouds) -> None:
    x, y = clouds.points
    for most in (99, 3):
        near = [np.flatnonzero(row < 1.44)[:most] for row in clouds.apart]
        wanted = [[i, int(j)] for i, row in enumerate(near) for j in row]
        assert graphs.radius(x, y, 1.2, *clouds.batches, most).t().tolist() == wanted


def test_graphs_have_the_neighbours_where_messages_begin(clouds: Clouds) -> None:
    x, batch = clouds.points[0], clouds.batches[0]
    for make in (
        lambda **how: graphs.knn_graph(x, 3, batch, **how),
        lambda **how: graphs.radius_graph(x, 1.0, batch, **how),
    ):
        pairs = make(loop=True, flow="target_to_source").t().tolist()
        assert {(i, i) for i in range(40)} <= set(map(tuple, pairs)) and sorted(pairs)[0][0] == 0
        assert [p[0] for p in pairs] == sorted(p[0] for p in pairs)
    counts = np.bincount(graphs.knn_graph(x, 3, batch)[1].numpy(force=True), minlength=40)
    assert (counts == 3).all()
    assert all(a != b for a, b in graphs.radius_graph(x, 1.0, batch).t().tolist())


def test_each_point_is_the_farthest_from_those_before(clouds: Clouds) -> None:
    groups = [np.flatnonzero(clouds.of_x == c) for c in range(clouds.of_x[-1] + 1)]
    for shares in ([0.4] * len(groups), [0.3, 0.5, 0.6][: len(groups)]):
        wanted = []
        for own, share in zip(groups, shares, strict=True):
            picked = [own[0]]
            while len(picked) < np.ceil(np.float32(share) * len(own)):
                apart = np.square(clouds.x[own][:, None] - clouds.x[picked]).sum(2).min(1)
                picked.append(own[apart.argmax()])
            wanted += picked
        x, batch = clouds.points[0], clouds.batches[0]
        ratio = shares[0] if len(set(shares)) == 1 else sg.tensor(shares, device=x.device)
        assert graphs.fps(x, batch, ratio, random_start=False).tolist() == wanted


def test_cells_of_a_grid_are_numbered(device: sg.Device) -> None:
    x = np.random.RandomState(0).randn(30, 2).astype("f")
    size, start, end = np.array([0.7, 0.5], "f"), np.array([-4, -5], "f"), np.array([4, 5], "f")
    made = [sg.tensor(v, device=device) for v in (x, size, start, end)]
    for bounds, low, high in ((made[2:], start, end), ([], x.min(0), x.max(0))):
        row, column = np.trunc((x - low) / size).astype(int).T
        wide = int(np.trunc((high[0] - low[0]) / size[0])) + 1
        assert graphs.grid_cluster(*made[:2], *bounds).tolist() == (row + wide * column).tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_are_a_matching_that_no_edge_can_extend(weighted: bool, device: sg.Device) -> None:
    sg.manual_seed(0)
    row, col = (sg.randint(0, 40, (70,), device=device) for _ in range(2))
    weight = sg.rand(70, device=device) if weighted else None
    cluster = graphs.graclus_cluster(row, col, weight, 40).tolist()
    pairs = list(zip(row.tolist(), col.tolist(), strict=True))
    edges = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    members = [[i for i in range(40) if cluster[i] == c] for c in sorted(set(cluster))]
    assert all(group[0] == cluster[group[0]] for group in members)
    assert {frozenset(group) for group in members if len(group) > 1} <= edges
    single = {group[0] for group in members if len(group) == 1}
    assert not any(edge <= single for edge in edges)
    if weight is not None:  # the heaviest edge of all, and of what it leaves, and so on
        left, wanted = set(range(40)), set()
        for _, pair in sorted(zip(weight.tolist(), pairs, strict=True), reverse=True):
            if len({*pair} & left) == 2:
                wanted.add(frozenset(pair))
                left -= {*pair}
        assert {frozenset(group) for group in members if len(group) > 1} == wanted


def test_no_negative_edge_joins(device: sg.Device) -> None:
    row, col = sg.tensor([0, 1], device=device), sg.tensor([1, 2], device=device)
    assert graphs.graclus_cluster(row, col, sg.tensor([-1.0, 0.5], device=device)).tolist() == [0, 1, 1]
    assert graphs.graclus_cluster(row[:0], col[:0], num_nodes=3).tolist() == [0, 1, 2]


def test_walks_follow_edges(device: sg.Device) -> None:
    sg.manual_seed(0)
    row, col = (sg.randint(0, 30, (60,), device=device) for _ in range(2))
    order = (row * 31 + col).argsort()
    for p, q in ((1.0, 1.0), (4.0, 0.25)):
        nodes, edges = graphs.random_walk(
            row, col, sg.arange(31, device=device), 8, p, q, num_nodes=31, return_edge_indices=True
        )
        assert nodes.shape == (31, 9) and nodes[:, 0].tolist() == list(range(31))
        ends = {i: set[int]() for i in range(31)}
        for a, b in zip(row.tolist(), col.tolist(), strict=True):
            ends[a].add(b)
        for walk, path in zip(nodes.tolist(), edges.tolist(), strict=True):
            for a, b, edge in zip(walk, walk[1:], path, strict=False):
                assert (edge == -1 and a == b and not ends[a]) or col[order][edge].item() == b in ends[a]


def test_walks_turn_as_often_as_p_and_q_say(device: sg.Device) -> None:
    """From 0 to 1: back to 0, to 2, a neighbour of 0, or to 3, with chances 1/p, 1 and 1/q."""
    row, col = sg.tensor([0, 1, 1, 1, 2], device=device), sg.tensor([1, 0, 2, 3, 0], device=device)
    start = sg.zeros(8000, dtype=sg.int64, device=device)
    for p, q in ((1.0, 1.0), (0.5, 4.0), (2.0, 2.0)):
        sg.manual_seed(1)
        third = graphs.random_walk(row, col, start, 2, p, q)[:, 2]
        shares = np.bincount(third.numpy(force=True), minlength=4)[[0, 2, 3]] / 8000
        weights = np.array([1 / p, 1, 1 / q])
        np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.02)


@pytest.mark.gpu
def test_a_seed_gives_the_same_walks_and_points_on_every_device() -> None:
    row, col = (sg.randint(0, 30, (60,)) for _ in range(2))
    found = []
    for device in ("cpu", "gpu"):
        sg.manual_seed(2)
        moved = [x.to(device) for x in (row, col, sg.arange(30))]
        walks = graphs.random_walk(*moved, 9, 0.5, 2.0, return_edge_indices=True)
        found.append([x.tolist() for x in (*walks, graphs.fps(sg.arange(40.0, device=device).sin(), None, 0.3))])
    assert found[0] == found[1]


def test_points_begin_anywhere_and_are_distinct(device: sg.Device) -> None:
    sg.manual_seed(0)
    x, batch = sg.rand(60, 3, device=device), sg.arange(60, device=device) // 20
    picked = [graphs.fps(x, batch, 0.25).tolist() for _ in range(4)]
    assert all(len(set(p)) == 15 and [i // 20 for i in p] == [0] * 5 + [1] * 5 + [2] * 5 for p in picked)
    assert len({p[0] for p in picked}) > 1


def test_numbers_that_are_not_numbers_are_passed_over(device: sg.Device) -> None:
    x = sg.tensor([float("nan"), 1.0, -float("inf"), 3.0], device=device)
    best, place = graphs.scatter_max(x, sg.tensor([0, 0, 1, 2], device=device))
    assert best.tolist() == [1.0, 0.0, 3.0] and place.tolist() == [1, 4, 3]


def test_what_lies_outside_of_bounds_is_left_out(device: sg.Device) -> None:
    x, bounds = sg.arange(6.0, device=device, requires_grad=True), sg.tensor([1, 2, 2, 5], device=device)
    y = graphs.segment_csr(x, bounds, reduce="mean")
    y.sum().backward()
    assert y.tolist() == [1.0, 0.0, 3.0]
    np.testing.assert_allclose(x.grad.tolist(), [0, 1, 1 / 3, 1 / 3, 1 / 3, 0])  # type: ignore[union-attr]
    assert graphs.segment_csr(x, bounds, reduce="max").tolist() == [1.0, 0.0, 4.0]


def test_launches_do_not_depend_on_sizes(device: sg.Device) -> None:
    def launches(n: int, width: int) -> dict[str, int]:
        x, index = sg.rand(n, width, device=device).realize(), (sg.arange(n, device=device) % 5).realize()
        bounds = sg.tensor([0, 1, n], device=device).realize()
        made: dict[str, Callable[[], sg.Tensor]] = {
            "sum": lambda: graphs.scatter(x, index, 0, dim_size=5),
            "max": lambda: graphs.scatter(x, index, 0, dim_size=5, reduce="max"),
            "segments": lambda: graphs.segment_csr(x, bounds),
            "knn": lambda: graphs.knn(x, x, 2),
            "walk": lambda: graphs.random_walk(index, index, index[:3], n, coalesced=False, num_nodes=5),
        }
        counts = {}
        for name, make in made.items():
            y = make()
            counts[name] = len(y.plan())
            y.realize()
        return counts

    few, many = launches(300, 4), launches(900, 8)
    assert {**many, "max": few["max"]} == few, (few, many)
    assert few["max"] <= many["max"] <= 24, (few, many)  # sorts all elements, in passes that double


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scatter: index \[3\], src \[4\]; give one for each place"):
        graphs.scatter(sg.zeros(4), sg.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match="scatter: reduce is 'middle'; use"):
        graphs.scatter(sg.zeros(1), sg.tensor([0]), reduce="middle")
    with pytest.raises(IndexError, match="scatter_max: dim is 2, the tensor has 1 dimensions"):
        graphs.scatter_max(sg.zeros(1), sg.tensor([0]), 2)
    with pytest.raises(ValueError, match="scatter_softmax: src is int64; use"):
        graphs.scatter_softmax(sg.tensor([1]), sg.tensor([0]))
    with pytest.raises(ValueError, match="neighbours: points of 2 and of 3 numbers; give"):
        graphs.knn(sg.zeros(4, 2), sg.zeros(4, 3), 1)
    with pytest.raises(ValueError, match="graph: flow is 'up'; use"):
        graphs.knn_graph(sg.zeros(4, 2), 1, flow="up")
    with pytest.raises(ValueError, match=r"random_walk: 1 steps, p 0, q 1\.0; use"):
        graphs.random_walk(sg.tensor([0]), sg.tensor([0]), sg.tensor([0]), 1, p=0)


def test_nothing_gives_nothing(device: sg.Device) -> None:
    none = sg.zeros(0, 3, device=device)
    index = sg.zeros(0, dtype=sg.int64, device=device)
    assert graphs.scatter(none, index, 0).shape == (0, 3)
    assert graphs.scatter(none, index, 0, dim_size=2, reduce="max").tolist() == [[0.0] * 3] * 2
    assert graphs.knn(none, none, 2).shape == graphs.radius(none, none, 2.0).shape == (2, 0)
    assert graphs.nearest(none, none).shape == graphs.fps(none).shape == (0,)
    assert graphs.random_walk(index, index, index, 3, num_nodes=1).shape == (0, 4)
