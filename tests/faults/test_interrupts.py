"""Ctrl-C: it ends long work within a second, and what was there before is there afterwards."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import spirograd as sg
from interrupts import ctrl_c

SECOND = 1.0  # what a user waits at most


@contextmanager
def interrupted(after: float = 0.3) -> Iterator[None]:
    """Ctrl-C comes after a while; the body must end with it, and soon."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        ctrl_c()

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        waited = time.perf_counter() - sent[0]
        assert waited < SECOND, f"Ctrl-C took {waited:.2f} s"
    finally:
        timer.cancel()
        timer.join()


def long_chain(x: sg.Tensor, length: int = 200) -> sg.Tensor:
    """One kernel that takes a second or so."""
    for _ in range(length):
        x = x.sin()
    return x


def numbers(*shape: int, dtype: sg.DType = sg.float32) -> sg.Tensor:
    return sg.rand(*shape, dtype=dtype).realize()


def product() -> sg.Tensor:
    a = numbers(2000, 2000, dtype=sg.float64)
    return a @ a


def long_product() -> sg.Tensor:
    return numbers(16, 1 << 21) @ numbers(1 << 21, 16)


def convolution() -> sg.Tensor:
    return sg.nn.functional.conv2d(numbers(8, 64, 64, 64), numbers(128, 64, 5, 5))


def attention() -> sg.Tensor:
    q = numbers(2, 8, 2048, 64)
    return sg.nn.functional.scaled_dot_product_attention(q, q, q)


LONG: dict[str, Callable[[], sg.Tensor]] = {
    "a chain of functions": lambda: long_chain(numbers(1 << 21)),
    "a fold": lambda: long_chain(numbers(1 << 21)).sum(),
    "a product": product,
    "a product of long rows": long_product,
    "a convolution": convolution,
    "attention": attention,
    "a sorted row": lambda: numbers(8_000_000).sort()[0],
    "a scan": lambda: numbers(8_000_000).cumsum(0),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_long_work_on_the_cpu(name: str) -> None:
    with interrupted():
        for _ in range(1000):  # a fast machine does it several times
            LONG[name]().realize()
    assert (sg.ones(3) * 2).tolist() == [2, 2, 2]


# One call each, that is no place for Python to look for Ctrl-C itself, k times as long as the shortest.
ONE_CALL: dict[str, Callable[[int], sg.Tensor]] = {
    "a product": lambda k: (a := numbers(k, 500, 500)) @ a,
    "a convolution": lambda k: sg.nn.functional.conv2d(numbers(k, 64, 32, 32), numbers(128, 64, 5, 5)),
    "attention": lambda k: sg.nn.functional.scaled_dot_product_attention(*[numbers(k, 2, 1024, 64)] * 3),
    "a sorted row": lambda k: numbers(k << 20).sort()[0],
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_ctrl_c_ends_a_call_before_it_is_done(name: str) -> None:
    def seconds(k: int) -> float:
        y, begin = ONE_CALL[name](k), time.perf_counter()
        y.realize()
        return time.perf_counter() - begin

    def ends(k: int) -> bool:
        y = ONE_CALL[name](k)
        with interrupted(0.02):
            y.realize()
            time.sleep(60)
        return len(y.plan()) > 0

    k = next(k for k in (1 << i for i in range(12)) if seconds(k) > 0.2)  # on this machine
    assert any(ends(k) for _ in range(3)), "Ctrl-C was seen after it"


def test_work_that_was_interrupted_can_be_asked_for_again() -> None:
    x = numbers(1 << 20)
    kept = [x]
    with interrupted(0.15):
        for _ in range(100000):
            kept.append(kept[-1].sin() if len(kept) % 200 else x)
    want = x.numpy()
    for _ in range((len(kept) - 1) % 200):
        want = np.sin(want)
    np.testing.assert_allclose(kept[-1].numpy(), want, rtol=1e-4)


def test_parameters_are_those_of_whole_steps() -> None:
    """A step with running statistics at its beginning, long products, and an update at its end."""
    net = sg.nn.Sequential(sg.nn.Linear(400, 400), sg.nn.BatchNorm1d(400), sg.nn.Linear(400, 400))
    optimizer = sg.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x = sg.randn(400, 400)

    start = {name: t.clone().numpy() for name, t in net.state_dict().items()}

    def step() -> None:
        optimizer.zero_grad()
        y = net(x)
        for _ in range(40):
            y = (y @ net[2].weight) * 0.1
        (y * y).mean().backward()
        optimizer.step()

    step()
    with interrupted(0.2):
        for _ in range(1000):
            step()
    steps = int(net[1].num_batches_tracked.item())  # a step that was interrupted is done when somebody looks
    interrupted_net = {name: t.clone().numpy() for name, t in net.state_dict().items()}

    net.load_state_dict({name: sg.tensor(value) for name, value in start.items()})
    optimizer = sg.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        step()
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), interrupted_net[name], err_msg=name)


def test_writes_in_place_are_done_or_not_begun() -> None:
    w = sg.zeros(1 << 20)
    times = 0
    with interrupted(0.2):
        for _ in range(1000):
            w.add_(long_chain(w) * 0 + 1)  # one kernel that reads and writes all of w
            times += 1
            w.realize()
    assert (w.numpy() == times).all(), "all elements were written as often"


def test_a_write_to_shared_memory_is_finished() -> None:
    array = np.zeros(1 << 18, np.float32)
    x = sg.from_numpy(array)
    timer = threading.Timer(0.1, ctrl_c)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            x.add_(long_chain(x, 50) * 0 + 1)
    timer.join()
    assert (array == array[0]).all() and array[0] == x[0].item()


def test_a_handler_of_ones_own_ends_work() -> None:
    class TooLong(Exception):
        pass

    def raise_too_long(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGTERM, raise_too_long)
    timer = threading.Timer(0.1, ctrl_c, (signal.SIGTERM,))
    try:
        timer.start()
        with pytest.raises(TooLong):
            for _ in range(1000):
                long_chain(numbers(1 << 20)).realize()
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)


def test_other_threads_are_not_interrupted() -> None:
    found: list[float] = []
    done = threading.Event()

    def work() -> None:
        found.append(long_chain(numbers(1 << 19)).mul(0).sum().item())
        done.set()

    threading.Thread(target=work).start()
    with interrupted(0.1):
        time.sleep(5)
    done.wait(60)
    assert found == [0.0]
