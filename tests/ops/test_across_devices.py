"""Tensors without dimensions on the CPU go with tensors of a GPU, as in PyTorch; no other tensors do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spirograd as sg

pytestmark = pytest.mark.gpu


def test_a_value_of_the_cpu_goes_where_the_others_are(gpu: sg.Device) -> None:
    x, t = sg.arange(4.0, device=gpu), sg.tensor(2.0)
    for got, want in (
        (x * t, [0.0, 2.0, 4.0, 6.0]),
        (t - x, [2.0, 1.0, 0.0, -1.0]),
        (t**x, [1.0, 2.0, 4.0, 8.0]),
        (sg.where(x > t, x, t), [2.0, 2.0, 2.0, 3.0]),
        (sg.where(x > 1, t, t), [2.0, 2.0, 2.0, 2.0]),
        (x.clamp(min=sg.tensor(1.0), max=t), [1.0, 1.0, 2.0, 2.0]),
        (t + sg.tensor(1.0, device=gpu), 3.0),
    ):
        assert got.device == gpu and got.tolist() == want


def test_it_promotes_as_on_one_device(gpu: sg.Device) -> None:
    exact, whole = sg.tensor(1.5, dtype=sg.float64), sg.tensor(2)
    assert (sg.ones(2, device=gpu) * exact).dtype == sg.float32
    assert (sg.ones(2, device=gpu, dtype=sg.int32) * whole).dtype == sg.int32
    assert (sg.ones(2, device=gpu, dtype=sg.bool) * whole).dtype == sg.int64


def test_its_gradient_comes_back_to_the_cpu(gpu: sg.Device) -> None:
    x = sg.arange(4.0, device=gpu).requires_grad_()
    t = sg.tensor(3.0, requires_grad=True)
    (x * t * t).sum().backward()
    assert t.grad is not None and t.grad.device.kind == "cpu" and t.grad.item() == 36
    assert x.grad is not None and x.grad.device == gpu and x.grad.tolist() == [9.0] * 4


def test_it_is_written_into_tensors_of_the_gpu(gpu: sg.Device) -> None:
    x, t = sg.zeros(2, 2, device=gpu), sg.tensor(3.0)
    x[0] = t
    x[:, 1] += t
    x.mul_(t)
    assert x.tolist() == [[9.0, 18.0], [0.0, 9.0]]
    assert x.copy_(t).tolist() == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    "f",
    [
        lambda on, off: off + on,
        lambda on, off: on + off,
        lambda on, off: off * on[0],
        lambda on, off: sg.where(sg.tensor(True), off, on),
        lambda on, off: off.mul_(on[0]),
        lambda on, off: off[0].add_(on[0]),
        lambda on, off: on.copy_(off[:1] + off),
    ],
)
def test_others_are_refused(f: Callable[[sg.Tensor, sg.Tensor], sg.Tensor], gpu: sg.Device) -> None:
    on, off = sg.ones(2, device=gpu), sg.ones(2)
    with pytest.raises(ValueError, match="inputs are on different devices"):
        f(on, off)
    assert on.tolist() == [1.0, 1.0] and off.tolist() == [1.0, 1.0]


def test_a_recorded_step_refuses_to_read_it(gpu: sg.Device) -> None:
    """The number would stay that of the first call."""
    step = sg.compile(lambda x: x * sg.tensor(2.0))
    with pytest.raises(sg.Error, match="compile: the function reads a value"):
        step(sg.ones(2, device=gpu))
