"""Convolutions and pooling of nothing: no images, no channels, no height, no outputs; forward, backward and twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg
from spirograd.nn import functional as F

SIZES = [(1, 2, 0, 3), (1, 2, 3, 0), (0, 2, 3, 3), (1, 0, 3, 3), (0, 0, 0, 0)]
Convolution = Callable[..., sg.Tensor]


def shape_for(dims: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return {1: (*shape[:2], shape[3]), 2: shape, 3: (*shape[:2], 2, *shape[2:])}[dims]


def twice(y: sg.Tensor, inputs: list[sg.Tensor]) -> list[sg.Tensor]:
    """Gradients, and the gradients of their sums: of the shapes of what they are of."""
    if not y.requires_grad:
        return []
    first = sg.autograd.grad((y * y).sum(), inputs, create_graph=True)
    total = sum(((g * g).sum() for g in first), sg.zeros((), device=y.device))
    second = sg.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else ()
    for g, x in zip(itertools.chain(first, second), itertools.cycle(inputs), strict=False):
        assert g is None or g.shape == x.shape
    return [g for g in (*first, *second) if g is not None]


@pytest.mark.parametrize(
    ("convolve", "dims", "transposed"),
    [
        (F.conv1d, 1, False), (F.conv2d, 2, False), (F.conv3d, 3, False),
        (F.conv_transpose1d, 1, True), (F.conv_transpose2d, 2, True),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_a_convolution_of_nothing(convolve: Convolution, dims: int, transposed: bool, device: sg.Device) -> None:
    done = 0
    every = itertools.product(SIZES, (4, 0), (1, 2), ((1, 1), (1, 0), (2, 1)))
    few = [((1, 2, 0, 3), 4, 1, (1, 1)), ((0, 2, 3, 3), 4, 1, (1, 1))]  # a new kernel takes long on a software driver
    for shape, outputs, groups, (stride, padding) in every if device.kind == "cpu" else few:
        x = sg.ones(*shape_for(dims, shape), device=device).requires_grad_()
        channels = x.shape[1]
        sizes = (channels, outputs // groups) if transposed else (outputs, channels // groups)
        w = sg.ones(*sizes, *(1,) * (dims - 1), 2, device=device).requires_grad_()
        if 0 not in x.shape and 0 not in w.shape:
            continue
        try:
            y = convolve(x, w, stride=stride, padding=padding, groups=groups)
        except ValueError:  # nothing is left, or no whole group
            continue
        assert not any(v.any().item() for v in [y, *twice(y, [x, w])] if v.numel())
        done += 1
    assert done >= 1


POOLS: dict[str, Callable[[Any], Any]] = {
    "avg_pool1d": lambda x: F.avg_pool1d(x[:, :, 0] if x.shape[2] else x.reshape(*x.shape[:2], 0), 2, 1, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2, 1, 1),
    "avg_pool2d, large": lambda x: F.avg_pool2d(x, 10, 1, 5),
    "max_pool1d": lambda x: F.max_pool1d(x[:, :, 0] if x.shape[2] else x.reshape(*x.shape[:2], 0), 2, 1, 1),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, 1, 1),
    "max_pool2d, gaps": lambda x: F.max_pool2d(x, 2, 1, 1, dilation=2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "unfold": lambda x: F.unfold(x, 2, padding=1),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2.0),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling_of_nothing(name: str, device: sg.Device) -> None:
    done = 0
    for shape in SIZES:
        x = sg.ones(*shape, device=device).requires_grad_()
        try:
            y = POOLS[name](x)
        except (ValueError, IndexError):
            continue
        y.tolist()
        twice(y, [x])
        done += 1
    assert done >= 2
