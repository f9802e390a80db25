"""Gradients of float16 and bfloat16: formulas are computed in float32, and their results are rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg

F = sg.nn.functional
# What keeps its inputs for the gradient: a kept output would be rounded itself.
OF_ONE: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "log1p": lambda x: sg.log1p(x.abs()),
    "atan": sg.atan,
    "cube": lambda x: x**3,
    "relu": F.relu,
}
OF_TWO: dict[str, Callable[[sg.Tensor, sg.Tensor], sg.Tensor]] = {
    "mul": sg.mul,
    "div": lambda x, y: x / y.detach(),
    "atan2": sg.atan2,
    "where": lambda x, y: sg.where(x > y, x, y),
}
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def inputs(dtype: str, count: int, device: sg.Device) -> list[sg.Tensor]:
    random = np.random.default_rng(5)
    return [sg.tensor(random.normal(size=501), device=device).to(getattr(sg, dtype)) for _ in range(count)]


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_a_gradient_of_halves_is_rounded_once(name: str, dtype: str, device: sg.Device) -> None:
    of = OF_ONE.get(name) or OF_TWO[name]
    count = 1 if name in OF_ONE else 2
    g, *xs = inputs(dtype, count + 1, device)
    half = sg.autograd.grad(of(*(x := [t.clone().requires_grad_() for t in xs])), x, g, allow_unused=True)
    wide = [t.cpu().double().requires_grad_() for t in xs]
    exact = sg.autograd.grad(of(*wide), wide, g.cpu().double(), allow_unused=True)
    for got, want in zip(half, exact, strict=True):
        if got is None:
            continue
        assert got.dtype == getattr(sg, dtype)
        error = np.abs(got.cpu().double().numpy() - want.numpy())
        assert (error <= 1.05 * UNIT[dtype] * np.abs(want.numpy()) + 2.0**-24).all()


def test_what_is_handed_on_stays_as_it_is(device: sg.Device) -> None:
    x, y = (t.requires_grad_() for t in inputs("bfloat16", 2, device))
    g = inputs("bfloat16", 1, device)[0]
    sg.synchronize()
    a, b = sg.autograd.grad(x + y, [x, y], g)
    assert a.plan() == b.plan() == []
    np.testing.assert_array_equal(a.float().cpu().numpy(), g.float().cpu().numpy())
