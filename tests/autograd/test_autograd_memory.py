"""What gradients keep in memory, and checkpoints, which keep less."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.utils.checkpoint import checkpoint, checkpoint_sequential

N = 1000
BYTES = 4 * N


def saved(x: sg.Tensor) -> int:
    return sg._core._saved_bytes(x)


def leaf(*shape: int) -> sg.Tensor:
    return sg.ones(*(shape or (N,)), requires_grad=True)


def constant(*shape: int) -> sg.Tensor:
    return sg.ones(*(shape or (N,)))


def mlp(x: sg.Tensor) -> sg.Tensor:
    """Layers of 32 to 16 to 8, on 10 rows."""
    w1, b1, w2, b2 = leaf(32, 16), leaf(16), leaf(16, 8), leaf(8)
    return ((x @ w1 + b1).relu() @ w2 + b2).sum()


GRAPHS: dict[str, tuple[Callable[[], sg.Tensor], int]] = {
    "sums need nothing": (lambda: (leaf() + leaf() - 3.0).sum(), 0),
    "factors that are numbers need nothing": (lambda: (leaf() * 2.0 / 3.0).sum(), 0),
    "a product with a constant keeps the constant": (lambda: (leaf() * constant()).sum(), BYTES),
    "a product of leaves keeps nothing that they do not": (lambda: (leaf() * leaf()).sum(), 0),
    "tanh, exp, sigmoid and sqrt keep their results": (lambda: leaf().tanh().exp().sigmoid().sqrt().sum(), 4 * BYTES),
    "views and sums between keep nothing": (lambda: (leaf().exp().reshape(10, -1).T[2:] + 1).sum(), BYTES),
    "a power by a number keeps its base": (lambda: ((leaf() + 1) ** 3.0).sum(), BYTES),
    "a quotient by a constant keeps the constant": (lambda: (leaf().exp() / constant()).sum(), 2 * BYTES),
    "a value kept twice counts once": (lambda: (lambda h: (h * h * h.exp()).sum())(leaf() + 1), 3 * BYTES),
    "a perceptron keeps its input and its activations": (lambda: mlp(constant(10, 32)), 4 * (10 * 32 + 10 * 16)),
    "a frozen weight needs no input": (lambda: ((leaf(10, 20) + 1) @ constant(20, 30)).sum(), 4 * 20 * 30),
    "a write in place keeps nothing": (lambda: (leaf() * 1.0).mul_(2.0).add_(leaf()).sum(), 0),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_saved_bytes(name: str) -> None:
    build, want = GRAPHS[name]
    y = build()
    assert saved(y) == want
    y.backward()
    assert saved(y) == 0


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def block(x: sg.Tensor) -> sg.Tensor:
    return (x.exp() * x.tanh()).sigmoid() * x


def test_a_checkpoint_keeps_less_and_gives_the_same(device: sg.Device) -> None:
    values = np.random.default_rng(0).uniform(-1, 1, 100).astype(np.float32)
    found, kept = [], []
    for wrap in (lambda f, x: f(x), checkpoint):
        x = sg.tensor(values, device=device, requires_grad=True)
        y = wrap(block, wrap(block, x * 1.0)).sum()
        kept.append(saved(y))
        y.backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    assert kept[0] >= 8 * 400 and kept[1] == 0


def test_a_checkpoint_saves_memory_of_the_device(device: sg.Device) -> None:
    n = 1 << 16

    def live(wrap: Callable[..., Any]) -> int:
        x = sg.ones(n, device=device, requires_grad=True)
        sg.synchronize(device)
        before = sg.stats()["bytes_live"]
        h = x
        for _ in range(4):
            h = wrap(block, h)
        loss = h.sum()
        loss.item()
        used = sg.stats()["bytes_live"] - before
        loss.backward()
        x.grad.numpy()
        return used

    plain, less = live(lambda f, x: f(x)), live(checkpoint)
    assert plain >= 4 * 4 * (4 * n)
    assert less <= 6 * (4 * n)


def test_parameters_and_random_numbers_in_a_checkpoint() -> None:
    w = sg.tensor([1.0, 2.0], requires_grad=True)
    drawn = []

    def noisy(x: sg.Tensor, scale: float, shift: float = 0.0) -> sg.Tensor:
        noise = sg.rand(2)
        drawn.append(noise.tolist())
        return (x * w * noise * scale + shift).exp()

    x = sg.tensor([0.5, 0.25], requires_grad=True)
    y = checkpoint(noisy, x, 2.0, shift=1.0)
    after = sg.rand(2).tolist()
    (gw,) = sg.autograd.grad(y.sum(), w)
    assert len(drawn) == 2 and drawn[0] == drawn[1]
    np.testing.assert_allclose(gw.numpy(), (y.detach() * x.detach() * 2).numpy() * drawn[0], rtol=1e-5)
    sg.manual_seed(0)
    sg.rand(2)
    assert sg.rand(2).tolist() == after


def test_a_checkpoint_has_gradients_of_any_order() -> None:
    def run(wrap: Callable[..., Any]) -> list[Any]:
        x = sg.tensor([0.5, 1.0], dtype=sg.float64, requires_grad=True)
        y = wrap(block, x).sum()
        out = []
        for _ in range(3):
            (y,) = sg.autograd.grad(y, x, create_graph=True)
            out.append(y.tolist())
            y = y.sum()
        return out

    np.testing.assert_allclose(run(checkpoint), run(lambda f, x: f(x)), rtol=1e-9)


def test_a_checkpoint_runs_again_once_and_only_when_needed() -> None:
    calls = []

    def f(x: sg.Tensor) -> sg.Tensor:
        calls.append(1)
        return x.exp().tanh()

    x = sg.ones(3, requires_grad=True)
    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 2
    with pytest.raises(sg.Error, match="freed"):
        y.backward()
    with sg.no_grad():
        checkpoint(f, x)
    assert len(calls) == 3


def test_checkpoints_nest() -> None:
    x = sg.tensor([0.5, 1.0], requires_grad=True)
    y = checkpoint(lambda v: checkpoint(block, v.exp()).tanh(), x)
    (got,) = sg.autograd.grad(y.sum(), x)
    (want,) = sg.autograd.grad(block(x.exp()).tanh().sum(), x)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)


def test_checkpoints_that_go_wrong_say_so() -> None:
    x = sg.ones(3, requires_grad=True)
    count = []

    def changes(v: sg.Tensor) -> sg.Tensor:
        count.append(1)
        return v.exp() if len(count) == 1 else v.exp().tanh()

    with pytest.raises(sg.Error, match="saved 1 values at first and 2 when it was run again"):
        checkpoint(changes, x).sum().backward()
    h = x * 1.0
    y = checkpoint(block, h)
    h.add_(1.0)
    with pytest.raises(sg.Error, match=rf"an argument was overwritten in place at {re.escape(__file__)}:\d+"):
        y.sum().backward()
    with pytest.raises(ZeroDivisionError):
        bad = [1, 0]
        checkpoint(lambda v: v.exp() * (1 // bad.pop(0)), x).sum().backward()


def test_checkpoint_sequential() -> None:
    steps = [sg.nn.Linear(4, 4), sg.nn.Tanh(), sg.nn.Linear(4, 4), sg.nn.Tanh(), sg.nn.Linear(4, 1)]
    net = sg.nn.Sequential(*steps)
    x = sg.randn(3, 4)
    net(x).sum().backward()
    want = [p.grad.numpy() for p in net.parameters()]
    for p in net.parameters():
        p.grad = None
    checkpoint_sequential(net, 2, x, use_reentrant=False).sum().backward()
    for p, g in zip(net.parameters(), want, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="6 segments of 5 functions"):
        checkpoint_sequential(steps, 6, x)
