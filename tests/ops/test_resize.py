"""Images of another size: known values, gradients, and PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional
LINE = [0.0, 1.0, 4.0, 9.0]


def line(**options: Any) -> list[float]:
    return [round(v, 5) for v in F.interpolate(sg.tensor([[LINE]]), **options).flatten().tolist()]


def test_known_values() -> None:
    assert line(scale_factor=2) == [0, 0, 1, 1, 4, 4, 9, 9]
    assert line(size=6) == [0, 0, 1, 4, 4, 9]
    assert line(size=2) == [0, 4] and line(size=2, mode="nearest-exact") == [1, 9]
    assert line(size=2, mode="linear") == [0.5, 6.5] == line(size=2, mode="area")
    assert line(scale_factor=2, mode="linear") == [0, 0.25, 0.75, 1.75, 3.25, 5.25, 7.75, 9]
    assert line(size=7, mode="linear", align_corners=True) == [0, 0.5, 1, 2.5, 4, 6.5, 9]
    assert line(size=1, mode="linear", align_corners=True) == [0] and line(size=3, mode="area") == [0.5, 2.5, 6.5]
    assert line(size=4, mode="linear") == LINE


CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    *(((2, 3, 5), {"mode": m, **o}) for m in ("nearest", "nearest-exact", "area", "linear")
      for o in ({"size": 8}, {"size": 3}, {"scale_factor": 2}, {"scale_factor": 1.7})),
    ((2, 3, 5), {"mode": "linear", "size": 8, "align_corners": True}),
    ((2, 3, 5), {"mode": "linear", "scale_factor": 1.7, "recompute_scale_factor": True}),
    *(((1, 2, 4, 5), {"mode": m, **o}) for m in ("nearest", "area", "bilinear", "bicubic")
      for o in ({"size": (7, 3)}, {"scale_factor": (2, 3)}, {"scale_factor": 0.6})),
    *(((1, 2, 4, 5), {"mode": m, **o, "align_corners": True}) for m in ("bilinear", "bicubic")
      for o in ({"size": (7, 3)}, {"size": (1, 5)})),
    *(((1, 2, 6, 5), {"mode": m, **o, "antialias": True}) for m in ("bilinear", "bicubic")
      for o in ({"size": (3, 9)}, {"scale_factor": 0.5}, {"size": (4, 2), "align_corners": True})),
    *(((1, 1, 2, 3, 4), {"mode": m, "size": (3, 2, 8)}) for m in ("nearest", "trilinear", "area")),
    ((1, 1, 2, 3, 4), {"mode": "nearest", "scale_factor": 2}),
    ((1, 1, 3, 3), {"mode": "bilinear", "scale_factor": 1.3}),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "options"), CASES)
def test_as_pytorch(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    a = np.random.default_rng(1).normal(size=shape)
    x, t = sg.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, u = F.interpolate(x, **options), torch.nn.functional.interpolate(t, **options)
    assert y.shape == tuple(u.shape)
    np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-9, atol=1e-9)
    (y * y).sum().backward()
    (u * u).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-9)


SOME = [case for case in CASES if len(case[0]) == 4 and "size" in case[1]]


@pytest.mark.parametrize(("shape", "options"), SOME)
def test_gradcheck(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    x = sg.tensor(np.random.default_rng(2).normal(size=shape), requires_grad=True)
    assert sg.autograd.gradcheck(lambda x: F.interpolate(x, **options), [x])
    assert sg.autograd.gradgradcheck(lambda x: F.interpolate(x, **options) ** 2, [x])


@pytest.mark.parametrize("options", [o for s, o in SOME if o["size"] == (7, 3) and "align_corners" not in o])
def test_devices_agree(options: dict[str, Any], device: sg.Device) -> None:
    a = np.random.default_rng(3).normal(size=(2, 2, 4, 5)).astype(np.float32)
    want = F.interpolate(sg.tensor(a.astype(np.float64)), **options).numpy()
    x = sg.tensor(a, device=device, requires_grad=True)
    y = F.interpolate(x, **options)
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-5, atol=1e-5)
    y.sum().backward()
    assert x.grad.sum().item() == pytest.approx(y.numel(), rel=1e-5)


def test_types() -> None:
    x = sg.tensor([[[1, 2]]])
    assert F.interpolate(x, scale_factor=2).tolist() == [[[1, 1, 2, 2]]]
    assert F.interpolate(x, size=3).dtype == sg.int64
    half = F.interpolate(x.half(), size=3, mode="linear", align_corners=True)
    assert half.dtype == sg.float16 and half.tolist() == [[[1, 1.5, 2]]]
    with pytest.raises(TypeError, match="mode 'linear' of int64"):
        F.interpolate(x, size=3, mode="linear")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.interpolate(x), "give either size or scale_factor"),
        (lambda x: F.interpolate(x, 3, 2.0), "give either size or scale_factor"),
        (lambda x: F.interpolate(x, 3, mode="cubic"), "mode 'cubic' is unknown"),
        (lambda x: F.interpolate(x, 3, mode="bilinear"), r"mode 'bilinear' is for 4 dimensions, .* \[1, 1, 4\]"),
        (lambda x: F.interpolate(x, 3, align_corners=True), "mode 'nearest' has no align_corners"),
        (lambda x: F.interpolate(x, 3, mode="linear", antialias=True), "mode 'linear' has no antialias"),
        (lambda x: F.interpolate(x, (3, 3)), r"size \(3, 3\) for 1 spatial dimensions"),
        (lambda x: F.interpolate(x, 0), "use sizes of 1 or more"),
        (lambda x: F.interpolate(x[0], 3), "the input has shape"),
        (lambda x: F.pixel_shuffle(x, 2), "pixel_shuffle: the input has shape"),
        (lambda x: F.pixel_unshuffle(x, 2), "pixel_unshuffle: the input has shape"),
        (lambda x: F.channel_shuffle(x, 2), "channel_shuffle: the input has shape"),
    ],
)
def test_errors(call: Callable[[sg.Tensor], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(sg.ones(1, 1, 4))
