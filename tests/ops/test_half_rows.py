"""Softmax, norms and cross-entropy of float16 and bfloat16: rows are folded in float32, results rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

F = sg.nn.functional
Array = npt.NDArray[np.float64]
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # half the distance of two neighbours at 1
ROWS, COLUMNS = 24, 320
Function = Callable[[sg.Tensor, sg.Tensor, sg.Tensor, sg.Tensor], sg.Tensor]

# Of x, a weight and a bias of a row's length, and classes.
FUNCTIONS: dict[str, Function] = {
    "softmax": lambda x, w, b, t: F.softmax(x, 1),
    "log_softmax": lambda x, w, b, t: F.log_softmax(x, 1),
    "layer_norm": lambda x, w, b, t: F.layer_norm(x, (COLUMNS,), w, b),
    "rms_norm": lambda x, w, b, t: F.rms_norm(x, (COLUMNS,), w, eps=1e-6),
    "cross_entropy": lambda x, w, b, t: F.cross_entropy(x, t),
    "cross_entropy of rows": lambda x, w, b, t: F.cross_entropy(x, t, weight=w, reduction="none"),
    "cross_entropy, smoothed": lambda x, w, b, t: F.cross_entropy(x, t, label_smoothing=0.1),
    "nll_loss": lambda x, w, b, t: F.nll_loss(x, t),
}
# Launches, and tensors of x's size that they read and write: forward alone, and with backward in one run. The norms'
# second launch adds up gradients of weights over the rows; layer_norm leaves it what it has normalised, in float32.
COSTS = {
    "softmax": ((1, 2), (1, 4)),
    "log_softmax": ((1, 2), (1, 4)),
    "layer_norm": ((1, 2), (2, 9)),
    "rms_norm": ((1, 2), (2, 6)),
}


def made(dtype: str, device: sg.Device) -> list[sg.Tensor]:
    """x, weight, bias and the gradient of a result of x's shape, in a half type, and classes."""
    rng = np.random.default_rng(3)
    arrays = [3 * rng.normal(size=(ROWS, COLUMNS)), rng.uniform(0.5, 2, COLUMNS), rng.normal(size=COLUMNS)]
    arrays.append(rng.normal(size=(ROWS, COLUMNS)))
    tensors = [sg.tensor(a.astype(np.float32), device=device).to(getattr(sg, dtype)) for a in arrays]
    return [*tensors, sg.tensor(rng.integers(0, COLUMNS, ROWS), device=device)]


def results(f: Function, inputs: list[sg.Tensor]) -> list[sg.Tensor]:
    """The result and its gradients by x, weight and bias, of those that it depends on."""
    x, w, b = (t.detach().requires_grad_() for t in inputs[:3])
    y = f(x, w, b, inputs[4])
    y.backward(inputs[3].reshape(-1)[: y.numel()].reshape(y.shape))
    return [y.detach(), *(t.grad for t in (x, w, b) if t.grad is not None)]


def exact(x: sg.Tensor) -> Array:
    return np.asarray(x.cpu().double().numpy())


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_rounded_once(name: str, dtype: str, device: sg.Device) -> None:
    inputs = made(dtype, device)
    doubles = [t.double().cpu() if t.is_floating_point() else t.cpu() for t in inputs]
    want, got = results(FUNCTIONS[name], doubles), results(FUNCTIONS[name], inputs)
    assert len(want) == len(got)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == inputs[0].dtype
        right = exact(b)
        room = UNIT[dtype] * np.abs(right) + 2.0**-19 * np.abs(right).max() + 2.0**-25
        error = np.abs(exact(a) - right)
        assert (error <= room).all(), f"{error.max()} at {np.unravel_index(np.argmax(error - room), right.shape)}"


def spent(run: Callable[[], Any]) -> tuple[int, int]:
    """Launches, and bytes that they read and write."""
    sg.synchronize()
    with sg.profiler.profile() as profile:
        kept = run()
        sg.synchronize()
    del kept
    kernels = [e for e in profile.events() if e.category == "kernel"]
    return len(kernels), sum(e.bytes for e in kernels)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("name", COSTS)
def test_launches_and_bytes(name: str, dtype: str, gpu: sg.Device) -> None:
    inputs = made(dtype, gpu)
    for (launches, tensors), run in zip(
        COSTS[name],
        (lambda: FUNCTIONS[name](*inputs[:3], inputs[4]), lambda: results(FUNCTIONS[name], inputs)),
        strict=True,
    ):
        count, total = spent(run)
        assert count == launches
        assert total <= 1.1 * tensors * ROWS * COLUMNS * 2


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", UNIT)
def test_cross_entropy_reads_its_rows_once_and_writes_their_gradient(dtype: str, gpu: sg.Device) -> None:
    x, t = made(dtype, gpu)[0].requires_grad_(), made(dtype, gpu)[4]

    def run() -> Any:
        loss = F.cross_entropy(x, t)
        loss.backward()
        return loss, x.grad

    _, total = spent(run)
    assert total <= 1.1 * 2 * ROWS * COLUMNS * 2
