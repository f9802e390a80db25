"""Orders of indices and numbers read from them are kept by what they come from: sorted and awaited once, on GPUs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

pytestmark = pytest.mark.gpu

NODES, EDGES, WIDTH = 50, 300, 4
Floats = npt.NDArray[np.float32]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    sg.empty_cache()
    yield
    sg.empty_cache()


def integers(high: int, *shape: int, seed: int = 0) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, high, shape)


def floats(*shape: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sorts(run: Callable[[], Any]) -> int:
    """How many orders a function finds. The ones here are short: a launch each."""
    sg.synchronize()
    with sg.profiler.profile() as profile:
        kept = run()
        sg.synchronize()
    del kept
    return sum(e.name == "sort" for e in profile.events() if e.category == "kernel")


def added(index: npt.NDArray[np.int64], values: Floats) -> Floats:
    out = np.zeros((NODES, *values.shape[1:]), np.float32)
    np.add.at(out, index, values)
    return out


class Layer:
    """Messages along edges, as torch_geometric's layers send them: gathered, weighed, added up where they end."""

    def __init__(self) -> None:
        self.edges = integers(NODES, 2, EDGES)
        self.edge_index = sg.tensor(self.edges, device="gpu")
        self.x = sg.tensor(floats(NODES, WIDTH), device="gpu", requires_grad=True)

    def step(self) -> sg.Tensor:
        self.x.grad = None
        row, col = self.edge_index[0], self.edge_index[1]
        zeros = sg.zeros(NODES, WIDTH, device="gpu")
        messages = self.x.index_select(0, row)
        index = col.view(-1, 1).expand_as(messages)
        greatest = zeros.scatter_reduce(0, index, messages.detach(), "amax", include_self=False)
        total = zeros.scatter_add(0, index, messages * 2)
        (total + greatest).sum().backward()
        return total

    def values(self) -> tuple[Floats, Floats]:
        row, col = self.edges
        gradient = added(row, np.full((EDGES, WIDTH), 2, np.float32))
        return added(col, floats(NODES, WIDTH)[row] * 2), gradient


def test_each_index_is_sorted_once() -> None:
    layer = Layer()
    assert sorts(layer.step) == 2  # one for where edges begin, one for where they end
    assert [sorts(layer.step) for _ in range(3)] == [0, 0, 0]
    total, gradient = layer.values()
    np.testing.assert_allclose(layer.step().detach().cpu().numpy(), total, rtol=1e-5, atol=1e-5)
    assert layer.x.grad is not None
    np.testing.assert_array_equal(layer.x.grad.cpu().numpy(), gradient)


def test_a_dropped_result_is_computed_without_another_check() -> None:
    index = sg.tensor(integers(NODES, EDGES), device="gpu")
    zeros, ones = sg.zeros(NODES, device="gpu"), sg.ones(EDGES, device="gpu")

    def launches() -> list[str]:
        sg.synchronize()
        with sg.profiler.profile() as profile:
            zeros.scatter_add(0, index, ones)
            sg.synchronize()
        return [e.name for e in profile.events() if e.category == "kernel"]

    assert launches()[:2] == ["scatter_add", "sort"]
    assert launches() == ["add_rows_clear", "add_rows", "add_rows", "add_rows", "add"]


def test_values_are_those_of_a_new_order() -> None:
    index = sg.tensor(integers(NODES, EDGES), device="gpu")
    values = sg.tensor(floats(EDGES, WIDTH), device="gpu")
    zeros = sg.zeros(NODES, WIDTH, device="gpu")
    bits = [zeros.index_add(0, index, values).cpu().numpy() for _ in range(3)]
    sg.empty_cache()
    bits.append(zeros.index_add(0, index, values).cpu().numpy())
    for other in bits[1:]:
        np.testing.assert_array_equal(bits[0], other)


def test_what_comes_from_a_constant_index_is_sorted_once() -> None:
    """Edges without loops, then one to each node itself: made anew in each step, from edges that stay."""
    edges = sg.tensor(integers(NODES, 2, EDGES), device="gpu")
    ones = sg.ones(EDGES + NODES, device="gpu")

    def step() -> sg.Tensor:
        kept = edges[:, edges[0] != edges[1]]
        loops = sg.arange(NODES, device="gpu").unsqueeze(0).repeat(2, 1)
        both = sg.cat([kept, loops], dim=1)
        return sg.zeros(NODES, device="gpu").scatter_add(0, both[1], ones[: both.shape[1]])

    row, col = edges.cpu().numpy()
    expected = np.bincount(col[row != col], minlength=NODES) + 1
    counted = [sorts(step) for _ in range(4)]
    assert counted[2:] == [0, 0]
    sg.reset_stats()
    y = step()
    assert sg.stats()["bytes_read"] == 0  # how many edges stay is known
    np.testing.assert_array_equal(y.cpu().numpy(), expected)


def test_the_greatest_is_read_once() -> None:
    index = sg.tensor(integers(NODES, EDGES), device="gpu")
    expected = int(index.cpu().numpy().max())
    assert int(index.max()) == expected
    sg.reset_stats()
    assert int(index.max()) == expected
    assert index.max().item() == expected
    assert (sg.stats()["bytes_read"], sg.stats()["submissions"]) == (0, 0)
    index[3] = 1000
    assert int(index.max()) == 1000


@pytest.mark.parametrize("write", ["element", "mask", "whole", "data", "view"])
def test_a_write_gives_a_new_order(write: str) -> None:
    numbers = integers(NODES, EDGES)
    index = sg.tensor(numbers, device="gpu")
    values = sg.tensor(floats(EDGES), device="gpu")
    zeros = sg.zeros(NODES, device="gpu")
    for _ in range(2):
        zeros.scatter_add(0, index, values).cpu()
    if write == "element":
        index[0] = 3
        numbers[0] = 3
    elif write == "mask":
        index[index > 5] = 2
        numbers[numbers > 5] = 2
    elif write == "whole":
        numbers = integers(NODES, EDGES, seed=7)
        index.copy_(sg.tensor(numbers, device="gpu"))
    elif write == "data":
        index.data.fill_(4)
        numbers[:] = 4
    else:
        index[10:20].add_(1).remainder_(NODES)
        numbers[10:20] = (numbers[10:20] + 1) % NODES
    out = zeros.scatter_add(0, index, values)
    np.testing.assert_allclose(out.cpu().numpy(), added(numbers, floats(EDGES)), rtol=1e-4, atol=1e-5)


def test_writes_in_a_loop_are_seen() -> None:
    index = sg.tensor(integers(NODES, EDGES), device="gpu")
    numbers = index.cpu().numpy()
    ones = sg.ones(EDGES, device="gpu")
    for i in range(6):
        out = sg.zeros(NODES, device="gpu").scatter_add(0, index, ones)
        index.add_(i).remainder_(NODES)
        np.testing.assert_array_equal(out.cpu().numpy(), np.bincount(numbers, minlength=NODES))
        numbers = (numbers + i) % NODES


def test_an_index_out_of_range_is_reported_each_time() -> None:
    index = sg.tensor(np.array([0, 1, NODES]), device="gpu")
    ones = sg.ones(3, device="gpu")
    for _ in range(3):
        with pytest.raises(IndexError):
            sg.zeros(NODES, device="gpu").scatter_add(0, index, ones).cpu()
    larger = sg.zeros(NODES + 1, device="gpu").scatter_add(0, index, ones)  # in range there
    assert larger.cpu().numpy()[[0, 1, NODES]].tolist() == [1, 1, 1]
    with pytest.raises(IndexError):
        sg.zeros(NODES, device="gpu").scatter_add(0, index, ones).cpu()


def live() -> int:
    gc.collect()
    sg.synchronize()
    return int(sg.stats()["bytes_live"])


def test_what_is_kept_is_freed() -> None:
    values = sg.ones(20000, device="gpu")
    before = live()
    index = sg.tensor(integers(NODES, 20000), device="gpu")
    alone = live()

    def use(index: sg.Tensor) -> None:
        sg.zeros(NODES, device="gpu").scatter_add(0, index, values).cpu()

    use(index)
    assert live() - alone >= 8 * 20000
    sg.empty_cache()
    assert live() <= alone
    use(index)
    del index
    assert live() <= before


def test_no_more_than_so_many_are_kept() -> None:
    values = sg.ones(4000, device="gpu")
    indices = [sg.tensor(integers(NODES, 4000, seed=s), device="gpu") for s in range(140)]
    alone = live()
    for index in indices:
        sg.zeros(NODES, device="gpu").scatter_add(0, index, values).cpu()
    assert 100 * 8 * 4000 < live() - alone <= 130 * 8 * 4096


def test_threads_share_an_order() -> None:
    numbers = integers(NODES, EDGES)
    index = sg.tensor(numbers, device="gpu")
    results: list[Floats] = []

    def work(seed: int) -> None:
        for _ in range(5):
            values = sg.tensor(floats(EDGES, seed=seed), device="gpu")
            results.append(sg.zeros(NODES, device="gpu").scatter_add(0, index, values).cpu().numpy())

    threads = [threading.Thread(target=work, args=(5,)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 15
    for y in results:
        np.testing.assert_allclose(y, added(numbers, floats(EDGES, seed=5)), rtol=1e-4, atol=1e-5)


def test_a_replay_follows_its_index() -> None:
    @sg.compile
    def step(index: sg.Tensor, values: sg.Tensor) -> sg.Tensor:
        zeros = sg.zeros(NODES, WIDTH, device="gpu")
        return zeros.scatter_add(0, index.view(-1, 1).expand_as(values), values)

    values = sg.tensor(floats(EDGES, WIDTH), device="gpu")
    first = sg.tensor(integers(NODES, EDGES), device="gpu")
    for seed in (0, 0, 0, 1, 2, 0):
        numbers = integers(NODES, EDGES, seed=seed)
        index = sg.tensor(numbers, device="gpu") if seed else first
        np.testing.assert_allclose(
            step(index, values).cpu().numpy(), added(numbers, floats(EDGES, WIDTH)), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
def test_an_expanded_index_is_one_of_slices(reduce: str, include_self: bool, dim: int) -> None:
    index = integers(3, 8) if dim else integers(5, 8)
    shape = (8, 4) if dim == 0 else (5, 8)
    out = (5, 4) if dim == 0 else (5, 3)
    results = []
    for device in ("cpu", "gpu"):
        i = sg.tensor(index, device=device).unsqueeze(1 - dim)
        x = sg.tensor(floats(*out), device=device, requires_grad=True)
        v = sg.tensor(floats(*shape, seed=2), device=device, requires_grad=True)
        for given in (i.expand(*shape), i.expand(*shape).contiguous()):
            x.grad = v.grad = None
            y = x.scatter_reduce(dim, given, v, reduce, include_self=include_self)
            (y * sg.tensor(floats(*out, seed=3), device=device)).sum().backward()
            assert x.grad is not None
            assert v.grad is not None
            results.append([t.detach().cpu().numpy() for t in (y, x.grad, v.grad, x.gather(dim, i.expand(*shape)))])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_recorded_step_sorts_an_index_once() -> None:
    layer = Layer()
    step = sg.compile(layer.step)
    for _ in range(4):
        step()
    assert sorts(step) <= 2
    total, gradient = layer.values()
    np.testing.assert_allclose(step().detach().cpu().numpy(), total, rtol=1e-5, atol=1e-5)
    assert layer.x.grad is not None
    np.testing.assert_array_equal(layer.x.grad.cpu().numpy(), gradient)


def test_random_integers_are_no_constants() -> None:
    """Equal calls, other numbers."""
    ones = sg.ones(EDGES, device="gpu")
    for _ in range(3):
        index = sg.randint(0, NODES, (EDGES,), device="gpu")
        out = sg.zeros(NODES, device="gpu").scatter_add(0, index, ones)
        np.testing.assert_array_equal(out.cpu().numpy(), np.bincount(index.cpu().numpy(), minlength=NODES))


def test_equal_random_integers_of_a_recorded_step_differ_in_a_replay() -> None:
    """Two generators that happen to be at the same place while the step is recorded."""
    ones, zeros = sg.ones(EDGES, device="gpu"), sg.zeros(NODES, device="gpu")
    first, second = sg.Generator(device="gpu"), sg.Generator(device="gpu")

    @sg.compile
    def step() -> list[tuple[sg.Tensor, sg.Tensor]]:
        indices = [sg.randint(0, NODES, (EDGES,), generator=g, device="gpu") for g in (first, second)]
        return [(i, zeros.scatter_add(0, i, ones)) for i in indices]

    for seed in (1, 1, 1, 2, 3):
        first.manual_seed(1)
        second.manual_seed(seed)
        for index, out in step():
            np.testing.assert_array_equal(out.cpu().numpy(), np.bincount(index.cpu().numpy(), minlength=NODES))
