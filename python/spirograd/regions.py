"""Regions of images: boxes that overlap, and what is inside of them, as detectors need it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .ops import GlslKernel, glsl_kernel

__all__ = ["deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]

_KEPT = """
shared uint gone[WORDS];
void main() {
  uint me = gl_LocalInvocationIndex, n = keep_size;
  float limit = load(threshold, 0);
  for (uint w = me; w < WORDS; w += 256) gone[w] = 0;
  barrier();
  for (uint i = 0; i < n; ++i) {
    if ((gone[i / 32] >> (i % 32) & 1u) == 0) {
      vec2 low = vec2(load(boxes, 4 * i), load(boxes, 4 * i + 1));
      vec2 high = vec2(load(boxes, 4 * i + 2), load(boxes, 4 * i + 3));
      float area = (high.x - low.x) * (high.y - low.y);
      for (uint j = i + 1 + me; j < n; j += 256) {
        vec2 a = vec2(load(boxes, 4 * j), load(boxes, 4 * j + 1));
        vec2 b = vec2(load(boxes, 4 * j + 2), load(boxes, 4 * j + 3));
        vec2 both = max(min(high, b) - max(low, a), vec2(0.0));
        float inside = both.x * both.y;
        if (inside / (area + (b.x - a.x) * (b.y - a.y) - inside) > limit) atomicOr(gone[j / 32], 1u << (j % 32));
      }
    }
    barrier();
  }
  for (uint j = me; j < n; j += 256) store(keep, j, (gone[j / 32] >> (j % 32) & 1u) == 0);
}
"""
_MOST = 1 << 17  # boxes, of which a workgroup keeps a bit each


def _kept(boxes: Tensor, threshold: Tensor) -> Tensor:
    """On the CPU: whether each box is kept, of those in the order of their scores."""
    corners, limit = boxes.numpy(), threshold.item()
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept = np.ones(len(corners), bool)
    for i, (low_x, low_y, high_x, high_y) in enumerate(corners):
        if kept[i]:
            rest = corners[i + 1 :]
            width = np.minimum(high_x, rest[:, 2]) - np.maximum(low_x, rest[:, 0])
            height = np.minimum(high_y, rest[:, 3]) - np.maximum(low_y, rest[:, 1])
            inside = np.maximum(width, 0) * np.maximum(height, 0)
            with np.errstate(all="ignore"):
                kept[i + 1 :] &= ~(inside / (areas[i] + areas[i + 1 :] - inside) > limit)
    return _core.tensor(kept)


@functools.cache
def _kernel(words: int) -> GlslKernel:
    keep = ("keep", lambda boxes, threshold: boxes[0], _core.bool)
    names = ["boxes", "threshold"]
    return glsl_kernel("nms", _KEPT, names, [keep], 1, 256, {"WORDS": words}, cpu=_kept)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that overlap with no better one, by their scores, the best first.

    Args:
        boxes: [n, 4], x1, y1, x2, y2 each.
        scores: [n].
        iou_threshold: the most that two boxes may have in common, as a share of what they cover together.

    Returns:
        int64 [kept], indices of boxes.

    Raises:
        ValueError: other shapes, or more than 131,072 boxes.

    Example:
        >>> boxes = sg.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]])
        >>> sg.regions.nms(boxes, sg.tensor([0.8, 0.9, 0.5]), 0.5).tolist()
        [1, 2]
    """
    n = len(scores)
    if tuple(boxes.shape) != (n, 4) or scores.ndim != 1 or n > _MOST:
        raise ValueError(f"nms: boxes {list(boxes.shape)}, scores {list(scores.shape)}; give [n, 4], [n], n to {_MOST}")
    if n == 0:
        return _core.zeros(0, dtype=_core.int64, device=boxes.device)
    order = scores.detach().argsort(descending=True, stable=True)
    sorted_boxes = boxes.detach()[order]
    if boxes.dtype.itemsize < 4 or boxes.device.kind == "gpu":
        sorted_boxes = sorted_boxes.float()
    words = 1 << max(5, (-(-n // 32) - 1).bit_length())
    limit = _core.tensor([iou_threshold], dtype=_core.float32, device=boxes.device)
    return order[_kernel(words)(sorted_boxes, limit)]


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    a, b = (value, value) if isinstance(value, int) else value
    return a, b


def _checked(
    op: str, input: Tensor, boxes: Tensor | Sequence[Tensor], size: int | Sequence[int]
) -> tuple[Tensor, int, int]:
    """Boxes as [k, 5], each with the number of its image, and the output's height and width."""
    if not isinstance(boxes, Tensor):
        numbers = [_core.full((len(b), 1), i, dtype=b.dtype, device=b.device) for i, b in enumerate(boxes)]
        boxes = _core.cat([_core.cat([i, b], 1) for i, b in zip(numbers, boxes, strict=True)])
    if input.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 5:
        raise ValueError(
            f"{op}: input {list(input.shape)}, boxes {list(boxes.shape)}; give [n, channels, h, w] and [k, 5]"
        )
    return boxes.detach(), *_pair(size)


def _table(input: Tensor) -> Tensor:
    """A row of channels for each pixel of all images."""
    return input.permute(0, 2, 3, 1).reshape(-1, input.shape[1])


def _between(at: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The pixels before and behind each place along a dimension, the share of the second, and whether it is inside."""
    inside = (at >= -1) & (at <= size)
    before = at.clamp(min=0).floor().clamp(max=size - 1)
    share = _core.where(before >= size - 1, 0.0, at.clamp(min=0) - before)
    return before.long(), (before + 1).clamp(max=size - 1).long(), share, inside


def roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Means of pixels in the cells of a grid in each box (He et al., 2017), interpolated at regular places.

    Args:
        input: [n, channels, h, w].
        boxes: [k, 5], the number of the image and x1, y1, x2, y2 each, or [., 4] for each image.
        output_size: cells of a box along h and w.
        spatial_scale: the size of a pixel of the image in those of the input.
        sampling_ratio: places along a side of a cell; 0 and less: as many as pixels, by the largest box's number, which
            is read from the device.
        aligned: whether pixels are squares around their places, which shifts boxes by half a pixel.

    Returns:
        [k, channels, rows, columns] of output_size.

    Raises:
        ValueError: other shapes.

    Example:
        >>> image = sg.arange(16.0).reshape(1, 1, 4, 4)
        >>> sg.regions.roi_align(image, sg.tensor([[0.0, 0, 0, 3, 3]]), 1, aligned=True).round().item()
        5.0
    """
    boxes, rows, columns = _checked("roi_align", input, boxes, output_size)
    h, w = input.shape[2:]
    boxes = boxes.to(input.dtype)
    low = boxes[:, 1:3] * spatial_scale - (0.5 if aligned else 0.0)
    size = boxes[:, 3:5] * spatial_scale - (0.5 if aligned else 0.0) - low
    if not aligned:
        size = size.clamp(min=1)
    cells = _core.tensor([columns, rows], dtype=size.dtype, device=size.device)
    counts = (size / cells).ceil() if sampling_ratio <= 0 else size * 0 + sampling_ratio
    most = sampling_ratio if sampling_ratio > 0 else max(int(counts.max().item()), 1) if len(boxes) else 1
    steps = _core.arange(most, dtype=size.dtype, device=size.device)

    def places(axis: int, number: int) -> tuple[Tensor, Tensor]:
        """Where a box is looked at along an axis, [k, cells, places], and the weight of each."""
        cell = size[:, axis, None, None] / number
        count = counts[:, axis, None, None]
        at = low[:, axis, None, None] + _core.arange(number, dtype=size.dtype, device=size.device)[:, None] * cell
        at = at + (steps + 0.5) * cell / count
        weight = _core.where(steps < count, 1 / count.clamp(min=1), 0.0).expand(at.shape)
        return at.reshape(len(boxes), number * most), weight.reshape(len(boxes), number * most)

    (y, weight_y), (x, weight_x) = places(1, rows), places(0, columns)
    table, image = _table(input), boxes[:, 0].long()[:, None, None] * h
    total: Any = 0.0
    above, below, share_y, inside_y = _between(y, h)
    left, right, share_x, inside_x = _between(x, w)
    weight_y, weight_x = weight_y * inside_y, weight_x * inside_x
    for row, part_y in ((above, 1 - share_y), (below, share_y)):
        for column, part_x in ((left, 1 - share_x), (right, share_x)):
            weight = (part_y * weight_y)[:, :, None] * (part_x * weight_x)[:, None, :]
            pixel = (image + row[:, :, None]) * w + column[:, None, :]
            total = total + table[pixel] * weight[..., None]
    grid = total.reshape(len(boxes), rows, most, columns, most, input.shape[1])
    means: Tensor = grid.sum((2, 4)).permute(0, 3, 1, 2)
    return means


def _rounded(x: Tensor) -> Tensor:
    """To the nearest whole number, halves away from 0."""
    whole: Tensor = _core.where(x < 0, (x - 0.5).ceil(), (x + 0.5).floor())
    return whole


def _pooled(input: Tensor, boxes: Tensor, rows: int, columns: int, scale: float) -> tuple[Tensor, Tensor]:
    """The largest pixels in the cells of a grid in each box, and their numbers in the image, or -1."""
    channels, h, w = input.shape[1:]
    corners = _rounded(boxes[:, 1:].float() * scale)

    def cells(axis: int, number: int, size: int) -> tuple[Tensor, Tensor]:
        """The first and the last pixel, plus one, of each cell: [k, number]."""
        low = corners[:, axis, None]
        step = (corners[:, axis + 2, None] - low + 1).clamp(min=1) / number
        numbers = _core.arange(number, dtype=step.dtype, device=step.device)
        first, end = (numbers * step).floor() + low, ((numbers + 1) * step).ceil() + low
        return first.clamp(0, size).long(), end.clamp(0, size).long()

    (top, bottom), (left, right) = cells(1, rows, h), cells(0, columns, w)
    spans = [bottom - top, right - left]
    tall, wide = (max(int(span.max().item()), 1) if len(boxes) else 1 for span in spans)
    y = top[..., None] + _core.arange(tall, device=input.device)
    x = left[..., None] + _core.arange(wide, device=input.device)
    inside = (y < bottom[..., None])[:, :, None, :, None] & (x < right[..., None])[:, None, :, None, :]
    at = y.clamp(max=h - 1)[:, :, None, :, None] * w + x.clamp(max=w - 1)[:, None, :, None, :]
    at, inside = at.flatten(3), inside.flatten(3)  # [k, rows, columns, pixels]
    image = boxes[:, 0].long()[:, None, None, None]
    values = _core.where(inside[..., None], _table(input.detach())[image * (h * w) + at], -float("inf"))
    best = at.gather(3, values.argmax(3))  # [k, rows, columns, channels]
    picked = _core.take(input, (image * channels + _core.arange(channels, device=input.device)) * (h * w) + best)
    there = inside.any(3, keepdim=True)
    return _core.where(there, picked, 0.0).permute(0, 3, 1, 2), _core.where(there, best, -1).permute(0, 3, 1, 2)


def roi_pool(
    input: Tensor, boxes: Tensor | Sequence[Tensor], output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """The largest pixel in each cell of a grid in each box (Girshick, 2015); sizes are read from the device.

    Args:
        input: [n, channels, h, w].
        boxes: [k, 5], the number of the image and x1, y1, x2, y2 each, or [., 4] for each image.
        output_size: cells of a box along h and w.
        spatial_scale: the size of a pixel of the image in those of the input.

    Returns:
        [k, channels, rows, columns] of output_size; 0 in cells outside of the image.

    Raises:
        ValueError: other shapes.

    Example:
        >>> image = sg.arange(16.0).reshape(1, 1, 4, 4)
        >>> sg.regions.roi_pool(image, sg.tensor([[0.0, 0, 0, 3, 3]]), 2).tolist()
        [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    boxes, rows, columns = _checked("roi_pool", input, boxes, output_size)
    return _pooled(input, boxes, rows, columns, spatial_scale)[0]


def _groups(op: str, input: Tensor, rows: int, columns: int) -> int:
    """How many channels are left when each cell has its own."""
    if input.shape[1] % (rows * columns):
        raise ValueError(f"{op}: {input.shape[1]} channels, {rows} x {columns} cells; give a multiple of the cells")
    return input.shape[1] // (rows * columns)


def ps_roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """roi_align, aligned, where each cell has channels of its own (position-sensitive; Li et al., 2018).

    Args:
        input: [n, channels * rows * columns, h, w].
        boxes, output_size, spatial_scale, sampling_ratio: as of roi_align.

    Returns:
        [k, channels, rows, columns].

    Raises:
        ValueError: other shapes.

    Example:
        >>> image = sg.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 3, 3)
        >>> sg.regions.ps_roi_align(image, sg.tensor([[0.0, 0, 0, 3, 3]]), 2).tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    rows, columns = _pair(output_size)
    channels = _groups("ps_roi_align", input, rows, columns)
    all_cells = roi_align(input, boxes, (rows, columns), spatial_scale, sampling_ratio, aligned=True)
    of_all = all_cells.reshape(-1, channels, rows, columns, rows, columns)
    return of_all.diagonal(0, 2, 4).diagonal(0, 2, 3)


def ps_roi_pool(
    input: Tensor, boxes: Tensor | Sequence[Tensor], output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """The mean pixel in each cell of a grid in each box, where each cell has channels of its own (Dai et al., 2016).

    As in torchvision, cells end before the last row and column of the image; sizes are read from the device.

    Args:
        input: [n, channels * rows * columns, h, w].
        boxes, output_size, spatial_scale: as of roi_pool.

    Returns:
        [k, channels, rows, columns]; 0 in cells outside of the image.

    Raises:
        ValueError: other shapes.

    Example:
        >>> image = sg.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 3, 3)
        >>> sg.regions.ps_roi_pool(image, sg.tensor([[0.0, 0, 0, 2, 2]]), 2).tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    boxes, rows, columns = _checked("ps_roi_pool", input, boxes, output_size)
    channels, (h, w) = _groups("ps_roi_pool", input, rows, columns), input.shape[2:]
    corners = _rounded(boxes[:, 1:].float() * spatial_scale)

    def cells(axis: int, number: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """The pixels of each cell, [k, number, most], whether each is in it, and how many are."""
        low = corners[:, axis, None]
        step = (corners[:, axis + 2, None] - low).clamp(min=1) / number
        numbers = _core.arange(number, dtype=step.dtype, device=step.device)
        first, end = (numbers * step).floor() + low, ((numbers + 1) * step).ceil() + low
        first, end = first.clamp(0, size - 1).long(), end.clamp(0, size - 1).long()
        most = max(int((end - first).max().item()), 1) if len(boxes) else 1
        pixels = first[..., None] + _core.arange(most, device=input.device)
        return pixels.clamp(max=size - 1), pixels < end[..., None], (end - first).clamp(min=0)

    (y, inside_y, tall), (x, inside_x, wide) = cells(1, rows, h), cells(0, columns, w)
    own = _core.arange(channels * rows * columns, device=input.device).reshape(channels, rows, columns)
    plane = boxes[:, 0].long()[:, None, None, None] * input.shape[1] + own  # [k, channels, rows, columns]
    place = (y[:, :, None, :, None] * w + x[:, None, :, None, :]).flatten(3)
    inside = (inside_y[:, :, None, :, None] & inside_x[:, None, :, None, :]).flatten(3)
    values = _core.take(input, plane[..., None] * (h * w) + place[:, None]) * inside[:, None]
    count = (tall[:, :, None] * wide[:, None, :]).clamp(min=1)
    return values.sum(4) / count[:, None]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    mask: Tensor | None = None,
) -> Tensor:
    """A convolution whose taps are moved, at each place by other amounts (Dai et al., 2017; with a mask, Zhu et al.).

    Args:
        input: [n, channels, h, w].
        offset: [n, 2 * parts * kh * kw, out_h, out_w]: by how much, along h and along w, each tap of a part of the
            channels is moved.
        weight: [out_channels, channels / groups, kh, kw].
        bias: [out_channels].
        stride: pixels between places.
        padding: pixels of zeros around the input.
        dilation: pixels between taps.
        mask: [n, parts * kh * kw, out_h, out_w], factors of the taps.

    Returns:
        [n, out_channels, out_h, out_w].

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x, offset = sg.ones(1, 1, 3, 3), sg.zeros(1, 2, 3, 3)
        >>> sg.regions.deform_conv2d(x, offset, sg.full((1, 1, 1, 1), 2.0)).sum().item()
        18.0
    """
    (n, channels, h, w), (outputs, depth, kh, kw), taps = input.shape, weight.shape, weight.shape[2] * weight.shape[3]
    rows, columns, parts, groups = *offset.shape[2:], offset.shape[1] // (2 * taps), channels // depth
    if parts == 0 or channels % parts or offset.shape[1] != 2 * taps * parts or channels != groups * depth:
        raise ValueError(
            f"deform_conv2d: input {list(input.shape)}, offset {list(offset.shape)}, weight {list(weight.shape)}; give "
            "2 * kh * kw offsets for each part of the channels"
        )

    def places(axis: int, kernel: int, size: int) -> Tensor:
        """Where the taps of a dimension lie without offsets: [kernel, size]."""
        step, start, gap = _pair(stride)[axis], _pair(padding)[axis], _pair(dilation)[axis]
        taps_at = _core.arange(kernel, device=input.device)[:, None] * gap
        return (taps_at + _core.arange(size, device=input.device) * step - start).to(offset.dtype)

    moved = offset.reshape(n, parts, kh, kw, 2, rows, columns)
    y = moved[:, :, :, :, 0] + places(0, kh, rows)[:, None, :, None]
    x = moved[:, :, :, :, 1] + places(1, kw, columns)[None, :, None, :]
    table = input.reshape(n * parts, channels // parts, h, w).permute(0, 2, 3, 1).reshape(n * parts * h * w, -1)
    image = (_core.arange(n * parts, device=input.device) * h).reshape(n, parts, 1, 1, 1, 1)
    total: Any = 0.0
    for row in (y.detach().floor(), y.detach().floor() + 1):
        for column in (x.detach().floor(), x.detach().floor() + 1):
            inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
            share = (1 - (y - row).abs()) * (1 - (x - column).abs()) * inside
            pixel = (image + row.clamp(0, h - 1).long()) * w + column.clamp(0, w - 1).long()
            total = total + table[pixel] * share[..., None]
    if mask is not None:
        total = total * mask.reshape(n, parts, kh, kw, rows, columns, 1)
    patches = total.permute(0, 1, 6, 2, 3, 4, 5).reshape(n, groups, depth * taps, rows * columns)
    made: Tensor = (weight.reshape(groups, outputs // groups, depth * taps) @ patches).reshape(
        n, outputs, rows, columns
    )
    return made if bias is None else made + bias[:, None, None]
