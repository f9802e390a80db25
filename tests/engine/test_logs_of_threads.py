"""Each thread records into a log of its own; what one thread recorded and another uses is run first."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """What is counted from here to the end of the block."""
    found: dict[str, int] = {}
    before = sg.stats()
    yield found
    found.update({name: now - before[name] for name, now in sg.stats().items() if isinstance(now, int)})


def in_turns(*programs: Callable[[], Iterator[None]]) -> None:
    """Runs each program in a thread of its own, one step of one, then one step of the next."""
    ended = object()
    open_ = [(ThreadPoolExecutor(1), program()) for program in programs]
    while open_:
        for thread, steps in list(open_):
            if thread.submit(next, steps, ended).result() is ended:
                thread.shutdown()
                open_.remove((thread, steps))


def test_threads_that_take_turns_share_plans(device: sg.Device) -> None:
    weight = sg.rand(16, 16, device=device)
    answers: list[list[float]] = []

    def infer(turns: int, steps: int) -> Iterator[None]:
        for _ in range(turns):
            y = sg.ones(4, 16, device=device)
            for _ in range(steps):
                y = sg.tanh(y @ weight)
                yield
            answers.append(y.sum(1).tolist())

    in_turns(lambda: infer(2, 3))  # plans are made
    with counted() as c:
        in_turns(lambda: infer(5, 3), lambda: infer(7, 3))
    assert c["plan_misses"] == 0 and c["plan_hits"] >= 12
    assert all(answer == answers[0] for answer in answers) and len(answers) == 14


def test_a_read_does_not_run_what_another_thread_recorded(device: sg.Device) -> None:
    x = sg.ones(8, device=device).realize()
    other = []

    def record() -> Iterator[None]:
        other.append(x.exp() + 1)
        yield
        yield

    def read() -> Iterator[None]:
        with counted() as c:
            assert (x * 2).tolist() == [2.0] * 8
        assert c["dispatches"] == 1
        yield

    in_turns(record, read)
    with counted() as c:
        np.testing.assert_allclose(other[0].numpy(), np.exp(1) + 1, rtol=1e-6)
    assert c["dispatches"] == 1


def test_what_another_thread_recorded_may_be_used_before_it_ran(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device)
    made: list[sg.Tensor] = []

    def make() -> Iterator[None]:
        y = x * 2
        y[1:3] += 10
        made.append(y)
        yield
        made.append(y.view(2, 3).t())
        yield

    def use() -> Iterator[None]:
        z = made[0] + 1
        yield
        made[0].mul_(3)
        made.append(made[1].sum(0))
        assert z.tolist() == [1.0, 13.0, 15.0, 7.0, 9.0, 11.0]
        yield

    in_turns(make, use)
    assert made[0].tolist() == [0.0, 36.0, 42.0, 18.0, 24.0, 30.0]
    assert made[2].tolist() == [78.0, 72.0]


def test_a_write_leaves_alone_what_another_thread_is_about_to_read(device: sg.Device) -> None:
    x = sg.zeros(1000, device=device).realize()
    seen: list[sg.Tensor] = []

    def read() -> Iterator[None]:
        seen.append(x + 1)
        yield
        assert seen[0].sum().item() == 1000
        yield

    def write() -> Iterator[None]:
        x.add_(5)
        assert x[0].item() == 5
        yield

    in_turns(read, write)


def test_a_replay_leaves_alone_what_another_thread_is_about_to_read(device: sg.Device) -> None:
    x = sg.zeros(100, device=device).realize()

    @sg.compile
    def step() -> sg.Tensor:
        x.add_(1)
        return x.sum()

    values = [step().item() for _ in range(3)]
    seen: list[sg.Tensor] = []

    def read() -> Iterator[None]:
        seen.append(x * 2)
        yield
        assert seen[0].tolist() == [6.0] * 100
        yield

    def replay() -> Iterator[None]:
        values.append(step().item())
        yield

    in_turns(read, replay)
    assert values == [100.0, 200.0, 300.0, 400.0]


@pytest.mark.parametrize("reads", [True, False])
def test_what_a_thread_that_ended_left_is_there(device: sg.Device, reads: bool) -> None:
    x = sg.arange(4.0, device=device)
    left: dict[str, sg.Tensor] = {}

    def work() -> None:
        left["y"] = (x + 1).square()
        x.mul_(2)
        if reads:
            left["y"][0].item()

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert x.tolist() == [0.0, 8.0, 16.0, 24.0]
    assert left["y"].tolist() == [1.0, 25.0, 81.0, 169.0]


def test_logs_of_threads_that_ended_are_used_again(device: sg.Device) -> None:
    left: list[sg.Tensor] = []

    def work() -> None:
        x = sg.tensor(np.ones(100_000, np.float32), device=device)  # nothing is run
        left[:] = [x * 2]  # is dropped by the next thread, and keeps x until its log is run

    def live_after(threads: int) -> int:
        for _ in range(threads):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        gc.collect()
        return sg.stats()["bytes_live"]

    before = live_after(3)
    assert live_after(40) <= before + 10 * 400_000


def test_an_error_is_raised_in_the_thread_that_made_it(device: sg.Device) -> None:
    x = sg.arange(5.0, device=device)
    index = sg.tensor([9], device=device)
    shared: dict[str, sg.Tensor] = {}

    def guilty() -> Iterator[None]:
        shared["bad"] = x[index]
        shared["good"] = x * 2
        x.add_(shared["bad"].sum() * 0)
        yield
        with pytest.raises(IndexError, match="index 9 out of range"):
            sg.synchronize(device)
        yield

    def innocent() -> Iterator[None]:
        assert shared["good"].tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
        assert (x + 1).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        yield

    in_turns(guilty, innocent)


def test_threads_that_train_one_model_in_turns_lose_no_step(device: sg.Device) -> None:
    def trained(threads: int) -> list[float]:
        sg.manual_seed(1)
        model = nn.Linear(8, 1).to(device)
        optimizer = sg.optim.Adam(model.parameters(), lr=0.05)
        x = sg.ones(4, 8, device=device)
        lock = threading.Lock()

        def steps(count: int) -> Iterator[None]:
            for _ in range(count):
                with lock:
                    optimizer.zero_grad()
                    loss = (model(x) - 1).square().mean()
                    loss.backward()
                    optimizer.step()
                yield

        in_turns(*[lambda: steps(12 // threads)] * threads)
        return [*model.weight.flatten().tolist(), *model.bias.tolist()]

    assert trained(3) == trained(1)


def test_memory_seen_from_outside_is_complete(device: sg.Device) -> None:
    if device.kind == "gpu":
        pytest.skip("NumPy sees memory of the CPU")
    x = sg.zeros(3)
    view = x.numpy()
    seen: list[list[float]] = []

    def write() -> Iterator[None]:
        x.add_(1)
        seen.append(view.tolist())
        yield
        seen.append(view.tolist())
        yield

    def write_too() -> Iterator[None]:
        x.add_(1)
        seen.append(view.tolist())
        yield

    in_turns(write, write_too)
    assert seen == [[1.0] * 3, [2.0] * 3, [2.0] * 3]
