"""What a training step costs: submissions, dispatches, allocations, plans. Counts, never times."""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from process_memory import resident
from spirograd import _core

STEPS = int(os.environ.get("SPIROGRAD_TEST_STEPS", "500"))  # 10000 at night


def reads(device: sg.Device, count: int = 1) -> int:
    """Submissions that fetch bytes: a GPU copies them to memory that the host sees."""
    return count if device.kind == "gpu" else 0


class Mlp:
    """784-512-256-10 with Adam and a batch of 64."""

    def __init__(self, device: sg.Device, sizes: tuple[int, ...] = (784, 512, 256, 10), batch: int = 64) -> None:
        random = np.random.default_rng(0)
        layers: list[sg.nn.Module] = []
        for i, (a, b) in enumerate(itertools.pairwise(sizes)):
            layers += [sg.nn.Linear(a, b)] + ([sg.nn.ReLU()] if i + 2 < len(sizes) else [])
        self.net = sg.nn.Sequential(*layers).to(device)
        self.opt = sg.optim.Adam(self.net.parameters(), lr=1e-3)
        self.x = sg.tensor(random.uniform(0, 1, (batch, sizes[0])).astype(np.float32), device=device)
        self.y = sg.tensor(random.integers(0, sizes[-1], batch), device=device)

    def step(self) -> sg.Tensor:
        loss = sg.nn.functional.cross_entropy(self.net(self.x), self.y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


@pytest.mark.gpu
def test_watching_how_long_a_gpu_computes_changes_no_count(gpu: sg.Device) -> None:
    mlp = Mlp(gpu, (64, 32, 10), 16)

    def counts() -> tuple[dict[str, int], int, int]:
        """Of three steps: what is counted, the nanoseconds of the GPU, and those of the clock."""
        sg.reset_stats()
        start, before = time.perf_counter_ns(), _core._busy_nanoseconds(gpu)
        for _ in range(3):
            mlp.step()
        mlp.step().item()
        mlp.step().item()  # counts what was submitted before
        wall = time.perf_counter_ns() - start
        return sg.stats(), _core._busy_nanoseconds(gpu) - before, wall

    for _ in range(3):
        counts()
    plain, unwatched, _ = counts()
    _core._watch_busy(True)
    try:
        first, _, _ = counts()
        seen, busy, wall = counts()
    finally:
        _core._watch_busy(False)
    assert plain == first == seen and unwatched == 0
    assert 0 < busy <= wall
    assert _core._busy_nanoseconds("cpu") == 0


def test_an_mlp_step(device: sg.Device) -> None:
    mlp = Mlp(device)
    first = mlp.step().item()
    mlp.step()
    sg.synchronize(device)
    for _ in range(3):
        sg.reset_stats()
        mlp.step()
        s = sg.stats()
        assert s["submissions"] == 1
        assert s["dispatches"] <= 16
        assert s["allocations"] == 0
        assert (s["plan_hits"], s["plan_misses"]) == (1, 0)
        assert s["kernels_compiled"] == 0
        assert s["fallbacks"] == 0
        assert s["bytes_read"] == 0
    for _ in range(10):
        last = mlp.step()
    assert last.item() < first


def test_reading_the_loss_reads_four_bytes(device: sg.Device) -> None:
    mlp = Mlp(device)
    for _ in range(3):
        mlp.step().item()
    sg.reset_stats()
    mlp.step().item()
    s = sg.stats()
    assert (s["submissions"], s["bytes_read"], s["allocations"]) == (1 + reads(device), 4, 0)


def test_softmax_is_one_dispatch(device: sg.Device) -> None:
    x = sg.tensor(np.random.default_rng(0).normal(size=(64, 1000)).astype(np.float32), device=device)
    for _ in range(2):
        sg.reset_stats()
        x.softmax(1).numpy()
    s = sg.stats()
    assert (s["submissions"], s["dispatches"]) == (1 + reads(device), 1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_with_one_gradient_in_common_are_a_kernel_each(device: sg.Device, name: str) -> None:
    g = sg.randn(8, 100, device=device)
    xs = [sg.randn(8, 100, device=device).requires_grad_() for _ in range(4)]
    sg.synchronize(device)
    with sg.profiler.profile() as profile:
        kept = []
        for x in xs:
            y = getattr(x, name)(1)
            kept.append((y.detach(), sg.autograd.grad(y, [x], g)))
        sg.synchronize(device)
    moved = [e.bytes for e in profile.events() if e.category in ("kernel", "step")]
    assert moved == [4 * 8 * 100 * 4] * 4  # x, g, y and the gradient of x


def test_a_chain_of_a_thousand_ops_is_one_dispatch(device: sg.Device) -> None:
    x = sg.tensor(np.linspace(-1, 1, 1000, dtype=np.float32), device=device)
    count = 100 if device.type == "software" else 1000  # a software driver compiles 1000 for more than a minute
    sg.synchronize(device)
    sg.reset_stats()
    y = x
    for i in range(count):
        y = y * 0.5 if i % 2 else y + 1.0
    got = y.numpy()
    s = sg.stats()
    assert (s["submissions"], s["dispatches"]) == (1 + reads(device), 1)
    want = np.linspace(-1, 1, 1000, dtype=np.float32)
    for i in range(count):
        want = want * np.float32(0.5) if i % 2 else want + np.float32(1)
    np.testing.assert_array_equal(got, want)


def test_many_steps_keep_memory_flat(device: sg.Device) -> None:
    mlp = Mlp(device, sizes=(64, 128, 10), batch=32)
    for _ in range(50):
        loss = mlp.step()  # held while the next one is made, as below
        loss.item()
    del loss
    sg.synchronize(device)
    gc.collect()
    sg.reset_stats()
    before, live = resident(), sg.stats()["bytes_live"]
    for i in range(STEPS):
        loss = mlp.step()
        if i % 100 == 99:
            loss.item()
    del loss
    sg.synchronize(device)
    gc.collect()
    s = sg.stats()
    assert s["allocations"] == 0
    assert s["plan_misses"] == 0
    assert s["submissions"] == STEPS + reads(device, STEPS // 100)
    assert s["bytes_live"] == live
    assert s["bytes_peak"] <= live + (1 << 20)
    assert resident() - before < (8 << 20), "the process grows"


def test_counters_start_again(device: sg.Device) -> None:
    (sg.ones(4, device=device) + 1).numpy()
    sg.reset_stats()
    s = sg.stats()
    kept = {"bytes_live", "bytes_cached", "bytes_peak"}
    kept |= {"plans_kept", "plan_bytes", "kernels_kept", "kernel_bytes"}
    assert all(v == 0 for k, v in s.items() if k not in kept), s
    assert s["bytes_peak"] == s["bytes_live"]


def kernels() -> tuple[int, int]:
    s = sg.stats()
    return s["kernels_kept"], s["kernel_bytes"]


KEPT = """
import spirograd as sg
from process_memory import resident
from spirograd import _core

def kept(run):
    run()
    return sg.stats()["kernels_kept"], sg.stats()["kernel_bytes"]

cubes = lambda: (sg.ones(5, device="{device}") * 3 + 7).exp().pow(3).numpy()
before, made = kept(lambda: None), kept(cubes)
assert made[0] == before[0] + 1 and made[1] > before[1], (before, made)
assert kept(cubes) == made
print("kept")
"""


def test_kernels_that_are_kept(device: sg.Device, run_python: Callable[..., str]) -> None:
    assert run_python(KEPT.format(device=device.kind)) == "kept\n"  # alone: no plan must make room


def test_kernels_of_the_cpu_go_with_their_plans() -> None:
    def count(n: int) -> None:
        (sg.arange(n) + 1).numpy()

    for n in range(300):  # more than the plans that are kept
        count(n + 1)
    full = kernels()
    for n in range(300, 320):
        count(n + 1)
    assert kernels() == full


@pytest.mark.gpu
def test_the_driver_sees_what_is_counted() -> None:
    device = sg.Device.gpu()
    sg._core._count_vulkan_calls(True)  # from before the commands are recorded that are submitted again
    try:
        mlp = Mlp(device, batch=37)  # a plan that no other test has run
        for _ in range(8):
            mlp.step().item()
        sg.synchronize(device)
        sg._core._count_vulkan_calls(True)
        sg.reset_stats()
        for _ in range(5):
            mlp.step()
        calls, s = sg._core._vulkan_calls(), sg.stats()
    finally:
        sg._core._count_vulkan_calls(False)
    assert calls["submits"] == s["submissions"] == s["resubmissions"] == 5
    assert s["dispatches"] > 5
    assert calls["dispatches"] == s["dispatches"]
    assert calls["barriers"] == s["barriers"]
    assert calls["memory_allocations"] == s["allocations"] == 0


@pytest.mark.parametrize("before", range(8189, 8193))
def test_a_full_log_is_not_cut_between_an_index_and_its_reader(before: int) -> None:
    x, index = sg.arange(4), sg.tensor([2, 0, 3])
    sg.synchronize()
    kept = [x + 1 for _ in range(before)]
    with sg.profiler.profile() as prof:
        y = sg.gather(x, 0, index)
        assert y.tolist() == [2, 0, 3]
    names = [e.name for e in prof.events() if e.category == "step"]
    assert any("gather_take_rows" in name for name in names), f"{names[:3]} after {len(kept)} ops"
