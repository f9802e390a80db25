"""Two names for one value, of which one is written: the other keeps it. Usual are leaves that get one gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

Write = Callable[[sg.Tensor], object]
Reference = Callable[[np.ndarray], None]


def set_first(g: np.ndarray) -> None:
    g[0] = 7


def clip(g: np.ndarray) -> None:
    np.clip(g, -0.5, 0.5, out=g)


def scaled(by: float) -> Reference:
    def scale(g: np.ndarray) -> None:
        g *= by

    return scale


WRITES: dict[str, tuple[Write, Reference]] = {
    "mul_": (lambda g: g.mul_(2), scaled(2)),
    "zero_": (lambda g: g.zero_(), lambda g: g.fill(0)),
    "set one": (lambda g: g.__setitem__(0, 7.0), set_first),
    "set a part": (lambda g: g[1:].mul_(3), lambda g: scaled(3)(g[1:])),
    "divide": (lambda g: g.__itruediv__(4), scaled(0.25)),
    "clamp_": (lambda g: g.clamp_(-0.5, 0.5), clip),
    "copy_": (lambda g: g.copy_(sg.arange(3.0, device=g.device)), lambda g: np.copyto(g, np.arange(3))),
    "flipped": (lambda g: g.copy_(g.flip(0)), lambda g: np.copyto(g, g[::-1].copy())),
    "nothing": (lambda g: None, lambda g: None),
}


def leaves(count: int, device: sg.Device) -> list[sg.Tensor]:
    made = [sg.full((3,), float(i + 1), device=device).requires_grad_() for i in range(count)]
    total = made[0]
    for other in made[1:]:
        total = total + other
    total.sin().sum().backward()
    return made


@pytest.mark.parametrize("read", [False, True], ids=["pending", "read before"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(WRITES, repeat=2)))
def test_leaves_with_one_gradient_are_written_apart(first: str, second: str, read: bool, device: sg.Device) -> None:
    for order in ([0, 1], [1, 0]):
        made = leaves(2, device)
        if read:
            made[0].grad.tolist()
        want = [np.full(3, np.cos(3.0), np.float32) for _ in made]
        for at, name in zip(order, (first, second), strict=True):
            WRITES[name][0](made[at].grad)
            WRITES[name][1](want[at])
        for leaf, value in zip(made, want, strict=True):
            np.testing.assert_allclose(leaf.grad.numpy(), value, rtol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_any_writes_to_any_of_several_leaves(seed: int, device: sg.Device) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(2, 5))
    made = leaves(count, device)
    want = [np.full(3, np.cos(count * (count + 1) / 2), np.float32) for _ in made]
    grads = [leaf.grad for leaf in made]
    for _ in range(12):
        at, name = int(draw.integers(count)), str(draw.choice(list(WRITES)))
        WRITES[name][0](grads[at])
        WRITES[name][1](want[at])
        if draw.random() < 0.2:
            np.testing.assert_allclose(grads[at].numpy(), want[at], rtol=1e-5)
    for g, value in zip(grads, want, strict=True):
        np.testing.assert_allclose(g.numpy(), value, rtol=1e-5)


def test_a_gradient_that_numpy_sees_is_written_alone() -> None:
    a, b = leaves(2, sg.Device("cpu"))
    seen = a.grad.numpy()
    seen[:] = 5
    assert a.grad.tolist() == [5, 5, 5]
    np.testing.assert_allclose(b.grad.numpy(), np.cos(3.0), rtol=1e-5)
    b.grad.mul_(0)
    assert seen.tolist() == [5, 5, 5] and b.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("layer", [nn.LSTM, nn.RNN, nn.GRU])
def test_both_biases_of_a_recurrent_layer_are_clipped(layer: type[nn.Module], device: sg.Device) -> None:
    net = layer(3, 4).to(device)
    out, _ = net(sg.ones(5, 2, 3, device=device))
    (100 * out).sum().backward()
    before = {name: p.grad.clone() for name, p in net.named_parameters()}
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    for name, p in net.named_parameters():
        np.testing.assert_allclose(p.grad.numpy(), before[name].numpy() / norm.item(), rtol=1e-4, atol=1e-7)


def test_results_of_grad_are_written_apart(device: sg.Device) -> None:
    a, b = (sg.full((3,), v, device=device, requires_grad=True) for v in (1.0, 2.0))
    ga, gb = sg.autograd.grad((a + b).sin().sum(), [a, b])
    ga.mul_(2)
    gb[0] = 7.0
    np.testing.assert_allclose(ga.numpy(), 2 * np.cos(3), rtol=1e-5)
    np.testing.assert_allclose(gb.numpy(), [7, np.cos(3), np.cos(3)], rtol=1e-5)
    u = sg.ones(3, device=device)
    (ga,) = sg.autograd.grad(a + 0, [a], u)
    ga.mul_(5)
    assert u.tolist() == [1, 1, 1] and ga.tolist() == [5, 5, 5]


# ---- .grad is one tensor --------------------------------------------------------------------------------------------
def test_a_second_backward_writes_into_the_same_gradient(device: sg.Device) -> None:
    x = sg.ones(4, device=device, requires_grad=True)
    (x * x).sum().backward()
    g = x.grad
    (3 * x).sum().backward()
    assert g is x.grad and g.tolist() == [5, 5, 5, 5]
    x.grad.zero_()
    assert g.tolist() == [0, 0, 0, 0]
    x.grad = None
    (3 * x).sum().backward()
    assert g is not x.grad and g.tolist() == [0, 0, 0, 0]


def test_gradients_that_are_views_of_one_buffer_fill_it(device: sg.Device) -> None:
    flat = sg.zeros(7, device=device)
    a, b = sg.ones(3, device=device, requires_grad=True), sg.ones(2, 2, device=device, requires_grad=True)
    a.grad, b.grad = flat[:3], flat[3:].view(2, 2)
    for _ in range(2):
        ((2 * a).sum() + (3 * b.t()).sum()).backward()
    assert flat.tolist() == [4, 4, 4, 6, 6, 6, 6]
    flat.zero_()
    assert a.grad.tolist() == [0, 0, 0]


def test_a_gradient_of_numpys_memory_is_written_there() -> None:
    memory = np.zeros(3, np.float32)
    x = sg.ones(3, requires_grad=True)
    x.grad = sg.from_numpy(memory)
    (2 * x).sum().backward()
    assert memory.tolist() == [2, 2, 2]


def test_a_gradient_with_a_graph_is_not_written(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    (x**3).sum().backward(create_graph=True)
    assert g is not x.grad and g.tolist() == [3, 12] and x.grad.tolist() == [6, 24]
    (second,) = sg.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [12, 24]


def test_a_recorded_step_writes_into_the_same_gradient(device: sg.Device) -> None:
    x = sg.ones(3, device=device, requires_grad=True)
    x.grad = sg.zeros(3, device=device)
    g = x.grad

    @sg.compile
    def accumulate(t: sg.Tensor) -> sg.Tensor:
        loss = (x * t).sum()
        loss.backward()
        return loss.detach()

    for i in range(6):
        accumulate(sg.full((3,), float(i + 1), device=device))
    assert x.grad is g and g.tolist() == [21, 21, 21]
