"""Second derivatives of functions that are linear in pieces are 0, no error: their gradients depend on x by jumps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn
from spirograd.nn import functional as F

PIECEWISE: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "relu": lambda x: x.relu(),
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "abs": lambda x: x.abs(),
    "first power": lambda x: x**1,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "amax": lambda x: x.amax(1),
    "maximum": lambda x: sg.maximum(x, x.flip(0)),
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[None], 2),
    "norm 1": lambda x: x.norm(1, 1),
    "l1_loss": lambda x: F.l1_loss(x, sg.zeros_like(x)),
}


@pytest.mark.parametrize("name", PIECEWISE)
def test_the_second_derivative_is_zero(name: str, device: sg.Device) -> None:
    x = sg.tensor(np.random.default_rng(0).standard_normal((4, 6)), dtype=sg.float32, device=device, requires_grad=True)
    (g,) = sg.autograd.grad(PIECEWISE[name](x).sum(), x, create_graph=True)
    assert g.requires_grad
    (second,) = sg.autograd.grad(g.sum(), x, retain_graph=True)
    assert second.shape == x.shape and second.abs().max().item() == 0
    g.sum().backward()
    assert x.grad is not None and x.grad.abs().max().item() == 0


@pytest.mark.parametrize("inner", [False, True])
def test_derivatives_of_all_orders_are_zero(inner: bool, device: sg.Device) -> None:
    leaf = sg.tensor([-1.0, 2.0], device=device, requires_grad=True)
    x = leaf * 3 if inner else leaf
    (g,) = sg.autograd.grad(x.relu().sum(), x, create_graph=True)
    for _ in range(3):
        (g,) = sg.autograd.grad(g.sum(), x, create_graph=True)
        assert g.requires_grad and g.tolist() == [0, 0]
    assert sg.autograd.grad(g.sum(), leaf)[0].tolist() == [0, 0]


def test_the_laplacian_of_a_relu_network_is_zero(device: sg.Device) -> None:
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    x = sg.randn(5, 2, device=device, requires_grad=True)
    (g,) = sg.autograd.grad(net(x).sum(), x, create_graph=True)
    for i in range(2):
        (second,) = sg.autograd.grad(g[:, i].sum(), x, retain_graph=True)
        assert second.tolist() == [[0, 0]] * 5
    (g**2).sum().backward()  # a gradient penalty goes on to the weights, and gives biases zeros
    assert [p.grad is not None for p in net.parameters()] == [True, True, True, False]


def test_a_gradient_that_does_not_depend_on_x_has_no_path(device: sg.Device) -> None:
    x = sg.ones(3, device=device, requires_grad=True)
    (g,) = sg.autograd.grad((2 * x).sum(), x, create_graph=True)
    assert not g.requires_grad
    w = sg.ones(3, device=device, requires_grad=True)
    (g,) = sg.autograd.grad((w * x).sum(), x, create_graph=True)
    assert sg.autograd.grad(g.sum(), x, allow_unused=True) == (None,)


def test_zeros_reach_hooks_and_what_is_retained(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device, requires_grad=True)
    y = x * 3
    (g,) = sg.autograd.grad(y.relu().sum(), x, create_graph=True)
    seen = []
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    g.sum().backward()
    assert seen == [[0, 0]] and y.grad is not None and y.grad.tolist() == [0, 0]
    assert x.grad is not None and x.grad.tolist() == [0, 0]


def test_zeros_beside_other_gradients_change_nothing(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device, requires_grad=True)
    (g,) = sg.autograd.grad((x.relu() * x).sum(), x, create_graph=True)
    (second,) = sg.autograd.grad(g.sum(), x)
    assert g.tolist() == [0, 4] and second.tolist() == [0, 2]


OVERWRITES: dict[str, Callable[[sg.Tensor], object]] = {
    "zero_": lambda y: y.zero_(),
    "fill_": lambda y: y.fill_(3.0),
    "copy_": lambda y: y.copy_(sg.ones_like(y)),
    "setitem": lambda y: y.__setitem__(..., 5.0),
    "a view": lambda y: y.view(3).zero_(),
    "normal_": lambda y: y.normal_(),
    "bernoulli_": lambda y: y.bernoulli_(0.5),
}


@pytest.mark.parametrize("name", OVERWRITES)
def test_a_value_that_was_overwritten_has_gradient_zero(name: str, device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    OVERWRITES[name](y)
    assert y.requires_grad
    w = sg.tensor([1.0, 4.0, 9.0], device=device, requires_grad=True)
    gx, gw = sg.autograd.grad((y * w).sum(), [x, w], retain_graph=True)
    assert gx.tolist() == [0, 0, 0] == seen[0] and gw.tolist() == y.tolist()
    (y * w + x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1, 1]


def test_what_was_written_over_a_value_has_its_own_gradient(device: sg.Device) -> None:
    x, w = (sg.tensor([1.0, 2.0], device=device, requires_grad=True) for _ in range(2))
    y = x.sin()
    y.copy_(w * 5)
    y.mul_(2)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0]
    assert w.grad is not None and w.grad.tolist() == [10, 10]
