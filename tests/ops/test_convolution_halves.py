"""Convolutions of float16 and bfloat16: float32 sums of the operands as they are, rounded once, gradients too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# Image, weight: tiles and edges of outputs, places, and channels times taps; few channels with a large kernel; strides
# and dilations; groups, of which some are too small for matrix units; sums over images that are cut in parts.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 16, 9, 11), (16, 16, 3, 3), {"padding": 1}),
    ((1, 16, 8, 8), (65, 16, 1, 1), {}),
    ((3, 17, 5, 13), (33, 17, 2, 3), {}),
    ((2, 3, 20, 21), (16, 3, 7, 7), {"padding": 3, "stride": 2}),
    ((2, 16, 12, 12), (18, 16, 3, 3), {"dilation": 2, "stride": (1, 2)}),
    ((2, 32, 7, 7), (32, 16, 3, 3), {"groups": 2, "padding": 1}),
    ((2, 6, 8, 8), (6, 1, 3, 3), {"groups": 6}),
    ((4, 16, 12, 12), (16, 16, 3, 3), {"padding": 1}),
]


def made(shape: tuple[int, ...], dtype: str, seed: int) -> sg.Tensor:
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return sg.tensor(x).to(getattr(sg, dtype))


def results(x: sg.Tensor, w: sg.Tensor, dtype: sg.dtype, device: Any, options: dict[str, Any]) -> list[sg.Tensor]:
    """The convolution and its gradients in a type, of the same numbers."""
    x, w = (t.to(dtype).to(device).detach().requires_grad_() for t in (x, w))
    y = sg.conv2d(x, w, **options)
    y.backward(made(tuple(y.shape), "bfloat16", 3).to(dtype).to(device))
    assert x.grad is not None and w.grad is not None
    assert y.dtype == x.grad.dtype == w.grad.dtype == dtype
    return [y.detach(), x.grad, w.grad]


def exact(x: sg.Tensor) -> npt.NDArray[np.float64]:
    return np.asarray(x.cpu().double().numpy())


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_rounded_once(case: Any, dtype: str, device: sg.Device) -> None:
    image, kernel, options = case
    x, w = made(image, dtype, 1), made(kernel, dtype, 2)
    want = [exact(t) for t in results(x, w, sg.float64, "cpu", options)]
    room = [exact(t) for t in results(x.abs(), w.abs(), sg.float64, "cpu", options)]
    got = results(x, w, getattr(sg, dtype), device, options)
    for a, b, most in zip(got, want, room, strict=True):
        assert (np.abs(exact(a) - b) <= UNIT[dtype] * np.abs(b) + 2.0**-18 * np.abs(most).max() + 2.0**-24).all()
    again = results(x, w, getattr(sg, dtype), device, options)
    for a, b in zip(got, again, strict=True):
        np.testing.assert_array_equal(exact(a), exact(b))


@pytest.mark.parametrize("layout", ["channels_last", "sliced", "turned"])
def test_images_may_lie_anywhere(layout: str, device: sg.Device) -> None:
    x, w = made((2, 16, 9, 12), "float16", 1).to(device), made((16, 16, 3, 3), "float16", 2).to(device)
    places = {
        "channels_last": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
        "sliced": lambda x: x[:, :, 1:, 1:],
        "turned": lambda x: x.transpose(2, 3),
    }
    view = places[layout](x)
    np.testing.assert_array_equal(exact(sg.conv2d(view, w)), exact(sg.conv2d(view.clone(), w)))


@pytest.mark.gpu
def test_bias_and_activation_belong_to_the_kernel(gpu: sg.Device) -> None:
    x, w, b = (made(s, "float16", 1).to(gpu) for s in [(2, 16, 8, 8), (16, 16, 3, 3), (16,)])
    sg.synchronize()
    before = sg.stats()["dispatches"]
    y = sg.relu(sg.conv2d(x, w, b))
    units = "matrix units" in gpu.features["float16 products"]
    assert any("product_cm1.glsl" in step.source for step in y.plan()) == units
    sg.synchronize()
    assert sg.stats()["dispatches"] - before == 1


EACH_PATH = """
import numpy as np, spirograd as sg
rng = np.random.default_rng(5)
x, w = (sg.tensor(rng.normal(size=s).astype(np.float32)).half() for s in [(2, 16, 9, 11), (20, 16, 3, 3)])
def all_of(x, w):
    x, w = x.requires_grad_(), w.requires_grad_()
    y = sg.conv2d(x, w, padding=1)
    y.backward(y.detach())
    return [t.detach().cpu().double().numpy() for t in (y, x.grad, w.grad)]
for a, b in zip(all_of(x.to("gpu"), w.to("gpu")), all_of(x.double(), w.double())):
    print(np.abs(a - b).max() / np.abs(b).max())
"""


@pytest.mark.gpu
@pytest.mark.parametrize("path", ["none", "cm1", "cm2"])
def test_each_path_to_the_matrix_units_convolves(path: str, run_python: Callable[..., str]) -> None:
    assert max(float(line) for line in run_python(EACH_PATH, SPIROGRAD_MATRIX=path).splitlines()) < 2.0**-10
