"""Loops that a program unrolls: of whatever length, they are made of a few pieces, and right."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from interrupts import ctrl_c

Array = np.ndarray
UNTIL_PLANNED = 10  # steps of one length, after which the loop has a plan of its own


class Loop:
    """A program with a loop in it."""

    def __init__(self, device: sg.Device) -> None:
        sg.manual_seed(0)
        self.device = device
        self.parameters: list[sg.Tensor] = []

    def parameter(self, *shape: int) -> sg.Tensor:
        self.parameters.append((sg.randn(*shape, device=self.device) * 0.3).realize().requires_grad_())
        return self.parameters[-1]

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        """`each` sees what is carried from round to round."""
        raise NotImplementedError

    def step(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor] = lambda h: h) -> list[Array]:
        loss = self.loss(rounds, each)
        gradients = sg.autograd.grad(loss, self.parameters)
        return [g.detach().numpy() for g in (loss, *gradients)]


class Chain(Loop):
    def __init__(self, device: sg.Device) -> None:
        super().__init__(device)
        self.w, self.x = self.parameter(3), sg.randn(32, device=device).realize()

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        h = self.x
        for _ in range(rounds):
            h = each(sg.tanh(h * self.w[0]))
        return h.sum()


class Lstm(Loop):
    def __init__(self, device: sg.Device) -> None:
        super().__init__(device)
        self.wx, self.wh, self.b = self.parameter(3, 16), self.parameter(4, 16), self.parameter(16)
        self.x = sg.randn(200, 2, 3, device=device).realize()

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        h = c = sg.zeros(2, 4, device=self.device)
        for t in range(rounds):
            i, f, o, u = (self.x[t] @ self.wx + h @ self.wh + self.b).chunk(4, 1)
            c = sg.sigmoid(f) * c + sg.sigmoid(i) * sg.tanh(u)
            h = each(sg.sigmoid(o) * sg.tanh(c))
        return (h * h).mean()


class Episode(Loop):
    """REINFORCE: each action that was taken, as a tensor or, `numbers`, as another number every time."""

    def __init__(self, device: sg.Device, numbers: bool = False) -> None:
        super().__init__(device)
        self.numbers, self.random = numbers, random.Random(0)
        self.w1, self.w2 = self.parameter(4, 8), self.parameter(8, 2)
        self.seen = sg.randn(200, 1, 4, device=device).realize()
        self.actions = sg.tensor(np.arange(200).reshape(200, 1, 1) % 2, device=device)

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        loss = sg.zeros(1, 1, device=self.device)
        for t in range(rounds):
            chances = sg.softmax(sg.relu(self.seen[t] @ self.w1) @ self.w2, 1)
            action = self.random.randrange(2)
            chance = chances[0, action] if self.numbers else chances.gather(1, self.actions[t])
            loss = each(loss - sg.log(chance) * (0.9**t + 0.5))
        return loss.sum()


class Rows(Loop):
    """Each round writes a row."""

    def __init__(self, device: sg.Device) -> None:
        super().__init__(device)
        self.m, self.first = self.parameter(4, 4), self.parameter(4)

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        rows, h = sg.zeros(rounds, 4, device=self.device), self.first
        for t in range(rounds):
            h = each(sg.tanh(h @ self.m))
            rows[t] = h
        return (rows * rows).sum()


class Tokens(Loop):
    """An embedding in each round: indices that are checked."""

    def __init__(self, device: sg.Device) -> None:
        super().__init__(device)
        self.table, self.m = self.parameter(7, 4), self.parameter(4, 4)
        self.tokens = sg.tensor(np.arange(200) * 3 % 7, device=device)

    def loss(self, rounds: int, each: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
        h = sg.zeros(1, 4, device=self.device)
        for t in range(rounds):
            h = each(sg.tanh(h @ self.m + sg.nn.functional.embedding(self.tokens[t : t + 1], self.table)))
        return h.sum()


LOOPS = {kind.__name__: kind for kind in (Chain, Lstm, Episode, Rows, Tokens)}


def misses(run: Callable[[], object]) -> int:
    before = sg.stats()["plan_misses"]
    run()
    return sg.stats()["plan_misses"] - before


@pytest.mark.parametrize("name", ["Chain", "Lstm", "Episode"])
def test_loops_of_many_lengths_make_few_plans(name: str, device: sg.Device) -> None:
    loop = LOOPS[name](device)
    lengths = list(range(1, 201) if device.kind == "cpu" else range(19, 44))
    random.Random(0).shuffle(lengths)
    assert misses(lambda: [loop.step(n) for n in lengths]) <= 20


def test_which_element_is_read_makes_no_plan(device: sg.Device) -> None:
    loop = Episode(device, numbers=True)
    for _ in range(3):
        loop.step(30)
    assert misses(lambda: [loop.step(30) for _ in range(12)]) <= 1  # a plan for all of it


@pytest.mark.parametrize("change", ["write", "add", "read"])
def test_elements_at_random_places_make_no_plan(change: str, device: sg.Device) -> None:
    counts, sums = sg.zeros(27, 27, device=device).realize(), sg.zeros(1, device=device).realize()
    places, want = random.Random(0), np.zeros((27, 27), np.float32)

    def loop(n: int) -> None:
        for _ in range(n):
            i, j = places.randrange(27), places.randrange(27)
            if change == "write":
                counts[i, j] = want[i, j] = places.randrange(9)
            elif change == "add":
                counts[i, j] += 1
                want[i, j] += 1
            else:
                sums.add_(counts[i, j] + 1)
        assert counts.numpy().tolist() == want.tolist()
        assert sums.item() == (total if change == "read" else 0)

    total = 300
    loop(300)
    pointer = counts.data_ptr()
    for n in (300, 170, 233):
        total += n
        assert misses(lambda n=n: loop(n)) <= 2
    assert counts.data_ptr() == pointer


def test_a_table_that_is_filled_from_itself_is_not_copied(device: sg.Device) -> None:
    table, want = sg.ones(40, 5, device=device).realize(), np.ones((40, 5), np.float32)
    pointer = table.data_ptr()
    for _ in range(2):
        for i in range(2, 40):
            table[i, 2] = table[i - 1, 2] * 0.5 + table[i - 2, 2]
            want[i, 2] = want[i - 1, 2] * np.float32(0.5) + want[i - 2, 2]
        np.testing.assert_array_equal(table.numpy(), want)
        table[0, 2] = want[0, 2] = 0.25
    for i in range(1, 4):  # as it is, one at a time
        table[i, 3] = table[i - 1, 2]
        want[i, 3] = want[i - 1, 2]
        np.testing.assert_array_equal(table.numpy(), want)
        assert table.data_ptr() == pointer


@pytest.mark.parametrize("width", [1, 2, 5])
def test_rows_that_are_written_from_rows_of_the_same_tensor_leave_the_others_where_they_are(
    width: int, device: sg.Device
) -> None:
    table, want = sg.ones(40, 5, device=device).realize(), np.ones((40, 5), np.float32)
    pointer = table.data_ptr()
    for i in range(2, 40):
        table[i, :width] = table[i - 1, :width] * 0.5 + table[i - 2, :width]
        want[i, :width] = want[i - 1, :width] * np.float32(0.5) + want[i - 2, :width]
    np.testing.assert_array_equal(table.numpy(), want)
    for _ in range(3):  # a cache that moves along, within one tensor, both ways
        table[:, :width], want[:, :width] = table[:, 5 - width :] + 1.0, want[:, 5 - width :] + np.float32(1)
        np.testing.assert_array_equal(table.numpy(), want)
        table[1:4], want[1:4] = table[:3], want[:3].copy()
        np.testing.assert_array_equal(table.numpy(), want)
    assert table.data_ptr() == pointer


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_in_pieces_has_the_values_of_its_rounds(name: str, device: sg.Device) -> None:
    loop = LOOPS[name](device)
    for rounds in (6, 22) if device.kind == "gpu" else (6, 12, 21, 80):
        for got, want in zip(loop.step(rounds), loop.step(rounds, lambda h: h.realize()), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_has_the_same_bits_in_pieces_and_as_one_plan(name: str, device: sg.Device) -> None:
    loop = LOOPS[name](device)
    for rounds in (20, 29) if device.kind == "gpu" else (5, 11, 19, 83):
        first = loop.step(rounds)
        for _ in range(UNTIL_PLANNED):
            for got, want in zip(loop.step(rounds), first, strict=True):
                np.testing.assert_array_equal(got, want)
        sg.reset_stats()
        loop.step(rounds)
        assert (sg.stats()["plan_hits"], sg.stats()["plan_misses"]) == (1, 0)


def test_a_loop_longer_than_a_log_is_made_of_the_same_pieces() -> None:
    loop = Lstm(sg.Device.cpu())
    for rounds in (180, 190, 200):
        loop.step(rounds)
    assert misses(lambda: [loop.step(rounds) for rounds in (183, 187, 192, 196)]) <= 2


def test_layers_with_weights_of_their_own_are_no_loop(device: sg.Device) -> None:
    net = sg.nn.Sequential(*[m for _ in range(12) for m in (sg.nn.Linear(4, 4), sg.nn.Tanh())]).to(device)
    x = sg.ones(2, 4, device=device).realize()
    for p in net.parameters():
        p.realize()
    sg.synchronize(device)
    sg.reset_stats()
    net(x).sum().backward()
    sg.synchronize(device)
    assert (sg.stats()["submissions"], sg.stats()["plan_misses"]) == (1, 1)


def test_a_wrong_index_in_a_loop_is_named_with_its_line(device: sg.Device) -> None:
    loop = Tokens(device)
    loop.step(30)
    loop.tokens[9] = 7
    with pytest.raises(IndexError, match=r"embedding.*7.*test_loops.py"):
        loop.step(30)
    loop.tokens[9] = 0
    assert np.isfinite(loop.step(30)[0]).all()


OUT_OF_MEMORY = """
import spirograd as sg
d = "{device}"
m, x, wide = sg.eye(8, device=d).realize(), sg.ones(2, 8, device=d).realize(), sg.ones(1, device=d).expand(64 << 20)
def rounds(n, large):
    h = x
    for t in range(n):
        h = sg.tanh(h @ m + 0.5)
        if large and t == n // 2: kept.add_((h.sum() * wide).cumsum(0)[5] * 0)
    return h
kept = sg.full((3,), 3.0, device=d)
few = rounds(44, False).tolist()
kept.mul_(2)
h = kept
try:  # at the line that finds no memory, or where the value is read
    h = rounds(44, True)
    kept.tolist()
    raise AssertionError("there was memory")
except sg.OutOfMemoryError: pass
assert kept.tolist() == [6.0] * 3
assert few == rounds(44, False).tolist()
assert h is kept or h.tolist() == few
print("kept")
"""


def test_memory_that_runs_out_in_a_loop_costs_what_needed_it(device: sg.Device, run_python: Callable[..., str]) -> None:
    code = OUT_OF_MEMORY.format(device=device.kind)
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(64 << 20)) == "kept\n"


def test_a_loop_that_was_interrupted_goes_on_where_it_stopped() -> None:
    m, x = sg.eye(300).realize(), sg.full((300, 300), 0.5).realize()

    def rounds(all_of_them: list[sg.Tensor]) -> None:
        h = x
        for _ in range(400):
            h = sg.tanh(h @ m)
            all_of_them.append(h)

    kept: list[sg.Tensor] = []
    timer = threading.Timer(0.1, ctrl_c)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            rounds(kept)
    timer.join()
    want: list[sg.Tensor] = []
    rounds(want)
    np.testing.assert_array_equal(kept[-1].numpy(), want[(len(kept) - 1) % len(want)].numpy())
