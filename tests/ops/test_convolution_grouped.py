"""Convolutions with few channels a group: their kernels, what these read, and their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.convolution import computed, conv, exact

pytestmark = pytest.mark.gpu

# Image, weight, options: one channel a group with kernels of networks; rows that threads share unevenly; strides 1 to 3
# and beyond those that are written out, dilation, padding wider than the kernel reaches; several outputs and channels a
# group, also more than a thread has; kernels of many taps; one row, one element; sums that are cut in pieces.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 5, 9, 11), (5, 1, 3, 3), {"padding": 1}),
    ((1, 6, 17, 7), (6, 1, 5, 5), {"padding": 2}),
    ((2, 3, 15, 9), (3, 1, 7, 7), {"padding": 3}),
    ((3, 4, 9, 10), (4, 1, 3, 3), {"padding": 1, "stride": 2}),
    ((2, 4, 12, 13), (4, 1, 5, 5), {"padding": 2, "stride": 2}),
    ((2, 3, 11, 13), (3, 1, 3, 5), {"padding": (1, 0), "stride": 3, "dilation": (1, 2)}),
    ((2, 3, 12, 9), (3, 1, 2, 3), {"padding": (0, 4), "stride": (1, 2), "dilation": (3, 2)}),
    ((1, 3, 19, 17), (3, 1, 3, 3), {"padding": 2, "stride": (6, 5)}),
    ((2, 3, 7, 9), (6, 1, 3, 3), {"padding": 1}),
    ((2, 6, 9, 8), (10, 3, 3, 3), {"padding": 1, "stride": 2}),
    ((1, 16, 6, 5), (12, 8, 3, 3), {"padding": 1}),
    ((1, 2, 12, 13), (2, 1, 9, 11), {"padding": (4, 5)}),
    ((2, 3, 1, 40), (3, 1, 1, 4), {"padding": (0, 3)}),
    ((2, 3, 1, 1), (3, 1, 3, 3), {"padding": 1}),
    ((5, 2, 40, 35), (2, 1, 3, 3), {"padding": 1}),
]


def is_grouped(step: Any) -> bool:
    return "grouped_correlate.glsl" in step.source or "grouped_weights.glsl" in step.source


def made(shape: tuple[int, ...], seed: int) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def three(case: Any) -> tuple[sg.Tensor, sg.Tensor, sg.Tensor, dict[str, Any]]:
    """Image, weight and a gradient for the result."""
    image, weight, options = case
    options = {**options, "groups": image[1] // weight[1]}
    x, w = made(image, 1), made(weight, 2)
    return x, w, made(tuple(sg.conv2d(x, w, **options).shape), 3), options


@pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, sg.float32) for case in CASES]
    + [(case, t) for case in (CASES[4], CASES[9], CASES[11]) for t in (sg.float16, sg.bfloat16)],
    ids=str,
)
def test_convolutions_and_gradients_are_exact(case: Any, dtype: sg.dtype, gpu: sg.Device) -> None:
    x, w, g, options = three(case)
    x, w, g = (t.to(dtype).float() for t in (x, w, g))
    got = computed(x, w, g, dtype, gpu, **options)
    want = computed(x, w, g, sg.float64, "cpu", **options)
    room = computed(x.abs(), w.abs(), g.abs(), sg.float64, "cpu", **options)
    rounded = {sg.float32: 0.0, sg.float16: 2.0**-11, sg.bfloat16: 2.0**-8}[dtype]
    for a, b, most in zip(got, want, room, strict=True):
        assert (np.abs(a - b) <= rounded * np.abs(b) + 2.0**-19 * most + 1e-7).all()
    np.testing.assert_allclose(want[0], conv(2, exact(x), exact(w), **options), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weight", [(6, 1, 3, 3), (12, 2, 3, 3)], ids=str)
@pytest.mark.parametrize("stride", [1, 2])
def test_each_is_one_launch(weight: tuple[int, ...], stride: int, gpu: sg.Device) -> None:
    x, w, g, options = three(((2, 6, 9, 11), weight, {"padding": 1, "stride": stride}))
    x, w, g = x.to(gpu).requires_grad_(), w.to(gpu).requires_grad_(), g.to(gpu)
    y = sg.conv2d(x, w, **options)
    (forward,) = y.plan()
    assert forward.name == "convolution" and is_grouped(forward)
    y.realize()
    (gx,) = sg.autograd.grad(y, [x], g, retain_graph=True)
    (by_image,) = gx.plan()
    assert by_image.name == ("convolution" if stride == 1 else "grouped_spread") and is_grouped(by_image)
    gx.realize()
    (gw,) = sg.autograd.grad(y, [w], g)
    (by_weight,) = gw.plan()
    assert by_weight.name == "grouped_weights" and is_grouped(by_weight)


@pytest.mark.parametrize(("channels", "dtype"), [(17, sg.float32), (9, sg.bfloat16)], ids=str)
def test_many_channels_a_group_are_products(channels: int, dtype: sg.dtype, gpu: sg.Device) -> None:
    x, w = made((1, 2 * channels, 4, 4), 1), made((2 * channels, channels, 3, 3), 2)
    y = sg.conv2d(x.to(dtype).to(gpu), w.to(dtype).to(gpu), groups=2)
    assert not any(is_grouped(step) for step in y.plan())


def test_other_types_go_another_way(gpu: sg.Device) -> None:
    x, w = sg.arange(75, device=gpu).reshape(1, 3, 5, 5), sg.ones(3, 1, 3, 3, dtype=sg.int64, device=gpu)
    y = sg.conv2d(x, w, groups=3)
    assert not any(is_grouped(step) for step in y.plan())
    np.testing.assert_array_equal(y.cpu().numpy(), conv(2, x.cpu().numpy(), w.cpu().numpy(), groups=3))


@pytest.mark.parametrize("into", ["image", "weight", "gradient"])
@pytest.mark.parametrize("options", [{"padding": 1}, {"padding": 2, "stride": 2}, {"padding": 1, "kernel": 9}], ids=str)
def test_what_is_not_finite_reaches_what_depends_on_it(into: str, options: dict[str, Any], gpu: sg.Device) -> None:
    """A tap outside of the image is no product: neither of NaN in a weight nor of an infinity in a gradient."""
    rest = {k: v for k, v in options.items() if k != "kernel"}
    kernel = options.get("kernel", 3)
    x, w, g, options = three(((2, 6, 9, 12), (6, 2, kernel, kernel), rest))
    tensors = {"image": x, "weight": w, "gradient": g}
    last = [n - 1 for n in tensors[into].shape]
    for at, value in zip(
        [(0, 0, 0, 0), (1, 1, last[2], last[3]), (1, 0, 1, 0)], (np.nan, np.inf, -np.inf), strict=True
    ):
        tensors[into][at] = value
    got = computed(x, w, g, sg.float32, gpu, **options)
    for a, b in zip(got, products(x, w, g, **options), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def products(x: sg.Tensor, w: sg.Tensor, g: sg.Tensor, stride: int = 1, padding: int = 0, groups: int = 1) -> list[Any]:
    """A convolution and its gradients, tap by tap, without what lies outside of the image."""
    a, b, c = exact(x), exact(w), exact(g)
    y, gx, gw = np.zeros(c.shape), np.zeros(a.shape), np.zeros(b.shape)
    of_group, outputs = b.shape[1], b.shape[0] // groups
    with np.errstate(invalid="ignore"):
        for o, k, i, j in np.ndindex(*b.shape):
            channel = o // outputs * of_group + k
            for row, column in np.ndindex(*c.shape[2:]):
                p, q = row * stride - padding + i, column * stride - padding + j
                if not (0 <= p < a.shape[2] and 0 <= q < a.shape[3]):
                    continue
                y[:, o, row, column] += a[:, channel, p, q] * b[o, k, i, j]
                gx[:, channel, p, q] += c[:, o, row, column] * b[o, k, i, j]
                gw[o, k, i, j] += (a[:, channel, p, q] * c[:, o, row, column]).sum()
    return [y, gx, gw]


@pytest.mark.parametrize("case", [CASES[3], CASES[9], CASES[11]], ids=str)
@pytest.mark.parametrize("dtype", [sg.float32, sg.bfloat16], ids=str)
def test_what_follows_rides_on_the_kernel(case: Any, dtype: sg.dtype, gpu: sg.Device) -> None:
    """A norm's scale and shift, an activation and a residual; in memory of their own and in that of the residual; the
    bits are those of kernels of their own, also of what is not finite."""
    x, w, residual, options = three(case)
    x[0, 0, 3, 3] = float("inf")
    x, w, residual = x.to(dtype).to(gpu), w.to(dtype).to(gpu), residual.to(dtype).to(gpu)
    scale, shift = (made((1, w.shape[0], 1, 1), seed).to(dtype).to(gpu) for seed in (4, 5))

    def after(y: sg.Tensor) -> sg.Tensor:
        return sg.relu(y * scale + shift) if case[1][1] == 1 else sg.relu(y)

    alone = sg.conv2d(x, w, **options).realize()
    want = exact(after(alone) + residual)
    got = after(sg.conv2d(x, w, **options)) + residual
    assert len(got.plan()) == 1
    np.testing.assert_array_equal(exact(got), want)
    residual += after(sg.conv2d(x, w, **options))
    np.testing.assert_array_equal(exact(residual), want)


@pytest.mark.parametrize("layout", ["channels_last", "sliced", "turned", "reversed", "one_for_all"])
def test_images_may_lie_anywhere(layout: str, gpu: sg.Device) -> None:
    x, w = made((3, 8, 9, 9), 1).to(gpu), made((6, 1, 3, 3), 2).to(gpu)
    places = {
        "channels_last": lambda t: t[:, :6].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
        "sliced": lambda t: t[1:, 1:7],
        "turned": lambda t: t[:, :6].transpose(2, 3),
        "reversed": lambda t: t[:, :6].flip(3),
        "one_for_all": lambda t: t[:1, :6].expand(3, 6, 9, 9),
    }
    view = places[layout](x)
    want = sg.conv2d(view.clone(), w, padding=1, groups=6)
    np.testing.assert_array_equal(exact(sg.conv2d(view, w, padding=1, groups=6)), exact(want))


def test_gradients_have_gradients(gpu: sg.Device) -> None:
    def second(x: sg.Tensor, w: sg.Tensor, options: dict[str, Any]) -> list[Any]:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        gx, gw = sg.autograd.grad((sg.conv2d(x, w, **options) ** 2).sum(), [x, w], create_graph=True)
        return [exact(g) for g in sg.autograd.grad((gx * gx).sum() + gw.sum(), [x, w])]

    for case in (CASES[3], CASES[9]):
        x, w, _, options = three(case)
        got, want = second(x.to(gpu), w.to(gpu), options), second(x.double(), w.double(), options)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.abs(b).max())


def test_transposed_convolutions_take_the_same_way(gpu: sg.Device) -> None:
    x, w = made((2, 6, 5, 6), 1), made((6, 2, 3, 3), 2)
    options: dict[str, Any] = {"padding": 1, "stride": 2, "output_padding": 1, "groups": 3}
    y = sg.conv_transpose2d(x.to(gpu), w.to(gpu), **options)
    assert [step.name for step in y.plan()] == ["grouped_spread"]
    np.testing.assert_allclose(exact(y), exact(sg.conv_transpose2d(x.double(), w.double(), **options)), atol=1e-4)


def test_an_empty_batch(gpu: sg.Device) -> None:
    x, w = sg.zeros(0, 3, 5, 5, device=gpu, requires_grad=True), made((3, 1, 3, 3), 1).to(gpu).requires_grad_()
    y = sg.conv2d(x, w, padding=1, groups=3)
    y.sum().backward()
    assert y.shape == (0, 3, 5, 5) and x.grad is not None and x.grad.shape == x.shape
    assert w.grad is not None and not exact(w.grad).any()
