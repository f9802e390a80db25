"""Convolutions of halves as products of shifted rows: what they read, and what they must not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.convolution import computed, exact

pytestmark = pytest.mark.gpu

# Image, weight: without and with zeros around; more on one side; channels that are no multiple of eight, a row of taps
# that is one of 64 (then the matrix units of some GPUs read the rows themselves); strides, which put rows in planes, in
# one dimension or both, larger than the kernel; dilations; kernels of one row and of one column; few channels.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 16, 9, 11), (16, 16, 3, 3), {"padding": 1}),
    ((2, 17, 9, 11), (18, 17, 3, 3), {}),
    ((2, 24, 8, 7), (33, 24, 5, 2), {"padding": (1, 2)}),
    ((5, 64, 7, 7), (70, 64, 3, 3), {"padding": 1}),
    ((2, 64, 15, 12), (64, 64, 3, 3), {"padding": 1, "stride": 2}),
    ((2, 16, 13, 11), (18, 16, 7, 7), {"padding": 3, "stride": (3, 2)}),
    ((2, 16, 13, 11), (18, 16, 2, 1), {"stride": (3, 2), "padding": (0, 4)}),
    ((2, 16, 12, 12), (18, 16, 3, 3), {"dilation": (2, 1), "stride": (2, 1), "padding": 2}),
    ((2, 16, 12, 12), (18, 16, 3, 1), {"dilation": (3, 2), "stride": (2, 2)}),
    ((1, 16, 1, 40), (16, 16, 1, 5), {"stride": (1, 3), "padding": (0, 1)}),
    ((2, 3, 20, 21), (16, 3, 7, 7), {"padding": 3, "stride": 2}),
    ((1, 4, 9, 9), (16, 4, 3, 3), {"stride": 2, "dilation": (2, 1)}),
    ((3, 1, 13, 10), (64, 1, 2, 2), {"stride": (3, 4)}),
]
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    before = sg._core._convolutions_ignore_sizes(True)
    yield
    sg._core._convolutions_ignore_sizes(before)


def made(shape: tuple[int, ...], seed: int) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).bfloat16()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolutions_and_gradients_are_rounded_once(case: Any, gpu: sg.Device) -> None:
    image, kernel, options = case
    x, w = made(image, 1), made(kernel, 2)
    g = made(tuple(sg.conv2d(x.double(), w.double(), **options).shape), 3)
    want = computed(x, w, g, sg.float64, "cpu", **options)
    room = computed(x.abs(), w.abs(), g, sg.float64, "cpu", **options)
    for dtype in UNIT if image[1] == 64 else ["float16"]:
        got = computed(x, w, g, getattr(sg, dtype), gpu, **options)
        for a, b, most in zip(got, want, room, strict=True):
            assert (np.abs(a - b) <= UNIT[dtype] * np.abs(b) + 2.0**-18 * np.abs(most).max() + 2.0**-24).all()


def test_a_convolution_is_one_product_of_rows(gpu: sg.Device) -> None:
    x, w = made((2, 16, 9, 11), 1).half().to(gpu), made((16, 16, 3, 3), 2).half().to(gpu)
    names = [step.name for step in sg.relu(sg.conv2d(x, w, padding=1)).plan()]
    assert names.count("pixels") == names.count("convolution") == 1 and len(names) == 4


def test_both_gradients_share_the_rows_of_a_result(gpu: sg.Device) -> None:
    x, w = (made(s, 1).half().to(gpu).requires_grad_() for s in [(2, 16, 9, 11), (16, 16, 3, 3)])
    y = sg.conv2d(x, w, padding=1)
    sg.synchronize()
    grads = sg.autograd.grad(y, [x, w], sg.ones_like(y))
    assert [step.name for step in (grads[0].sum() + grads[1].sum()).plan()].count("pixels") == 2  # with the image's


@pytest.mark.parametrize("layout", ["channels_last", "sliced", "turned", "reversed", "one_for_all"])
def test_images_may_lie_anywhere(layout: str, gpu: sg.Device) -> None:
    x, w = made((2, 16, 9, 12), 1).half().to(gpu), made((16, 16, 3, 3), 2).half().to(gpu)
    places = {
        "channels_last": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
        "sliced": lambda x: x[:, :, 1:, 1::2],
        "turned": lambda x: x.transpose(2, 3),
        "reversed": lambda x: x.flip(3),
        "one_for_all": lambda x: x[:1].expand(3, 16, 9, 12),
    }
    view = places[layout](x)
    np.testing.assert_array_equal(exact(sg.conv2d(view, w)), exact(sg.conv2d(view.clone(), w)))


@pytest.mark.parametrize("options", [{"padding": 1}, {"stride": 2}], ids=str)
def test_what_is_not_a_number_stays_in_its_windows(options: dict[str, Any], gpu: sg.Device) -> None:
    x, w = made((2, 16, 6, 7), 1), made((16, 16, 3, 3), 2)
    x[0, 3, 0, 6] = float("nan")
    x[1, 5, 5, 0] = float("inf")
    got = exact(sg.conv2d(x.half().to(gpu), w.half().to(gpu), **options))
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(exact(sg.conv2d(x.double(), w.double(), **options))))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", UNIT)
def test_what_is_not_a_number_reaches_the_weights_that_see_it(case: Any, dtype: str, gpu: sg.Device) -> None:
    image, kernel, options = case
    x, w = made(image, 1), made(kernel, 2)
    g = made(tuple(sg.conv2d(x.double(), w.double(), **options).shape), 3)
    for n, at in enumerate([(0, 0), (-1, -1), (image[2] // 2, -1), (-1, image[3] // 2)]):
        x[n % image[0], n % image[1], at[0], at[1]] = (float("nan"), float("inf"), -float("inf"), float("inf"))[n]
    g[0, 2, -1, -1], g[0, 1, 0, 0] = float("inf"), float("nan")
    got = computed(x, w, g, getattr(sg, dtype), gpu, **options)[-1]
    want = computed(x, w, g, sg.float64, "cpu", **options)[-1]
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
    np.testing.assert_allclose(got, want, rtol=4 * UNIT[dtype], atol=2.0**-9 * np.abs(want[np.isfinite(want)]).max())


def test_transposed_convolutions_take_the_same_way(gpu: sg.Device) -> None:
    x, w = made((2, 16, 5, 6), 1), made((16, 18, 3, 3), 2)
    options: dict[str, Any] = {"stride": 2, "padding": 1, "output_padding": 1}
    y = sg.conv_transpose2d(x.half().to(gpu), w.half().to(gpu), **options)
    assert "pixels" in [step.name for step in y.plan()]
    want = exact(sg.conv_transpose2d(x.double(), w.double(), **options))
    np.testing.assert_allclose(exact(y), want, rtol=2.0**-10, atol=2.0**-10 * np.abs(want).max())


def test_gradients_have_gradients(gpu: sg.Device) -> None:
    def second(x: sg.Tensor, w: sg.Tensor) -> list[Any]:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        gx, gw = sg.autograd.grad((sg.conv2d(x, w, padding=1) ** 2).sum(), [x, w], create_graph=True)
        return [exact(g) for g in sg.autograd.grad((gx * gx).sum() + gw.sum(), [x, w])]

    x, w = made((1, 16, 4, 5), 1) * 0.125, made((16, 16, 3, 3), 2) * 0.125
    for a, b in zip(second(x.half().to(gpu), w.half().to(gpu)), second(x.double(), w.double()), strict=True):
        np.testing.assert_allclose(a, b, atol=2.0**-7 * np.abs(b).max())
