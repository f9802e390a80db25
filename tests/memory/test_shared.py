"""What several kernels read is stored once it is a sum of many: depth does not make a kernel slower."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

import spirograd as sg


def deep(layers: int, device: sg.Device) -> tuple[list[sg.Tensor], list[int]]:
    """A network whose layers add to what they read: its gradients, and the elements that each kernel of rows moves."""
    random = np.random.default_rng(0)
    x = sg.tensor(random.standard_normal((512, 256), dtype=np.float32), device=device).requires_grad_()
    weights = [
        sg.tensor(random.standard_normal((256, 256), dtype=np.float32) / 16, device=device) for _ in range(layers)
    ]
    sg.synchronize(device)
    with sg.profiler.profile() as profile:
        y = x
        for weight in weights:
            y = y + sg.nn.functional.layer_norm(y, (256,)) @ weight
        loss = sg.nn.functional.layer_norm(y, (256,)).square().sum() * 0.5
        (grad,) = sg.autograd.grad(loss, [x])
        values = [loss.detach(), grad]
        sg.synchronize(device)
    steps = [e for e in profile.events() if e.category in ("step", "kernel")]
    return values, [e.bytes // (4 * x.numel()) for e in steps if "rsqrt" in e.name or "sum" in e.name]


def test_the_kernels_of_a_deep_network_read_no_more_than_those_of_a_shallow_one(device: sg.Device) -> None:
    shallow, far = (max(deep(layers, device)[1]) for layers in (3, 6))
    assert far <= shallow <= 4


def test_what_is_stored_is_what_was_computed_in_place(device: sg.Device) -> None:
    x = sg.tensor(np.random.default_rng(1).standard_normal((64, 4096), dtype=np.float32), device=device)
    parts = [x * (0.1 * i) for i in range(6)]
    for part in parts:
        part.realize()
    total = list(itertools.accumulate(parts, lambda a, b: a + b))[-1]
    readers: tuple[Callable[[sg.Tensor], sg.Tensor], ...] = (
        lambda t: t.abs().sum(0), lambda t: t.abs().sum(1), lambda t: t.amax(0), lambda t: t.t().contiguous(),
    )  # fmt: skip
    found = [f(total) for f in readers]
    whole = sg.tensor(total.numpy(), device=device)
    for value, f in zip(found, readers, strict=True):
        np.testing.assert_array_equal(value.numpy(), f(whole).numpy())
