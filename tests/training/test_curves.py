"""Networks learn as in PyTorch: the same weights, batches and optimiser give the same losses, step by step.

PyTorch's losses in float64 are in tests/golden/curves.json, so that they are compared where it is not installed, too,
and in curves_bfloat16.json how far its losses under autocast are from those in float32, for five seeds;
`python tests/training/test_curves.py` with PyTorch writes both.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from models import networks

GOLDEN = Path(__file__).parents[1] / "golden" / "curves.json"
GOLDEN_BFLOAT16 = GOLDEN.with_name("curves_bfloat16.json")
STEPS, SEEDS = 20, 5

NETWORKS: dict[str, tuple[networks.Network, Callable[[Any, Any], Any]]] = {
    "mlp": (networks.mlp(20, 32, 16, 5, batch=8), lambda t, p: t.optim.Adam(p, lr=1e-2)),
    "cnn": (
        networks.cnn(4, 8, side=8, batch=8, hidden=16),
        lambda t, p: t.optim.SGD(p, lr=5e-2, momentum=0.9, nesterov=True),
    ),
    "lstm": (networks.lstm(17, 12, 2, time=6, batch=4), lambda t, p: t.optim.RMSprop(p, lr=1e-2)),
    "gpt": (networks.gpt(17, 2, 2, 16, time=8, batch=3), lambda t, p: t.optim.AdamW(p, lr=1e-2, weight_decay=0.1)),
}
EACH = pytest.mark.parametrize("name", NETWORKS)


def start(name: str, shape: tuple[int, ...], random: Any) -> npt.NDArray[np.float64]:
    """Values of a parameter: small where it is a matrix, about 1 where it scales, about 0 where it is added."""
    values = random.standard_normal(shape)
    if len(shape) > 1:
        return np.asarray(values / np.sqrt(values[0].size))
    return np.asarray(0.1 * values + name.endswith("weight"))


def curve(
    t: Any, name: str, device: Any, dtype: str, steps: int = STEPS, under: Any = None, seed: int = 0
) -> list[float]:
    """The loss of each step, with either library; `under`: a context for each forward pass."""
    network, optimizer_of = NETWORKS[name]
    random = np.random.default_rng(seed)
    net = network.build(t).to(device=device, dtype=getattr(t, dtype))
    with t.no_grad():
        for key, parameter in net.named_parameters():
            parameter.copy_(t.tensor(start(key, tuple(parameter.shape), random), dtype=parameter.dtype, device=device))
    optimizer = optimizer_of(t, net.parameters())
    losses = []
    for _ in range(steps):
        x, y = (t.tensor(values, device=device) for values in network.batch(random))
        x = x.to(dtype=getattr(t, dtype)) if x.is_floating_point() else x
        with under or contextlib.nullcontext():
            loss = network.loss(t, net, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()))
    return losses


def furthest(losses: list[float], others: list[float]) -> float:
    """The greatest relative distance."""
    assert len(losses) == len(others) and np.isfinite(losses).all()
    return float(np.max(np.abs(np.subtract(losses, others)) / np.abs(others)))


def bfloat16_distances(t: Any, name: str, device: Any, kind: str) -> list[float]:
    """For each of five seeds, how far losses under autocast are from those in float32, in the same library."""
    under = t.autocast(kind, dtype=t.bfloat16)
    return [
        furthest(curve(t, name, device, "float32", under=under, seed=n), curve(t, name, device, "float32", seed=n))
        for n in range(SEEDS)
    ]


@functools.cache
def golden() -> dict[str, list[float]]:
    return dict(json.loads(GOLDEN.read_text()))


@EACH
def test_float32_follows_pytorch(device: sg.Device, name: str) -> None:
    assert furthest(curve(sg, name, device, "float32"), golden()[name]) < 1e-4


@EACH
def test_float64_follows_pytorch(name: str) -> None:
    assert furthest(curve(sg, name, "cpu", "float64"), golden()[name]) < 1e-9


@EACH
@pytest.mark.gpu
def test_the_gpu_follows_the_cpu(name: str) -> None:
    assert furthest(curve(sg, name, "gpu", "float32"), curve(sg, name, "cpu", "float32")) < 1e-4


# About twice the distance of eight steps; what was rounded drifts further apart with every step.
FROM_FLOAT32 = {
    "bfloat16": {"mlp": 0.01, "cnn": 0.02, "lstm": 0.001, "gpt": 0.006},
    "float16": {"mlp": 0.001, "cnn": 0.02, "lstm": 0.0003, "gpt": 0.0015},
}


def half_curve_is_close(name: str, device: sg.Device, half: str) -> bool:
    losses = curve(sg, name, device, "float32", 8, sg.autocast(device.kind, getattr(sg, half)))
    return 1e-6 < furthest(losses, golden()[name][:8]) < FROM_FLOAT32[half][name]


@EACH
@pytest.mark.parametrize("half", FROM_FLOAT32)
def test_half_types_follow_float32(name: str, half: str) -> None:
    assert half_curve_is_close(name, sg.Device.cpu(), half)


# A software driver compiles for many seconds.
@pytest.mark.gpu
@pytest.mark.parametrize("half", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["mlp", "gpt", *(pytest.param(n, marks=pytest.mark.slow) for n in ("cnn", "lstm"))])
def test_half_types_follow_float32_on_a_gpu(gpu: sg.Device, name: str, half: str) -> None:
    assert half_curve_is_close(name, gpu, half)


def assert_as_far_as_in_pytorch(name: str, device: sg.Device) -> None:
    ours, theirs = bfloat16_distances(sg, name, device, device.kind), json.loads(GOLDEN_BFLOAT16.read_text())[name]
    assert min(theirs) <= np.median(ours) <= max(theirs), (ours, theirs)
    assert max(ours) <= 2 * max(theirs), (ours, theirs)


@EACH
def test_bfloat16_curves_lie_in_the_spread_of_pytorch(name: str) -> None:
    assert_as_far_as_in_pytorch(name, sg.Device.cpu())


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["mlp", "gpt", *(pytest.param(n, marks=pytest.mark.slow) for n in ("cnn", "lstm"))])
def test_bfloat16_curves_lie_in_the_spread_of_pytorch_on_a_gpu(gpu: sg.Device, name: str) -> None:
    assert_as_far_as_in_pytorch(name, gpu)


@EACH
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-4), ("float64", 1e-9)])
def test_pytorch_on_this_machine_agrees(name: str, dtype: str, most: float) -> None:
    torch = pytest.importorskip("torch")
    theirs = curve(torch, name, "cpu", dtype)
    assert furthest(curve(sg, name, "cpu", dtype), theirs) < most
    assert furthest(golden()[name], theirs) < most


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_a_hundred_steps_stay_close(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert furthest(curve(sg, name, "cpu", "float32", 100), curve(torch, name, "cpu", "float32", 100)) < 1e-3


@EACH
def test_another_rate_is_another_curve(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(NETWORKS, name, (NETWORKS[name][0], lambda t, p: t.optim.SGD(p, lr=0.02)))
    assert furthest(curve(sg, name, "cpu", "float64"), golden()[name]) > 1e-4


@EACH
def test_a_step_costs_what_it_must(device: sg.Device, name: str) -> None:
    network, optimizer_of = NETWORKS[name]
    net = network.build(sg).to(device)
    optimizer = optimizer_of(sg, net.parameters())
    x, y = (sg.tensor(values, device=device) for values in network.batch(np.random.default_rng(0)))
    for _ in range(3):
        network.step(sg, net, optimizer, x, y)
    sg.synchronize(device)
    sg.reset_stats()
    network.step(sg, net, optimizer, x, y)
    sg.synchronize(device)
    s = sg.stats()
    assert s["submissions"] == 1
    names = ("plan_misses", "allocations", "kernels_compiled", "fallbacks", "bytes_read")
    assert {n: s[n] for n in names} == dict.fromkeys(names, 0)


if __name__ == "__main__":
    import torch

    GOLDEN.write_text(json.dumps({name: curve(torch, name, "cpu", "float64") for name in NETWORKS}, indent=1) + "\n")
    distances = {name: bfloat16_distances(torch, name, "cpu", "cpu") for name in NETWORKS}
    GOLDEN_BFLOAT16.write_text(json.dumps(distances, indent=1) + "\n")
