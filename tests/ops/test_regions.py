"""Regions of images: what torchvision's own operators compute on a CPU, with their gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import regions

# By torchvision 0.28 with PyTorch 2.13. Names: x, rois; then the operator's letter, its number, and `g` for gradients.
STORED = np.load(Path(__file__).parents[1] / "golden" / "regions.npz")
POOLS: list[tuple[float, int, int, int, bool]] = [
    (1.0, 3, 2, 2, False),
    (1.0, 2, 3, -1, True),
    (0.5, 3, 3, 0, False),
    (0.7, 1, 4, 3, True),
]
CONVOLUTIONS: list[tuple[Any, Any, Any, bool]] = [(1, 1, 1, False), (2, 1, 1, True), ((2, 1), (0, 2), (1, 2), True)]


def weighed(y: sg.Tensor) -> sg.Tensor:
    return (y * sg.arange(y.numel(), device=y.device).reshape(y.shape).float().cos()).sum()


def same(x: sg.Tensor | None, name: str) -> None:
    assert x is not None
    np.testing.assert_allclose(x.detach().cpu().numpy(), STORED[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("i", range(4))
def test_pooled_boxes(i: int, device: sg.Device) -> None:
    scale, rows, columns, ratio, aligned = POOLS[i]
    boxes = sg.tensor(STORED["rois"], device=device)
    x = sg.tensor(STORED["x"], device=device, requires_grad=True)
    y = regions.roi_align(x, boxes, (rows, columns), scale, ratio, aligned)
    weighed(y).backward()
    same(y, f"a{i}")
    same(x.grad, f"ga{i}")
    x.grad = None
    y = regions.roi_pool(x, boxes, (rows, columns), scale)
    weighed(y).backward()
    same(y, f"p{i}")
    same(x.grad, f"gp{i}")
    same(regions._pooled(x, boxes, rows, columns, scale)[1], f"pa{i}")


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (1, 2)])
def test_cells_with_channels_of_their_own(rows: int, columns: int, device: sg.Device) -> None:
    """Against loops over cells and pixels."""
    numbers, cells = np.random.RandomState(0), rows * columns
    image = numbers.randn(2, 2 * cells, 9, 8).astype("f")
    boxes = np.array([[0, 0.6, 1.2, 6.4, 7.7], [1, 2.5, 3, 3, 3.2], [0, -3, -2, 4, 5], [1, 3, 2, 20, 30]], "f")
    x, b = sg.tensor(image, device=device, requires_grad=True), sg.tensor(boxes, device=device)
    wanted, gradient = np.zeros((4, 2, rows, columns), "f"), np.zeros_like(image)
    for k, box in enumerate(boxes):
        x1, y1, x2, y2 = (int(np.floor(v * np.float32(0.8) + np.float32(0.5))) for v in box[1:])
        for c in range(2):
            for i in range(rows):
                for j in range(columns):
                    tall, wide = max(y2 - y1, 1) / rows, max(x2 - x1, 1) / columns
                    top, bottom = np.clip([int(i * tall) + y1, int(np.ceil((i + 1) * tall)) + y1], 0, 8)
                    left, right = np.clip([int(j * wide) + x1, int(np.ceil((j + 1) * wide)) + x1], 0, 7)
                    own = int(box[0]), (c * rows + i) * columns + j, slice(top, bottom), slice(left, right)
                    if image[own].size:
                        wanted[k, c, i, j] = image[own].mean()
                        gradient[own] += 1 / image[own].size
    y = regions.ps_roi_pool(x, b, (rows, columns), 0.8)
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(force=True), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(force=True), gradient, rtol=1e-5)  # type: ignore[union-attr]
    for ratio in (2, -1):
        aligned = regions.ps_roi_align(x, b, (rows, columns), 0.8, ratio)
        everything = regions.roi_align(x, b, (rows, columns), 0.8, ratio, aligned=True)
        for c, i, j in np.ndindex(2, rows, columns):
            one = everything[:, (c * rows + i) * columns + j, i, j]
            np.testing.assert_allclose(aligned[:, c, i, j].numpy(force=True), one.numpy(force=True))
    with pytest.raises(ValueError, match=r"ps_roi_pool: \d+ channels, 5 x 5 cells; give a multiple of the cells"):
        regions.ps_roi_pool(x, b, 5)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
def test_boxes_that_overlap(threshold: float, device: sg.Device) -> None:
    boxes, scores = sg.tensor(STORED["b40"], device=device), sg.tensor(STORED["s40"], device=device)
    assert regions.nms(boxes, scores, threshold).tolist() == STORED[f"n40_{threshold}"].tolist()
    assert regions.nms(boxes[:0], scores[:0], threshold).tolist() == []


def test_more_boxes_than_words_of_a_workgroup(device: sg.Device) -> None:
    """Pairs of the same box: the better one of each is kept."""
    numbers = sg.arange(5000, device=device)
    corner = (numbers // 2).float()
    boxes = sg.stack([corner, corner, corner + 0.5, corner + 0.5], 1)
    kept = regions.nms(boxes, numbers.float(), 0.5)
    assert kept.tolist() == list(range(4999, 0, -2))


@pytest.mark.parametrize("i", range(3))
def test_moved_taps(i: int, device: sg.Device) -> None:
    stride, padding, dilation, is_masked = CONVOLUTIONS[i]
    x, offset, weight, bias, mask = (sg.tensor(STORED[f"d{i}{n}"], device=device, requires_grad=True) for n in "xowbm")
    args = (stride, padding, dilation, mask if is_masked else None)
    y = regions.deform_conv2d(x, offset, weight, bias, *args)
    weighed(y).backward()
    same(y, f"d{i}")
    for name, value in zip("xowb", (x, offset, weight, bias), strict=True):
        same(value.grad, f"dg{i}{name}")
    if is_masked:
        same(mask.grad, f"dg{i}m")


def test_launches_do_not_depend_on_sizes(device: sg.Device) -> None:
    def launches(k: int, size: int) -> list[int]:
        x, boxes = sg.rand(2, 3, size, size, device=device).realize(), sg.rand(k, 5, device=device).realize()
        offset, weight = (
            sg.rand(2, 18, size, size, device=device).realize(),
            sg.rand(4, 3, 3, 3, device=device).realize(),
        )
        made = [regions.roi_align(x, boxes, 3, sampling_ratio=2), regions.deform_conv2d(x, offset, weight, padding=1)]
        return [len(y.plan()) for y in made]

    few = launches(3, 8)
    assert few == launches(40, 17) and max(few) <= 8, few


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"nms: boxes \[3, 5\], scores \[3\]; give"):
        regions.nms(sg.zeros(3, 5), sg.zeros(3), 0.5)
    with pytest.raises(ValueError, match=r"roi_align: input \[3, 4, 4\], boxes \[2, 5\]; give"):
        regions.roi_align(sg.zeros(3, 4, 4), sg.zeros(2, 5), 2)
    with pytest.raises(ValueError, match=r"deform_conv2d: input .*; give 2 \* kh \* kw offsets"):
        regions.deform_conv2d(sg.zeros(1, 1, 3, 3), sg.zeros(1, 3, 3, 3), sg.zeros(1, 1, 1, 1))
    boxes = [sg.tensor([[0.0, 0, 3, 3]]), sg.zeros(0, 4), sg.tensor([[1.0, 1, 2, 2]])]
    assert regions.roi_pool(sg.rand(3, 2, 4, 4), boxes, 2).shape == (2, 2, 2, 2)
    for pooled in (regions.roi_pool, regions.roi_align):
        assert pooled(sg.rand(3, 2, 4, 4), sg.zeros(0, 5), 2).shape == (0, 2, 2, 2)
