"""gradcheck and gradgradcheck: what they accept, and what they find."""

from __future__ import annotations

from typing import Any

import pytest

import spirograd as sg
from spirograd.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def x64(*values: float) -> sg.Tensor:
    return sg.tensor(list(values), dtype=sg.float64, requires_grad=True)


class Wrong(Function):
    """Its gradient is off by a factor; that of its gradient is right."""

    @staticmethod
    def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
        (x,) = ctx.saved_tensors
        return g * x * 2.1


class WrongTwice(Wrong):
    """Its gradient is right, but not differentiable."""

    @staticmethod
    def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
        (x,) = ctx.saved_tensors
        return g * x.detach() * 2


def test_several_inputs_and_outputs_and_other_arguments() -> None:
    def f(a: sg.Tensor, n: int, b: sg.Tensor, words: str) -> Any:
        return a * b * n, (a > 0), b.exp().sum(), words

    inputs = (x64(0.5, 1.5), 3, sg.tensor([2.0, 3.0], dtype=sg.float64), "x")
    assert gradcheck(f, inputs) and gradgradcheck(f, inputs)
    assert gradcheck(lambda x: x.reshape(0, 2), x64())


def test_mistakes_are_found() -> None:
    x = x64(0.5, 1.5)
    with pytest.raises(GradcheckError, match=r"output 0 by input 0 differs from finite differences by up to 0.15"):
        gradcheck(Wrong.apply, x)
    assert issubclass(GradcheckError, RuntimeError)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    assert not gradcheck(Wrong.apply, x, raise_exception=False, fast_mode=True)
    assert gradcheck(Wrong.apply, x, rtol=0.1)
    assert gradcheck(WrongTwice.apply, x)
    assert not gradgradcheck(WrongTwice.apply, x, raise_exception=False)
    assert not gradcheck(lambda v: v.detach() * 2, x, raise_exception=False)


def test_given_weights() -> None:
    assert gradgradcheck(lambda v: v * v, x64(0.5, 1.5), x64(1.0, -2.0))


def test_fast_mode_takes_float32(device: sg.Device) -> None:
    x = sg.tensor([0.5, 1.5, -1.0], device=device, requires_grad=True)
    assert gradcheck(lambda v: v.tanh() * v, x, eps=1e-2, atol=1e-3, rtol=1e-2, fast_mode=True)
    with pytest.raises(TypeError, match="input 0 is float32"):
        gradcheck(sg.tanh, x)
    with pytest.raises(ValueError, match="no input requires grad"):
        gradcheck(sg.tanh, sg.ones(2))


def test_passes_that_differ_are_found() -> None:
    class Random(Wrong):
        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
            (x,) = ctx.saved_tensors
            return g * x * 2 * (1 + 1e-8 * sg.rand(1).double())

    with pytest.raises(GradcheckError, match="changes from pass to pass"):
        gradcheck(Random.apply, x64(0.5))
    assert gradcheck(Random.apply, x64(0.5), nondet_tol=1e-6)
