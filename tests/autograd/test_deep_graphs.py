"""Graphs of tensors that are deep, wide or odd: walked and freed without recursion, in linear time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg

Run = Callable[..., str]

CHAIN = """
import sys, threading
if sys.platform != 'win32':
    import resource
    resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, 512 << 10))
import spirograd as sg

def work():
    x = sg.ones(1, requires_grad=True)
    y = x
    for _ in range({count}):
        y = y + x
    y.backward()
    print(x.grad.item() == {count} + 1)
    del y
    y = x
    for _ in range({count}):
        y = y * 1.0
    del y  # freed as it was built, never run
    print("freed")

threading.stack_size(512 << 10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_chain_of_tensors_on_a_small_stack(run_python: Run) -> None:
    assert run_python(CHAIN.format(count=100_000), timeout=300).split() == ["True", "freed"]


@pytest.mark.slow
def test_a_chain_of_two_million_tensors_on_a_small_stack(run_python: Run) -> None:
    """A tensor's node takes 900 bytes, so that ten million would need 9 GB; those of Values are smaller."""
    assert run_python(CHAIN.format(count=2_000_000), timeout=600).split() == ["True", "freed"]


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def test_fan_in_is_linear() -> None:
    def used(times: int) -> None:
        x = sg.ones(1, requires_grad=True)
        h = x * 1.0
        total = h
        for _ in range(times):
            total = total + h
        total.backward()
        assert x.grad is not None and x.grad.item() == times + 1

    used(10_000)
    few, many = (min(seconds(lambda n=n: used(n)) for _ in range(2)) for n in (20_000, 80_000))  # type: ignore[misc]
    assert many < 4 * few * 3, f"{few:.3f} s for 20,000 uses, {many:.3f} s for 80,000"


def test_diamonds_are_walked_once() -> None:
    """2^60 paths."""
    x = sg.tensor([1.0], dtype=sg.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y * 0.5 + y * 0.5
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0


@pytest.mark.parametrize(("kind", "count"), [("cpu", 300), pytest.param("gpu", 20, marks=pytest.mark.gpu)])
def test_many_inputs_are_what_they_are_one_by_one(kind: str, count: int) -> None:
    """A software driver takes a minute to compile the kernel of 300."""
    rng = np.random.default_rng(0)
    inputs = [sg.tensor(rng.standard_normal(37).astype(np.float32), device=kind) for _ in range(count)]

    def total() -> sg.Tensor:
        y = inputs[0]
        for i, x in enumerate(inputs[1:]):
            y = y * 0.5 + x * (1.0 + i)
        return y

    fused = total().numpy().copy()
    os.environ["SPIROGRAD_FUSE"] = "0"
    try:
        apart = total().numpy().copy()
    finally:
        del os.environ["SPIROGRAD_FUSE"]
    np.testing.assert_array_equal(fused, apart)


def test_a_hundred_thousand_operations_before_anybody_looks() -> None:
    count = 100_000
    x = sg.zeros(16)
    y = x
    for _ in range(count):
        y = y + 1.0
    assert y.tolist() == [count] * 16


def test_a_tensor_may_be_dropped_while_it_is_read(device: sg.Device) -> None:
    kept = []
    for i in range(50):
        x = sg.full((1 << 14,), float(i), device=device)
        y = x * 2
        sg._core._submit([[y]])
        del x  # the kernel may still read it; its memory serves again below
        z = sg.full((1 << 14,), -1.0 - i, device=device)
        sg._core._submit([[z]])
        kept.append((y, z))
    for i, (y, z) in enumerate(kept):
        assert y[-1].item() == 2 * i and z[0].item() == -1 - i
