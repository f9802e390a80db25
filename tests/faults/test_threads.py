"""Several threads on the same tensors: nothing is lost, nothing is torn, nobody waits for ever."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads, runs_meanwhile

THREADS, TIMES = 4, 500


def iadd(x: sg.Tensor) -> None:
    x += 1


def masked(x: sg.Tensor) -> None:
    x[x >= 0] += 1  # two steps: the sum, and a write of it that loses nothing itself


WRITES: dict[str, Callable[[sg.Tensor], object]] = {
    "add_": lambda x: x.add_(1),
    "+=": iadd,
    "sub_": lambda x: x.sub_(-1),
    "add_ of a view": lambda x: x.view(-1).add_(1),
    "add_ of a tensor": lambda x: x.add_(sg.ones(3, device=x.device)),
    "clamp_ and add_": lambda x: x.clamp_(0).add_(1),
    "index_add_": lambda x: x.index_add_(0, sg.arange(3, device=x.device), sg.ones(3, device=x.device)),
}


@pytest.mark.parametrize("name", WRITES)
def test_no_write_in_place_is_lost(name: str, device: sg.Device) -> None:
    if device.kind == "gpu" and name != "add_":
        pytest.skip("the same on both: what differs is recorded on the host")
    x = sg.zeros(3, device=device)
    times = 25 if "index" in name else TIMES // 5 if device.kind == "gpu" else TIMES

    def work(_: int) -> None:
        for _ in range(times):
            WRITES[name](x)

    run_threads(work, THREADS)
    assert x.tolist() == [THREADS * times] * 3


def test_no_write_to_shared_memory_is_lost() -> None:
    array = np.zeros(3, np.float32)
    x = sg.from_numpy(array)

    def work(_: int) -> None:
        for _ in range(TIMES):
            x.add_(1)

    run_threads(work, THREADS)
    assert x.tolist() == array.tolist() == [THREADS * TIMES] * 3
    array[:] = 7
    assert x.tolist() == [7, 7, 7], "array and tensor are one"


def test_no_write_is_lost_while_others_read() -> None:
    x = sg.zeros(1 << 12)
    seen: list[float] = []

    def work(number: int) -> None:
        for _ in range(100):
            if number == 0:
                values = x.clone().numpy()  # x.numpy() itself is memory that writes go to
                assert (values == values[0]).all(), "a reader sees all of a write or nothing"
                seen.append(float(values[0]))
            else:
                x.add_(1)

    run_threads(work, THREADS)
    assert x[0].item() == 300
    assert seen == sorted(seen)


def test_writes_in_place_keep_the_gradient_of_each() -> None:
    w = sg.ones((), requires_grad=True)
    y = w * 0.0

    def work(_: int) -> None:
        for _ in range(50):
            y.add_(w)

    run_threads(work, THREADS)
    y.backward()
    assert w.grad is not None and (y.item(), w.grad.item()) == (200, 200)


def test_steps_of_several_optimisers_on_one_parameter_add_up() -> None:
    w = sg.zeros(8, requires_grad=True)
    w.grad = sg.ones(8)

    def work(_: int) -> None:
        optimizer = sg.optim.SGD([w], lr=1.0)
        for _ in range(50):
            optimizer.step()

    run_threads(work, THREADS)
    assert w.tolist() == [-200.0] * 8


def test_a_write_that_cannot_be_done_raises_in_its_thread() -> None:
    x = sg.zeros(3)

    def work(number: int) -> None:
        for _ in range(100):
            if number:
                x.add_(1)
            else:
                with pytest.raises(ValueError, match="shape"):
                    x.add_(sg.ones(2, 3))

    run_threads(work, THREADS)
    assert x.tolist() == [300] * 3


def test_many_threads_go_back_to_one_leaf() -> None:
    """So often that two are there at once also where one processor has most of the turns."""
    x = sg.ones(10, requires_grad=True)

    def work(_: int) -> None:
        loss = (x * 2.0).sum()
        for _ in range(3000):
            loss.backward(retain_graph=True)

    run_threads(work, 16)
    assert x.grad is not None and x.grad.tolist() == [16 * 3000 * 2] * 10


def test_backward_inside_of_hooks_in_threads() -> None:
    x = sg.ones(10, requires_grad=True)

    def work(_: int) -> None:
        for _ in range(25):
            y = x * 1.0

            def inner(g: sg.Tensor) -> sg.Tensor:
                z = g.detach().clone().requires_grad_()
                with sg.enable_grad():
                    (z * z).sum().backward()
                assert z.grad is not None
                return z.grad  # 2 g

            y.register_hook(inner)
            y.sum().backward()

    run_threads(work, 8)
    assert x.grad is not None and x.grad.tolist() == [8 * 25 * 2] * 10


def test_an_error_of_a_hook_leaves_no_lock_behind() -> None:
    x = sg.ones(3, requires_grad=True)
    y = (x * 2).exp()
    handle = y.register_hook(lambda g: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            y.sum().backward(retain_graph=True)
        assert x.grad is None, "nothing was collected"
    handle.remove()
    run_threads(lambda _: (sg.ones(3) * 2).tolist(), 2)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * np.ones(3)), rtol=1e-6)


def test_a_collection_of_python_in_the_middle_of_everything() -> None:
    import gc

    x = sg.ones(100, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(40):
            if number == 0:
                gc.collect()
                continue
            y = x * 2
            y.register_hook(lambda g, y=y: g * y.detach())
            y.sum().backward()

    run_threads(work, 4)
    assert x.grad is not None and x.grad.tolist() == [3 * 40 * 4.0] * 100


@contextmanager
def computing_long(calls_before: int | None = None) -> Iterator[tuple[sg.Tensor, threading.Event]]:
    """What another thread computes from here on, and whether it has. With `calls_before`, by a compiled function."""
    big = sg.rand(2400, 2400).realize()
    values = [big]
    begun, done = threading.Event(), threading.Event()
    squared = sg.compile(lambda x: x @ x) if calls_before is not None else lambda x: x @ x
    for _ in range(calls_before or 0):
        squared(big).realize()

    def compute() -> None:
        if calls_before is not None:
            begun.set()
        values[0] = squared(big)
        begun.set()
        values[0].realize()
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    begun.wait()
    time.sleep(0.01)  # it is in the engine now
    yield values[0], done
    thread.join()


def test_nobody_waits_with_the_gil() -> None:
    """While one thread computes for long, one that waits for its value lets Python run."""

    def attempt() -> bool:
        with computing_long() as (value, _):
            return runs_meanwhile(lambda: value.add(1))

    assert any(attempt() for _ in range(5)), "on a busy machine, the first may have come too late"


@pytest.mark.parametrize("calls_before", [None, 0, 3], ids=["plain", "recorded", "replayed"])
def test_a_thread_that_computes_keeps_no_other_from_working(calls_before: int | None) -> None:
    interval = sys.getswitchinterval()

    def attempt() -> bool:
        ready, longest, reads = sg.ones(4).realize(), 0.0, 0
        with computing_long(calls_before) as (_, done):
            begin = time.perf_counter()
            while not done.is_set():
                before = time.perf_counter()
                assert (ready + reads).tolist() == [1.0 + reads] * 4
                assert ready.tolist() == [1.0] * 4
                longest, reads = max(longest, time.perf_counter() - before), reads + 1
            return reads > 10 and longest < (time.perf_counter() - begin) / 3

    sys.setswitchinterval(1e-4)  # so that the other thread says soon that it is done
    try:
        assert any(attempt() for _ in range(5)), "a read waited for most of the time"
    finally:
        sys.setswitchinterval(interval)


def test_what_a_replay_writes_is_seen_as_a_whole() -> None:
    turns, size = 100, 1 << 15
    w, total = sg.zeros(size), sg.zeros(size)

    @sg.compile
    def step(by: sg.Tensor) -> sg.Tensor:
        w.add_(by)
        total.add_(w * 2)
        return total.sum()

    def work(number: int) -> None:
        if number == 0:
            for _ in range(turns):
                step(sg.ones(1))
            return
        for _ in range(turns):
            seen = (w if number == 1 else w + 0).tolist()
            assert seen == seen[:1] * size, "half of a step"

    for _ in range(3):
        step(sg.ones(1))
    run_threads(work, 3)
    steps = turns + 3
    assert w.tolist() == [float(steps)] * size and total[0].item() == steps * (steps + 1)


@pytest.mark.gpu
def test_a_thread_that_compiles_keeps_no_other_from_reading(gpu: sg.Device, run_python: Callable[..., str]) -> None:
    out = run_python(
        "import threading, spirograd as sg\n"
        "ready, x = (sg.rand(n, device='gpu').realize() for n in (4, 37))\n"
        "ready.tolist()\n"
        "reads, begun, done = 0, threading.Event(), threading.Event()\n"
        "def compute():\n"
        "    sums = [(x[k:] * k).sin().sum() + k for k in range(20)]\n"
        "    powers = [(x.exp() ** k).cumsum(0)[k] for k in range(20)]\n"
        "    y = sum(sums) + sum(powers)\n"
        "    begun.set()\n"
        "    y.realize()\n"
        "    done.set()\n"
        "thread = threading.Thread(target=compute)\n"
        "thread.start()\n"
        "begun.wait()\n"
        "while not done.is_set():\n"
        "    ready.tolist()\n"
        "    reads += 1\n"
        "thread.join()\n"
        "print(reads, sg.stats()['kernels_compiled'])",
        SPIROGRAD_CACHE="0",
    )
    reads, compiled = map(int, out.split())
    assert compiled >= 5
    assert reads > 100, "one or two, if they waited"


def test_threads_that_run_one_plan_at_once_each_get_their_own() -> None:
    weight = sg.rand(128, 128) - 0.5
    first = sg.rand(32, 128)
    wanted = [((first * k) @ weight).relu() @ weight for k in range(4)]
    answers = [w.tolist() for w in wanted]

    def work(number: int) -> None:
        for _ in range(30):
            y = ((first * number) @ weight).relu() @ weight
            assert y.tolist() == answers[number]

    run_threads(work, 4)


def test_failures_of_runs_at_once_are_each_their_own() -> None:
    table = sg.arange(64.0).reshape(8, 8)

    def work(number: int) -> None:
        for turn in range(60):
            bad = number == 1 and turn % 3 == 0
            rows = table[sg.tensor([0, 9 if bad else 7])]
            if bad:
                with pytest.raises(IndexError, match="index 9 out of range"):
                    rows.tolist()
            else:
                assert rows[1, 0].item() == 56.0

    run_threads(work, 4)
