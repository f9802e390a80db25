"""Rows that lie across memory, such as the channels of an image: a GPU brings them in order once, in squares."""

from __future__ import annotations

import re

import numpy as np
import pytest

import spirograd as sg

F = sg.nn.functional
pytestmark = pytest.mark.gpu
SHAPE = (3, 72, 20, 20)
CHANNELS = SHAPE[1]
RANDOM = np.random.default_rng(5)
IMAGE, SCALE, SHIFT = RANDOM.normal(size=SHAPE), RANDOM.normal(size=CHANNELS), RANDOM.normal(size=CHANNELS)
ARRIVED = RANDOM.normal(size=(SHAPE[0], *SHAPE[2:], CHANNELS))


def strides(step: object) -> list[list[int]]:
    """Of each tensor of a launch, over its domain."""
    text = step.print()  # type: ignore[attr-defined]
    return [[int(n) for n in found.split(", ")] for found in re.findall(r"binding \d+ \w+ strides \[([^]]+)\]", text)]


def is_square(step: object) -> bool:
    return "squares transposed" in step.source  # type: ignore[attr-defined]


def reads_rows_in_order(step: object) -> bool:
    """Nothing is read or written across its rows, whose elements are the last dimension."""
    return all(s[-1] <= 1 for s in strides(step))


def normed(x: sg.Tensor, w: sg.Tensor, b: sg.Tensor, rms: bool) -> sg.Tensor:
    x = x.permute(0, 2, 3, 1)
    return F.rms_norm(x, (CHANNELS,), w) if rms else F.layer_norm(x, (CHANNELS,), w, b)


def made(gpu: sg.Device, dtype: sg.dtype) -> list[sg.Tensor]:
    return [sg.tensor(a, device=gpu).to(dtype).realize().requires_grad_() for a in (IMAGE, SCALE, SHIFT)]


@pytest.mark.parametrize("rms", [False, True])
def test_norms_of_channels_read_rows_in_order(gpu: sg.Device, rms: bool) -> None:
    x, w, b = made(gpu, sg.bfloat16)
    y = normed(x, w, b, rms)
    copy, norm = y.plan()
    assert is_square(copy) and reads_rows_in_order(norm)
    y.realize()
    gradients = sg.autograd.grad(y, [x, w], sg.tensor(ARRIVED, device=gpu).to(sg.bfloat16).realize())
    rows = [step for step in gradients[0].plan() if f"{CHANNELS}] inner 1" in step.print()]
    assert rows and all(reads_rows_in_order(step) for step in rows)


def test_their_values_and_gradients_are_those_of_float64(gpu: sg.Device) -> None:
    x, w, b = made(gpu, sg.float32)
    y = normed(x, w, b, False)
    y.backward(sg.tensor(ARRIVED, device=gpu).to(sg.float32))
    p = IMAGE.transpose(0, 2, 3, 1)
    std = np.sqrt(p.var(-1, keepdims=True) + 1e-5)
    z = (p - p.mean(-1, keepdims=True)) / std
    g = ARRIVED * SCALE
    dx = (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True)) / std
    for got, want in (
        (y.detach(), z * SCALE + SHIFT),
        (x.grad, dx.transpose(0, 3, 1, 2)),
        (w.grad, (ARRIVED * z).sum((0, 1, 2))),
        (b.grad, ARRIVED.sum((0, 1, 2))),
    ):
        assert got is not None
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)


def test_formulas_that_write_across_their_rows_are_kernels_of_squares(gpu: sg.Device) -> None:
    p = made(gpu, sg.bfloat16)[0].detach().permute(0, 2, 3, 1)
    fold, difference = (p - p.mean(-1, keepdim=True)).plan()
    assert "reduce_sum" in fold.print() and all(s[-1] <= 1 or 1 in s for s in strides(fold))
    assert is_square(difference)
    small = made(gpu, sg.bfloat16)[0].detach()[:1].permute(0, 2, 3, 1)
    assert len((small - small.mean(-1, keepdim=True)).plan()) == 1  # not worth a launch
