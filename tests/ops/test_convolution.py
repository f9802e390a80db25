"""Convolutions as layers: errors, layouts, second gradients, and PyTorch's results."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.convolution import conv
from spirograd.autograd import gradcheck, gradgradcheck
from spirograd.nn import functional as F

LAYERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Conv1d", {"kernel_size": 3, "padding": "same"}, (2, 4, 9)),
    ("Conv1d", {"kernel_size": 4, "padding": 2, "stride": 2, "padding_mode": "circular"}, (4, 9)),
    ("Conv2d", {"kernel_size": 3}, (2, 4, 8, 9)),
    ("Conv2d", {"kernel_size": (2, 3), "stride": 2, "padding": 1, "dilation": 2, "groups": 2}, (2, 4, 8, 9)),
    ("Conv2d", {"kernel_size": 3, "padding": 1, "padding_mode": "reflect", "bias": False}, (2, 4, 5, 6)),
    ("Conv2d", {"kernel_size": (3, 2), "padding": "same", "padding_mode": "replicate"}, (2, 4, 5, 6)),
    ("Conv3d", {"kernel_size": (2, 3, 2), "stride": 2, "padding": 1}, (2, 4, 3, 4, 5)),
    ("ConvTranspose1d", {"kernel_size": 3, "stride": 2, "output_padding": 1}, (2, 4, 5)),
    ("ConvTranspose2d", {"kernel_size": 3, "stride": 2, "padding": 1, "groups": 2}, (2, 4, 5, 4)),
]


def random(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(got: sg.Tensor, want: np.ndarray[Any, Any], rtol: float = 2e-5) -> None:
    np.testing.assert_allclose(got.detach().cpu().numpy(), want, rtol=rtol, atol=rtol * np.abs(want).max(initial=1e-9))


@pytest.mark.parametrize("stride", [1, 2, (2, 3)])
@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_any_order(stride: Any, groups: int) -> None:
    x, w, y = (
        sg.tensor(random(*s, seed=i), requires_grad=True)
        for i, s in enumerate([(2, 4, 5, 6), (4, 4 // groups, 3, 2), (2, 4, 3, 2)])
    )
    options = {"stride": stride, "padding": 1, "groups": groups}
    assert gradcheck(lambda a, b: sg.conv2d(a, b, **options), (x, w))
    assert gradgradcheck(lambda a, b: sg.conv2d(a, b, **options), (x, w))
    assert gradgradcheck(lambda a, b: sg.conv_transpose2d(a, b, **options), (y, w))


def test_gradient_is_the_sum_over_places(device: sg.Device) -> None:
    x, w = random(3, 5, 9, 11, dtype="float32"), random(7, 5, 3, 3, seed=1, dtype="float32")
    tx, tw = (sg.tensor(v, device=device, requires_grad=True) for v in (x, w))
    y = sg.conv2d(tx, tw, padding=1, stride=2)
    g = random(*y.shape, seed=2, dtype="float32")
    y.backward(sg.tensor(g, device=device))
    wide = [v.astype(np.float64) for v in (x, w, g)]
    close(y, conv(2, *wide[:2], padding=1, stride=2))
    gx, gw = np.zeros((3, 5, 11, 13)), np.zeros(w.shape)
    padded = np.pad(wide[0], [(0, 0), (0, 0), (1, 1), (1, 1)])
    for i in range(3):
        for j in range(3):
            place = np.s_[:, :, i : i + 9 : 2, j : j + 11 : 2]
            gw[:, :, i, j] = np.einsum("nohw,nchw->oc", wide[2], padded[place])
            gx[place] += np.einsum("nohw,oc->nchw", wide[2], wide[1][:, :, i, j])
    close(tw.grad, gw)
    close(tx.grad, gx[:, :, 1:-1, 1:-1])


@pytest.mark.parametrize(
    ("options", "size", "product"),
    [
        ({"padding": 1}, 4, "[128, 576] @ [576, 48]"),
        ({"padding": 1, "stride": 2}, 14, "[128, 576] @ [576, 147]"),
        ({"padding": 2, "dilation": 2, "groups": 2}, 5, "[2, 128, 576] @ [2, 576, 75]"),
        ({"padding": 1}, 8, "[3, 128, 576] @ [3, 576, 64]"),  # those of one image fill their vectors
    ],
)
def test_small_images_of_many_channels_are_one_product(options: dict[str, Any], size: int, product: str) -> None:
    groups, rest = options.get("groups", 1), {k: v for k, v in options.items() if k != "groups"}
    x, w = random(3, 64 * groups, size, size), random(128 * groups, 64, 3, 3, seed=1)
    tx, tw = (sg.tensor(v.astype(np.float32), requires_grad=True) for v in (x, w))
    y = sg.conv2d(tx, tw, **options)
    assert [step.shapes for step in y.plan() if step.name == "convolution"] == [product]
    each = [conv(2, *parts, **rest) for parts in zip(np.split(x, groups, 1), np.split(w, groups), strict=True)]
    close(y, np.concatenate(each, 1))
    (y * y).sum().backward()
    wide = [sg.tensor(v, requires_grad=True) for v in (x, w)]
    sg.conv2d(*wide, **options).square().sum().backward()
    close(tx.grad, wide[0].grad.numpy())
    close(tw.grad, wide[1].grad.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("images", "size", "kernel", "stride"),
    [(1, (4, 4), (3, 3), 1), (3, (8, 8), (3, 3), 1), (3, (4, 4), (3, 3), 2), (1, (5, 6), (2, 5), 1)],
)
def test_gradient_of_small_images_reads_weights_where_they_are(
    images: int, size: tuple[int, int], kernel: tuple[int, int], stride: int, dtype: str
) -> None:
    x, w = random(images, 84, *size, dtype=dtype), random(90, 84, *kernel, seed=1, dtype=dtype)
    tx, tw = sg.tensor(x, requires_grad=True), sg.tensor(w)
    y = sg.conv2d(tx, tw, padding=1, stride=stride)
    g = random(*y.shape, seed=2, dtype=dtype)
    (dx,) = sg.autograd.grad(y, tx, sg.tensor(g))
    if stride == 1:  # of another, the gradient is a product for each phase, which has few weights
        assert not [step for step in dx.plan() if step.shapes.startswith("[84, 90,")]  # no copy of the weights
    want = np.zeros((images, 84, size[0] + 2, size[1] + 2))
    for i, j in np.ndindex(kernel):
        rows, columns = (slice(first, first + n * stride, stride) for first, n in zip((i, j), y.shape[2:], strict=True))
        want[:, :, rows, columns] += np.einsum("nohw,oc->nchw", g.astype("float64"), w[:, :, i, j].astype("float64"))
    close(dx, want[:, :, 1:-1, 1:-1], 2e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("layout", ["channels_last", "sliced", "expanded", "turned"])
def test_any_layout_of_the_input(layout: str, device: sg.Device) -> None:
    x, w = random(2, 6, 7, 8, dtype="float32"), random(4, 6, 3, 3, seed=1, dtype="float32")
    t = sg.tensor(x, device=device)
    if layout == "channels_last":
        t = sg.tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), device=device).permute(0, 3, 1, 2)
    elif layout == "sliced":
        t, x = t[:, :, 1:, ::2], x[:, :, 1:, ::2]
    elif layout == "expanded":
        t, x = t[:1].expand(3, 6, 7, 8), np.broadcast_to(x[:1], (3, 6, 7, 8))
    else:
        t, x = t.transpose(2, 3), x.swapaxes(2, 3)
    close(sg.conv2d(t, sg.tensor(w, device=device)), conv(2, x, w))
    close(sg.conv2d(t, sg.tensor(w, device=device), padding=1), conv(2, x, w, padding=1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types_are_summed_in_float32(dtype: str, device: sg.Device) -> None:
    x, w = (
        sg.tensor(random(*s, seed=i), dtype=getattr(sg, dtype), device=device)
        for i, s in enumerate([(2, 16, 6, 6), (4, 16, 3, 3)])
    )
    y = sg.conv2d(x, w, padding=1)
    assert y.dtype == x.dtype
    want = conv(2, *(v.to("cpu", sg.float64).numpy() for v in (x, w)), padding=1)
    close(y.to("cpu", sg.float64), want, rtol=1e-2)


SIZES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    # one channel at a time
    ((2, 5, 13, 17), (5, 1, 3, 3), {"padding": 1}),
    ((3, 4, 7, 7), (4, 1, 5, 5), {"padding": 2, "stride": 2}),
    ((2, 3, 11, 40), (3, 1, 2, 4), {"padding": (0, 3), "dilation": (3, 2)}),
    ((1, 6, 1, 1), (6, 1, 3, 3), {"padding": 1}),
    ((2, 2, 9, 300), (2, 1, 3, 1), {"stride": (2, 3)}),
    ((2, 3, 20, 20), (3, 1, 17, 17), {"padding": 5}),
    ((2, 2, 190, 190), (2, 1, 3, 3), {"padding": 1}),
    ((2, 4, 6, 5), (4, 1, 1, 1), {"padding": 2}),
    ((2, 3, 8, 8), (3, 1, 1, 3), {"stride": 3}),
    # several
    ((2, 4, 10, 9), (12, 1, 3, 3), {"padding": 1}),
    ((2, 6, 9, 14), (3, 2, 3, 3), {"padding": 1, "stride": 2}),
    ((3, 1, 14, 14), (16, 1, 3, 3), {"padding": 1}),
    ((2, 32, 7, 7), (13, 32, 3, 3), {"padding": 1}),
    ((1, 2, 3, 41), (7, 2, 1, 9), {"padding": (0, 4)}),
    ((2, 3, 30, 31), (5, 3, 4, 4), {"padding": 2, "stride": 2}),
    # sums of more than one slab, and results of many rows
    ((2, 64, 7, 7), (40, 64, 3, 3), {"padding": 1}),
    ((2, 130, 5, 6), (20, 130, 3, 3), {"padding": 1}),
    ((2, 64, 1, 193), (40, 64, 3, 3), {"padding": 1}),  # a thread's last tile may have one column
    ((1, 4, 9, 9), (200, 4, 3, 3), {}),
    # columns that lie apart, of images that are put in another order or too large for that
    ((2, 16, 28, 27), (32, 16, 3, 3), {"padding": 1, "stride": 2}),
    ((2, 6, 20, 21), (8, 6, 3, 3), {"padding": 1, "stride": (1, 3)}),
    ((2, 4, 40, 40), (7, 4, 2, 2), {"stride": 2, "dilation": (1, 2)}),
    ((1, 3, 240, 250), (8, 3, 3, 3), {"stride": 2}),
    # a kernel of one element: products of single images from 512 places on, of all images below
    ((3, 4, 22, 23), (6, 4, 1, 1), {}),
    ((3, 4, 16, 32), (6, 4, 1, 1), {}),
    ((3, 40, 28, 28), (33, 40, 1, 1), {}),
    ((2, 6, 30, 30), (4, 3, 1, 1), {}),
    ((3, 4, 56, 56), (6, 4, 1, 1), {"stride": 2}),
    ((2, 4, 70, 70), (3, 4, 1, 1), {"stride": 3, "padding": 2}),
    ((2, 4, 48, 48), (5, 4, 2, 2), {"stride": 2}),
]


def step(
    x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], options: dict[str, Any], device: Any = "cpu"
) -> list[sg.Tensor]:
    """A result with bias, and its gradients."""
    b = random(len(w), seed=2, dtype=str(x.dtype))
    leaves = [sg.tensor(v, device=device, requires_grad=True) for v in (x, w, b)]
    y = sg.conv2d(*leaves, **options)
    g = random(*y.shape, seed=3, dtype=str(x.dtype))
    y.backward(sg.tensor(g, device=device))
    return [y, *(sg.tensor([]) if t.grad is None else t.grad for t in leaves)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("image", "kernel", "options"), SIZES)
def test_sizes_that_fill_no_vectors(
    image: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any], dtype: str, device: sg.Device
) -> None:
    if dtype == "float64" and device.type != "cpu":
        pytest.skip("the same kernels as float32")
    options = {**options, "groups": image[1] // kernel[1]}
    x, w = random(*image, dtype=dtype), random(*kernel, seed=1, dtype=dtype)
    y, gx, gw, gb = step(x, w, options, device)
    wide = [v.astype("float64") for v in (x, w, random(len(w), seed=2, dtype=dtype))]
    g = random(*y.shape, seed=3, dtype=dtype).astype("float64")
    close(y, conv(2, *wide, **options))
    close(gb, g.sum((0, 2, 3)))
    # The convolution is linear in each: the gradient is what gives its change along any direction.
    dx, dw = random(*image, seed=4), random(*kernel, seed=5)
    for grad, direction, change in (
        (gx, dx, conv(2, dx, wide[1], **options)),
        (gw, dw, conv(2, wide[0], dw, **options)),
    ):
        got = grad.cpu().numpy().astype("float64")
        scale = np.abs(got * direction).sum() + 1e-9
        assert abs((got * direction).sum() - (g * change).sum()) <= 1e-5 * scale


LAYOUTS: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "channels_last": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    "sliced": lambda x: x[:, :, 1:, 1:],
    "expanded": lambda x: x[:1].expand(3, 6, 9, 12),
    "expanded channels": lambda x: x[:, :1].expand(2, 6, 9, 12),
    "turned": lambda x: x.transpose(2, 3),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_of_any_layout(layout: str, stride: int, device: sg.Device) -> None:
    x = LAYOUTS[layout](sg.tensor(random(2, 6, 9, 12, dtype="float32"), device=device))
    w, tw = (sg.tensor(random(8, 6, 3, 3, seed=1, dtype="float32"), device=device, requires_grad=True) for _ in "ab")
    y, ty = sg.conv2d(x, w, stride=stride), sg.conv2d(x.clone(), tw, stride=stride)
    g = sg.tensor(random(*y.shape, seed=2, dtype="float32"), device=device)
    y.backward(g)
    ty.backward(g)
    assert w.grad is not None
    assert tw.grad is not None
    close(y, ty.detach().numpy())
    close(w.grad, tw.grad.numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_channels_one_by_one_of_any_layout(layout: str, device: sg.Device) -> None:
    x, w = random(2, 6, 9, 12, dtype="float32"), random(6, 1, 3, 3, seed=1, dtype="float32")
    t = LAYOUTS[layout](sg.tensor(x, device=device))
    t = t.detach().requires_grad_()
    tw = sg.tensor(w, device=device, requires_grad=True)
    y = sg.conv2d(t, tw, padding=1, groups=6)
    close(y, conv(2, t.detach().cpu().numpy(), w, padding=1, groups=6))
    y.sum().backward()
    ones = sg.tensor(np.ones(y.shape, "float32"), device=device)
    assert t.grad is not None and tw.grad is not None
    seen = sg.conv_transpose2d(ones, tw.detach(), padding=1, groups=6)
    close(t.grad, seen.cpu().numpy())
    padded = np.pad(t.detach().cpu().numpy(), [(0, 0), (0, 0), (1, 1), (1, 1)])
    rows, columns = t.shape[2:]
    sums = [[padded[:, :, i : i + rows, j : j + columns].sum((0, 2, 3)) for j in range(3)] for i in range(3)]
    close(tw.grad, np.moveaxis(np.array(sums), 2, 0)[:, None])


def test_integers_one_channel_at_a_time(device: sg.Device) -> None:
    x, w = np.arange(2 * 3 * 5 * 6).reshape(2, 3, 5, 6), np.arange(27).reshape(3, 1, 3, 3)
    y = sg.conv2d(sg.tensor(x, dtype=sg.int32, device=device), sg.tensor(w, dtype=sg.int32, device=device), groups=3)
    np.testing.assert_array_equal(y.cpu().numpy(), conv(2, x, w, groups=3))


@pytest.mark.parametrize("options", [{"stride": 1, "padding": 1}, {"stride": 2, "padding": 2, "dilation": 2}])
def test_gradients_of_any_order_of_channels_one_by_one(options: dict[str, Any]) -> None:
    x, w = (sg.tensor(random(*s, seed=i), requires_grad=True) for i, s in enumerate([(2, 3, 5, 6), (3, 1, 3, 2)]))
    assert gradcheck(lambda a, b: sg.conv2d(a, b, groups=3, **options), (x, w))
    assert gradgradcheck(lambda a, b: sg.conv2d(a, b, groups=3, **options), (x, w))
    assert gradgradcheck(lambda a, b: sg.conv_transpose2d(a, b, groups=3, **options), (x, w))


# Image, weight, stride and padding; images that the stride divides, so that every tap meets as many elements.
STRIDED = [
    ((2, 5, 32, 32), (16, 5, 7, 7), 2, 3),
    ((2, 16, 14, 14), (32, 16, 3, 3), 2, 1),
    ((2, 16, 12, 12), (8, 16, 1, 1), 2, 0),
    ((1, 8, 18, 12), (8, 8, 4, 5), (3, 2), (1, 2)),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("image", "weight", "stride", "padding"), STRIDED)
def test_strided_gradients_multiply_no_zeros(
    image: Any, weight: Any, stride: Any, padding: Any, gpu: sg.Device
) -> None:
    """As many multiplications as the convolution itself, for either gradient."""
    x, w = (sg.tensor(random(*s), dtype=sg.float32, device=gpu) for s in (image, weight))

    def flops(run: Callable[[], Any]) -> int:
        sg.synchronize()
        with sg.profiler.profile() as profile:
            kept = run()
            sg.synchronize()
        del kept
        return sum(e.flops for e in profile.events() if e.name.startswith("convolution"))

    def convolved() -> sg.Tensor:
        return sg.conv2d(x, w, stride=stride, padding=padding)

    forward = 2 * convolved().numel() * math.prod(weight[1:])
    assert flops(convolved) == forward
    for wanted in (x, w):
        wanted.requires_grad_()
        y = convolved()
        g = sg.ones_like(y)
        assert flops(lambda y=y, g=g, wanted=wanted: sg.autograd.grad(y, wanted, g)) == forward
        wanted.requires_grad_(False)


@pytest.mark.gpu
def test_the_gradient_by_few_channels_gathers_the_result_once(gpu: sg.Device) -> None:
    x, w = (sg.tensor(random(*s), dtype=sg.float32, device=gpu) for s in ((2, 3, 32, 31), (16, 3, 7, 7)))
    x.requires_grad_()
    y = sg.conv2d(x, w, stride=2, padding=3)
    g = sg.tensor(random(*y.shape, seed=2), dtype=sg.float32, device=gpu)
    (grad,) = sg.autograd.grad(y, [x], g)
    assert [step.name for step in grad.plan()].count("convolution") == 1 + 1  # with that of y
    exact = x.detach().cpu().double().requires_grad_()
    (want,) = sg.autograd.grad(sg.conv2d(exact, w.cpu().double(), stride=2, padding=3), [exact], g.cpu().double())
    np.testing.assert_allclose(grad.cpu().numpy(), want.numpy(), atol=1e-4)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    script = (
        "import hashlib, sys; sys.path[:0] = sys.argv[1:]; from test_convolution import *\n"
        "for image, kernel, options in SIZES:\n"
        "    x, w = random(*image, dtype='float32'), random(*kernel, seed=1, dtype='float32')\n"
        "    made = step(x, w, {**options, 'groups': image[1] // kernel[1]})\n"
        "    print(*(hashlib.md5(t.detach().numpy().tobytes()).hexdigest() for t in made))"
    )
    command = [sys.executable, "-c", script, *map(str, Path(__file__).parents[:2])]
    made = {
        subprocess.run(
            command, env={**os.environ, "SPIROGRAD_THREADS": str(n)}, check=True, capture_output=True, text=True
        ).stdout
        for n in (1, 2, 5)
    }
    assert len(made) == 1


def test_bias_and_activation_ride_on_the_product(device: sg.Device) -> None:
    x, w, b = (sg.tensor(random(*s, dtype="float32"), device=device) for s in [(2, 3, 8, 8), (4, 3, 3, 3), (4,)])
    y = sg.conv2d(x, w, b).relu()
    assert [step.name for step in y.plan()][-1].startswith("convolution_")
    close(y, np.maximum(conv(2, *(v.cpu().numpy() for v in (x, w, b))), 0))


def test_errors_name_the_values() -> None:
    x, w = sg.ones(2, 3, 8, 8), sg.ones(4, 3, 3, 3)
    with pytest.raises(ValueError, match=r"conv2d: input \[2, 3, 8, 8\] and weight \[4, 2, 3, 3\].*3 channels"):
        sg.conv2d(x, sg.ones(4, 2, 3, 3))
    with pytest.raises(ValueError, match=r"conv2d: a kernel of \[9, 3\]"):
        sg.conv2d(x, sg.ones(4, 3, 9, 3))
    with pytest.raises(ValueError, match="padding 'same' with stride"):
        sg.conv2d(x, w, stride=2, padding="same")
    with pytest.raises(ValueError, match="padding 'full'"):
        sg.conv2d(x, w, padding="full")
    with pytest.raises(ValueError, match="stride"):
        sg.conv2d(x, w, stride=0)
    with pytest.raises(ValueError, match="bias of shape"):
        sg.conv2d(x, w, sg.ones(3))
    with pytest.raises(ValueError, match="output_padding"):
        sg.conv_transpose2d(sg.ones(1, 4, 3, 3), w, output_padding=1)
    with pytest.raises(ValueError, match="groups"):
        sg.nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="padding_mode"):
        sg.nn.Conv2d(3, 4, 3, padding_mode="mirror")
    with pytest.raises(ValueError, match="Conv2d: padding 'full' is unknown; use same, valid, or widths"):
        sg.nn.Conv2d(3, 4, 3, padding="full")


def test_fold_is_the_gradient_of_unfold(device: sg.Device) -> None:
    x = sg.tensor(random(2, 3, 7, 8, dtype="float32"), device=device, requires_grad=True)
    options: dict[str, Any] = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": 1, "stride": (2, 1)}
    columns = F.unfold(x, **options)
    (columns * columns).sum().backward()
    close(F.fold(2 * columns, (7, 8), **options), x.grad.cpu().numpy())
    assert F.unfold(x[0], **options).shape == columns.shape[1:]


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_gradients_of_fold(stride: int) -> None:
    options: dict[str, Any] = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": 1, "stride": stride}
    x = sg.tensor(random(*F.unfold(sg.zeros(1, 2, 4, 5), **options).shape), requires_grad=True)
    assert gradgradcheck(lambda x: F.fold(x, (4, 5), **options) ** 2, [x])


def test_output_size_of_a_transposed_layer() -> None:
    layer = sg.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    assert layer(sg.ones(1, 2, 5, 5), output_size=(10, 9)).shape == (1, 3, 10, 9)
    with pytest.raises(ValueError, match="output_size"):
        layer(sg.ones(1, 2, 5, 5), output_size=(12, 9))


@pytest.mark.parametrize(("name", "options", "shape"), LAYERS, ids=lambda v: v if isinstance(v, str) else None)
def test_layers_are_pytorchs(name: str, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, name)(4, 6, **options, dtype=torch.float64)
    ours = getattr(sg.nn, name)(4, 6, **options, dtype=sg.float64)
    assert repr(ours) == repr(theirs)
    x, seen = random(*shape), torch.tensor(random(*shape), requires_grad=True)
    with sg.no_grad():
        ours.weight.copy_(sg.tensor(theirs.weight.detach().numpy()))
        if ours.bias is not None:
            ours.bias.copy_(sg.tensor(theirs.bias.detach().numpy()))
    t = sg.tensor(x, requires_grad=True)
    y, want = ours(t), theirs(seen)
    g = random(*want.shape, seed=2)
    y.backward(sg.tensor(g))
    want.backward(torch.tensor(g))
    close(y, want.detach().numpy(), 1e-12)
    close(t.grad, seen.grad.numpy(), 1e-12)
    close(ours.weight.grad, theirs.weight.grad.numpy(), 1e-12)


def test_a_training_step_is_one_submission(device: sg.Device) -> None:
    nn = sg.nn
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64, 10),
    ).to(device)  # fmt: skip
    opt = sg.optim.Adam(net.parameters(), lr=1e-2)
    x, y = sg.tensor(random(8, 1, 10, 10, dtype="float32"), device=device), sg.arange(8, device=device)

    def step() -> sg.Tensor:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    first = step().item()
    for i in range(10):
        sg.reset_stats()
        step()
        s = sg.stats()
        assert (s["submissions"], s["fallbacks"]) == (1, 0)
        if i > 1:
            assert (s["plan_misses"], s["allocations"], s["kernels_compiled"]) == (0, 0, 0)
    assert step().item() < 0.5 * first


def test_errors_of_transposed_volumes_name_the_values() -> None:
    x, w = sg.ones(1, 4, 2, 3, 3), sg.ones(4, 2, 2, 2, 2)
    for options, text in (
        ({"groups": 3}, "groups=3"),
        ({"stride": 0}, "stride"),
        ({"output_padding": 2}, "output_padding"),
    ):
        with pytest.raises(ValueError, match=f"conv_transpose3d: .*{text}"):
            F.conv_transpose3d(x, w, **options)
    assert F.conv_transpose3d(x[0], w, groups=2).shape == (4, 3, 4, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sg.nn.Conv2d(1, 1, (3, 3, 3)),
        lambda: sg.nn.AvgPool1d((2, 2)),
        lambda: F.unfold(sg.ones(1, 1, 4, 4), (2, 2, 2)),
        lambda: F.fold(sg.ones(1, 4, 4), 3, 2, stride=(1, 1, 1)),
        lambda: F.conv_transpose3d(sg.ones(1, 1, 2, 2, 2), sg.ones(1, 1, 1, 1, 1), stride=(1, 1)),
        lambda: F.avg_pool3d(sg.ones(1, 4, 4, 4), (2, 2)),
        lambda: F.conv2d(sg.ones(1, 1, 4, 4), sg.ones(1, 1, 1, 1), stride=(1, 1, 1)),
        lambda: F.max_pool2d(sg.ones(1, 4, 4), (2, 2, 2)),
    ],
)
def test_sizes_for_another_number_of_dimensions_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+: \w+ \[.*\] for \d dimension\(s\); give one number, or one for each"):
        call()
