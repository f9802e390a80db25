"""Padding that continues an image: any number of dimensions, one kernel each way, gradients of every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.autograd import gradcheck, gradgradcheck

HOW: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
MODES = pytest.mark.parametrize("mode", HOW)
CASES = [
    ((3, 7), (6, 0)),
    ((2, 3, 5), (0, 4)),
    ((2, 3, 5, 6), (4, 5, 3, 4)),
    ((2, 3, 5, 6), (0, 0, 2, 1)),
    ((2, 4, 3, 5), (1, 0, 0, 2, 3, 1)),
    ((3, 4, 2, 3, 4), (1, 2, 2, 1, 1, 0, 3, 1, 0, 2)),
]


def pairs(widths: tuple[int, ...], rank: int) -> list[tuple[int, int]]:
    known = [widths[i : i + 2] for i in range(0, len(widths), 2)][::-1]
    return [(0, 0)] * (rank - len(known)) + [(a, b) for a, b in known]


@MODES
@pytest.mark.parametrize(("shape", "widths"), CASES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_values_are_those_of_numpy(
    mode: str, shape: tuple[int, ...], widths: tuple[int, ...], dtype: str, device: sg.Device
) -> None:
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    y = sg.pad(sg.tensor(x, device=device), widths, mode)
    np.testing.assert_array_equal(y.numpy(), np.pad(x, pairs(widths, x.ndim), HOW[mode]))


@MODES
@pytest.mark.parametrize(("shape", "widths"), CASES)
def test_a_gradient_is_the_sum_of_the_copies(
    mode: str, shape: tuple[int, ...], widths: tuple[int, ...], device: sg.Device
) -> None:
    numbers = np.arange(np.prod(shape)).reshape(shape)
    copied = np.pad(numbers, pairs(widths, len(shape)), HOW[mode])
    g = np.random.default_rng(1).normal(size=copied.shape)
    want = np.zeros(numbers.size)
    np.add.at(want, copied.ravel(), g.ravel())
    for dtype, bound in (("float64", 1e-12), ("float32", 1e-5)):
        x = sg.zeros(*shape, device=device, dtype=dtype, requires_grad=True)
        sg.pad(x, widths, mode).backward(sg.tensor(g.astype(dtype), device=device))
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy().ravel(), want, rtol=bound, atol=10 * bound)


@MODES
def test_gradients_of_any_order(mode: str, device: sg.Device) -> None:
    x = sg.tensor(np.random.default_rng(2).normal(size=(2, 3, 4)), device=device, requires_grad=True)
    padded = lambda t: sg.pad(t, (2, 1, 1, 2), mode)  # noqa: E731
    assert gradcheck(padded, x)
    assert gradgradcheck(lambda t: padded(t) ** 2, x)


@pytest.mark.gpu
@MODES
def test_both_devices_add_in_one_order(mode: str, gpu: sg.Device) -> None:
    x, g = (np.random.default_rng(i).normal(size=s).astype("float32") for i, s in enumerate([(3, 9, 8), (3, 18, 20)]))
    grads = []
    for device in (sg.device("cpu"), gpu):
        t = sg.tensor(x, device=device, requires_grad=True)
        sg.pad(t, (6, 6, 2, 7), mode).backward(sg.tensor(g, device=device))
        assert t.grad is not None
        grads.append(t.grad.numpy())
    np.testing.assert_array_equal(*grads)


@MODES
def test_all_dimensions_are_one_kernel_each_way(mode: str, device: sg.Device) -> None:
    x = sg.rand(2, 3, 4, 5, 6, device=device, requires_grad=True)
    sg.synchronize()
    y = sg.pad(x, (1, 2, 2, 1, 3, 1), mode)
    assert [step.name for step in y.plan()] == ["border"]
    y.backward(sg.ones_like(y))
    assert x.grad is not None
    assert [step.name for step in x.grad.plan() if step.name != "border"][-1] == "border_image"


def test_views_and_half_precision(device: sg.Device) -> None:
    x = sg.rand(6, 5, 4, device=device)
    want = np.pad(x.permute(1, 2, 0)[1:].numpy(), ((0, 0), (1, 1), (2, 3)), "reflect")
    np.testing.assert_array_equal(sg.pad(x.permute(1, 2, 0)[1:], (2, 3, 1, 1), "reflect").numpy(), want)
    half = sg.ones(1, 4, device=device, dtype=sg.float16, requires_grad=True)
    sg.pad(half, (3, 0), "circular").sum().backward()
    assert half.grad is not None
    assert half.grad.dtype == sg.float16
    assert half.grad.tolist() == [[1, 2, 2, 2]]


def test_the_last_element_is_repeated_where_all_are_cut_off(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 2.0, 3.0]], device=device, requires_grad=True)
    assert sg.pad(x, (-3, 2), "replicate").tolist() == [[3, 3]]
    y = sg.pad(x, (2, -3), "replicate")
    assert y.tolist() == [[1, 1]]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[2, 0, 0]]


@MODES
def test_widths_that_do_not_fit_are_named(mode: str) -> None:
    most = {"reflect": 2, "replicate": 2**31 - 1, "circular": 3}[mode]
    with pytest.raises(ValueError, match=f"pad: .* in mode '{mode}'; use at most {most}"):
        sg.pad(sg.ones(2, 3), (0, most + 1), mode)
    with pytest.raises(ValueError, match="use at most 0"):
        sg.pad(sg.ones(2, 0), (0, 1), mode)
    assert sg.pad(sg.ones(0, 3), (1, 2), mode).shape == (0, 6)
