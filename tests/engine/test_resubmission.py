"""Commands that are recorded once: submitted again for other numbers, tensors and memory, and recorded anew when they
would be wrong."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg

SLOTS = 3  # command buffers of a plan that take turns
WARM = 3 + SLOTS  # calls until each of them is recorded

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpu() -> sg.Device:
    if not sg.Device.is_gpu_available():
        pytest.skip(sg._core._gpu_reason()[0])
    return sg.Device.gpu()


def counted(call: Callable[[], Any]) -> dict[str, int]:
    sg.reset_stats()
    call()
    return sg.stats()


class Net:
    """A small net with dropout, and its step. `width` makes the plan one of its own."""

    def __init__(self, device: sg.Device | str, width: int, compiled: bool = True) -> None:
        sg.manual_seed(0)
        self.device = device
        self.net = sg.nn.Sequential(sg.nn.Linear(6, width), sg.nn.ReLU(), sg.nn.Dropout(0.25), sg.nn.Linear(width, 3))
        self.net.to(device)
        self.opt = sg.optim.Adam(self.net.parameters(), lr=0.01)
        self.step: Any = sg.compile(self._step) if compiled else self._step
        self.random = np.random.default_rng(0)

    def batch(self) -> tuple[sg.Tensor, sg.Tensor]:
        x, y = self.random.normal(size=(8, 6)).astype(np.float32), self.random.integers(0, 3, 8)
        return sg.tensor(x, device=self.device), sg.tensor(y, device=self.device)

    def _step(self, x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        loss = sg.nn.functional.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def bits(self) -> list[bytes]:
        return [p.detach().cpu().numpy().tobytes() for p in self.net.parameters()]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_step_is_recorded_once_and_counts_as_before(gpu: sg.Device, compiled: bool) -> None:
    task = Net(gpu, 11 + compiled, compiled)
    x, y = task.batch()
    task.step(x, y), task.step(x, y)  # optimisers make their states in the first
    first = counted(lambda: task.step(x, y))
    assert first["resubmissions"] == 0
    for _ in range(WARM):
        task.step(x, y)
    for _ in range(2 * SLOTS):
        s = counted(lambda: task.step(x, y))
        assert (s["submissions"], s["resubmissions"]) == (1, 1)
        assert (s["dispatches"], s["barriers"]) == (first["dispatches"], first["barriers"])


def test_rates_random_numbers_and_batches_of_now_are_used(gpu: sg.Device) -> None:
    """More steps than turns, none of them waited for, each with a rate, dropout and a fresh batch of its own."""
    results = []
    for compiled in (False, True):
        task = Net(gpu, 13, compiled)
        losses = []
        sg.reset_stats()
        for i in range(20):
            task.opt.param_groups[0]["lr"] = 0.05 / (i + 1)
            losses.append(task.step(*task.batch()))
        s = sg.stats()
        assert s["submissions"] == 20, "a batch travels with its step"
        assert s["resubmissions"] >= 20 - WARM
        results.append(([loss.item() for loss in losses], task.bits()))
    assert results[0] == results[1]
    assert len(set(results[0][0])) == 20


def test_bits_are_those_of_commands_recorded_each_time(gpu: sg.Device) -> None:
    """A profile puts stamps between the commands, so they are recorded anew; before and after it they are not."""
    results = []
    for profiled in (False, True):
        task = Net(gpu, 14)
        batches = [task.batch() for _ in range(16)]
        losses = [task.step(*batch) for batch in batches[:8]]
        if profiled:
            sg.reset_stats()
            with sg.profiler.profile() as prof:
                losses += [task.step(*batch) for batch in batches[8:12]]
            s = sg.stats()
            kernels = [e for e in prof.events() if e.category == "kernel"]
            assert s["resubmissions"] == 0
            assert len(kernels) == s["dispatches"] > 0
        else:
            losses += [task.step(*batch) for batch in batches[8:12]]
        sg.reset_stats()
        losses += [task.step(*batch) for batch in batches[12:]]
        assert sg.stats()["resubmissions"] == 4
        results.append(([loss.item() for loss in losses], task.bits()))
    assert results[0] == results[1]


PARTS = """
import hashlib
import spirograd as sg
from engine.test_resubmission import Net, SLOTS, WARM
task = Net(sg.Device.gpu(), 17)
batches = [task.batch() for _ in range(WARM + 2 * SLOTS)]
losses = [task.step(*batch) for batch in batches[:WARM]]
sg.reset_stats()
losses += [task.step(*batch) for batch in batches[WARM:]]
s = sg.stats()
print(s["submissions"], s["resubmissions"], s["dispatches"])
print(hashlib.sha256(b"".join(task.bits()) + str([loss.item() for loss in losses]).encode()).hexdigest())
"""


def test_long_plans_in_several_submissions_are_recorded_once_too(gpu: sg.Device) -> None:
    """Where a watchdog ends what takes long; here each kernel is a submission."""
    path = os.pathsep.join(p for p in (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")) if p)
    printed = []
    for cost in ("", "1"):
        variables = os.environ | {"SPIROGRAD_SUBMISSION_COST": cost, "PYTHONPATH": path}
        out = subprocess.run([sys.executable, "-c", PARTS], env=variables, capture_output=True, text=True)
        assert out.returncode == 0, out.stderr
        printed.append(out.stdout.split())
    (whole, again, dispatches, bits), (parts, *others) = printed
    assert (int(whole), int(again)) == (2 * SLOTS, 2 * SLOTS)
    assert int(parts) == int(dispatches) > int(whole)
    assert others == [again, dispatches, bits]


def test_results_that_are_kept_lie_elsewhere_each_time(gpu: sg.Device) -> None:
    f = sg.compile(lambda x: ((x * 2).sum(0), x + 1))
    for i in range(WARM):
        f(sg.full((5, 7), float(i), device=gpu))
    inputs = [sg.full((5, 7), float(i), device=gpu) for i in range(10)]
    sg.synchronize(gpu)
    results: list[Any] = []
    s = counted(lambda: results.extend(f(x) for x in inputs))
    # Each slot may be recorded anew, where two memories lie in one buffer for the first time.
    assert s["resubmissions"] >= 10 - SLOTS
    for i, (folded, more) in enumerate(results):
        assert folded.tolist() == [10.0 * i] * 7
        assert np.all(more.cpu().numpy() == i + 1)


def test_memory_that_was_given_back_and_made_again_is_found(gpu: sg.Device) -> None:
    results = []
    for compiled in (False, True):
        task = Net(gpu, 15, compiled)
        losses = []
        for i in range(12):
            losses.append(task.step(*task.batch()).item())
            if i % 3 == 2:
                gc.collect()
                sg.empty_cache()
        results.append((losses, task.bits()))
    assert results[0] == results[1]


def test_compiled_steps_and_other_work_take_turns(gpu: sg.Device) -> None:
    results = []
    for compiled in (False, True):
        a, b = Net(gpu, 16, compiled), Net(gpu, 17, compiled)
        total = sg.zeros(3, 6, device=gpu)
        losses = []
        for i in range(12):
            x, y = a.batch()
            losses.append(a.step(x, y))
            total = total + a.net[3].weight.detach()[:, :6] * (i + 1)  # reads what the step has written
            if i % 3 == 0:
                total.realize()
            losses.append(b.step(x, y))
            if i % 4 == 3:
                x.mul_(2)  # after both have read it
        sums = [sum(p.detach().sum() for p in t.net.parameters()).item() for t in (a, b)]
        results.append((total.tolist(), [loss.item() for loss in losses], sums, a.bits(), b.bits()))
    assert results[0] == results[1]


def test_an_index_out_of_range_is_reported_by_each_turn(gpu: sg.Device) -> None:
    table = sg.nn.Embedding(5, 9).to(gpu)
    opt = sg.optim.SGD(table.parameters(), lr=0.1)

    @sg.compile
    def step(i: sg.Tensor) -> sg.Tensor:
        opt.zero_grad()
        loss = table(i).square().sum()
        loss.backward()
        opt.step()
        return loss

    good, bad = (sg.tensor(i, device=gpu) for i in ([0, 1, 4, 2], [0, 5, 1, 2]))
    for _ in range(WARM):
        step(good).item()
    for _ in range(2 * SLOTS):
        before = table.weight.detach().cpu().numpy().copy()
        sg.reset_stats()
        with pytest.raises(IndexError, match="index 5 out of range"):
            step(bad).item()
        assert np.array_equal(before, table.weight.detach().cpu().numpy())
        assert step(good).item() > 0
        assert sg.stats()["resubmissions"] == 2
        assert not np.array_equal(before, table.weight.detach().cpu().numpy())


def test_threads_have_their_own_steps(gpu: sg.Device) -> None:
    tasks = [Net(gpu, 18, compiled) for compiled in (False, True, True)]
    errors: list[Exception] = []

    def train(task: Net) -> None:
        try:
            for _ in range(15):
                task.step(*task.batch())
        except Exception as e:
            errors.append(e)

    for task in tasks:
        task.net.eval()  # random numbers of one stream would be dealt to three
    threads = [threading.Thread(target=train, args=(task,)) for task in tasks]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert tasks[0].bits() == tasks[1].bits() == tasks[2].bits()
