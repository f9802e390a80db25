"""Operations with a gradient of one's own."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.autograd import Function, gradcheck, gradgradcheck
from spirograd.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
        assert not sg.is_grad_enabled()
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(x: sg.Tensor) -> sg.Tensor:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: sg.Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
        return g * ctx.saved_tensors[0]


class Both(Function):
    """Two outputs, an argument that is no tensor, and one that is not always wanted."""

    @staticmethod
    def forward(ctx: Any, a: sg.Tensor, factor: float, b: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        ctx.save_for_backward(a, b)
        ctx.factor = factor
        return a * b * factor, a + b

    @staticmethod
    def backward(ctx: Any, gm: sg.Tensor, gs: sg.Tensor) -> Any:
        a, b = ctx.saved_tensors
        ga = gm * b * ctx.factor + gs if ctx.needs_input_grad[0] else None
        gb = gm * a * ctx.factor + gs if ctx.needs_input_grad[2] else None
        return ga, None, gb


def x64(*values: float) -> sg.Tensor:
    return sg.tensor(list(values), dtype=sg.float64, requires_grad=True)


def test_gradients_of_any_order(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    for function, derivatives in ((Cube, [12, 12, 6]), (Exp, [np.exp(2)] * 3)):
        y = function.apply(x)[1]
        for want in derivatives:
            (g,) = sg.autograd.grad(y, x, create_graph=True)
            assert g[1].item() == pytest.approx(want, rel=1e-6)
            y = g[1]


def test_gradcheck_of_functions() -> None:
    x, y = x64(0.5, 1.5), x64(2.0, -1.0)
    for function in (Cube, Exp):
        assert gradcheck(function.apply, x) and gradgradcheck(function.apply, x)
    assert gradcheck(Both.apply, (x, 2.5, y)) and gradgradcheck(Both.apply, (x, 2.5, y))


def test_names_and_outputs() -> None:
    x, y = x64(1.0), x64(2.0)
    m, s = Both.apply(x, 2.0, y)
    assert m.grad_fn.name() == s.grad_fn.name() == "BothBackward"
    assert [fn.name() for fn, _ in m.grad_fn.next_functions] == ["AccumulateGrad"] * 2
    s.sum().backward()  # the other output counts as 0
    assert x.grad.tolist() == y.grad.tolist() == [1]


def test_needs_input_grad() -> None:
    x, y = x64(3.0), sg.tensor([2.0], dtype=sg.float64)
    seen = []

    class Look(Both):
        @staticmethod
        def backward(ctx: Any, gm: sg.Tensor, gs: sg.Tensor) -> Any:
            seen.append(ctx.needs_input_grad)
            return Both.backward(ctx, gm, gs)

    m, s = Look.apply(x, 2.0, y)
    (m + s).sum().backward()
    assert seen == [(True, False, False)] and x.grad.tolist() == [5]


def test_without_gradients_nothing_is_recorded() -> None:
    assert not Cube.apply(sg.ones(2)).requires_grad
    with sg.no_grad():
        assert not Cube.apply(x64(1.0)).requires_grad


def test_an_output_that_is_an_input() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
            return g * 7

    x = x64(1.0)
    y = Scale.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [7]


def test_mark_dirty() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
            return g * 2

    x = x64(3.0)
    y = x * 1
    z = Double.apply(y)
    assert z is y and y.tolist() == [6]
    (z * z).sum().backward()
    assert x.grad.tolist() == [24]
    with pytest.raises(sg.Error, match="leaf that requires grad"):
        Double.apply(x64(1.0))


def test_outputs_without_a_gradient() -> None:
    class Sort(Function):
        @staticmethod
        def forward(ctx: Any, x: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor, sg.Tensor]:
            sign, count = x.relu(), sg.tensor([1, 2])
            ctx.mark_non_differentiable(sign)
            return x * 2, sign, count

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor, *others: Any) -> sg.Tensor:
            assert others == (None, None)
            return g * 2

    x = x64(1.0, -1.0)
    y, sign, count = Sort.apply(x)
    assert y.requires_grad and not sign.requires_grad and count.tolist() == [1, 2]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_gradients_that_are_not_materialized() -> None:
    seen = []

    class Look(Both):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.set_materialize_grads(False)
            return Both.forward(ctx, *args)

        @staticmethod
        def backward(ctx: Any, gm: Any, gs: Any) -> Any:
            seen.append((gm is None, gs is None))
            return gs, None, gs

    x, y = x64(1.0), x64(2.0)
    Look.apply(x, 1.0, y)[1].sum().backward()
    assert seen == [(True, False)]


def test_once_differentiable() -> None:
    class Once(Cube):
        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
            assert not sg.is_grad_enabled()
            return Cube.backward(ctx, g)

    x = x64(2.0)
    (g,) = sg.autograd.grad(Once.apply(x).sum() * 1, x)
    assert g.tolist() == [12]
    w = x64(1.0)
    (g,) = sg.autograd.grad((Once.apply(x) * w).sum(), x, create_graph=True)
    with pytest.raises(sg.Error, match="once_differentiable"):
        g.sum().backward()


def test_saved_tensors_have_an_end_and_a_version() -> None:
    x = x64(2.0)
    y = Cube.apply(x)
    y.sum().backward()
    with pytest.raises(sg.Error, match=r"saved by Cube were freed.*retain_graph"):
        y.sum().backward()
    h = x * 1
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(sg.Error, match=rf"Cube saved was overwritten in place at {re.escape(__file__)}:\d+"):
        y.sum().backward()


def test_wrong_functions_are_explained() -> None:
    class Wrong(Function):
        result: Any = None

        @staticmethod
        def forward(ctx: Any, x: sg.Tensor, n: int) -> sg.Tensor:
            return x * n

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> Any:
            return Wrong.result

    x = x64(1.0, 2.0)
    for result, kind, words in (
        ((sg.ones(2), None, sg.ones(2)), sg.Error, "3 gradients for 2 arguments"),
        (sg.ones(2), sg.Error, "1 gradients for 2 arguments"),
        ((sg.ones(2), sg.ones(2)), sg.Error, "argument 1, which is not a tensor"),
        ((1.0, None), TypeError, "gradient 0 is a float"),
        ((sg.ones(3), None), sg.Error, r"gradient 0 has shape \[3\], the argument \[2\]"),
    ):
        Wrong.result = result
        with pytest.raises(kind, match=words):
            Wrong.apply(x, 3).sum().backward()
    Wrong.result = (None, None, None)
    Wrong.apply(x, 3).sum().backward()
    with pytest.raises(TypeError, match="keep it as an attribute"):
        Saver.apply(x)


class Saver(Function):
    @staticmethod
    def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
        ctx.save_for_backward(3)
        return x


def test_a_function_that_saves_its_output_is_freed() -> None:
    x = x64(1.0, 2.0)
    y = Exp.apply(x)
    gone = weakref.ref(y)
    live = sg._core._saved_bytes(y)
    del y
    gc.collect()
    assert gone() is None and live == 0


def test_agrees_with_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def run(lib: Any) -> list[Any]:
        class Mix(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                ctx.save_for_backward(a, b)
                return a * b, (a * a).sum()

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                a, b = ctx.saved_tensors
                return g * b + 2 * a * h, (g * a).sum()

        a = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        b = lib.tensor(3.0, dtype=lib.float64, requires_grad=True)
        p, q = Mix.apply(a, b)
        ga, gb = lib.autograd.grad((p * p).sum() * q, [a, b], create_graph=True)
        ha, hb = lib.autograd.grad(ga.sum() * gb, [a, b])
        return [ga.tolist(), gb.tolist(), ha.tolist(), hb.tolist()]

    for ours, theirs in zip(run(sg), run(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
