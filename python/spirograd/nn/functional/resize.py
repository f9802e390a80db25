"""Resizing of images by weighted sums of neighbours along each dimension; the device computes the weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor, where
from ._neighbours import Neighbours, shrinking_first
from .pooling import adaptive_means

__all__ = ["channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle"]

_SMOOTH = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}  # mode -> spatial dimensions


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes an image.

    Args:
        input: [n, channels, ...] with one to three spatial dimensions, of a floating type; the modes of two dimensions
            and those that choose pixels also take uint8.
        size: the sizes of the result: one number, or one for each dimension.
        scale_factor: the ratio of the sizes of the result to those of the input; pass either this or size.
        mode: "nearest", "nearest-exact", "area" (means of the pixels below), "linear", "bilinear" or "trilinear" for
            one, two or three dimensions, or "bicubic" for two.
        align_corners: whether the centres of the corner pixels keep their positions, for the smooth modes.
        recompute_scale_factor: whether to compute the factor from the rounded sizes.
        antialias: whether a smaller result averages over the pixels below, for "bilinear" and "bicubic".

    Returns:
        [n, channels, ...] of the new sizes.

    Raises:
        ValueError: both or none of size and scale_factor are given, or the mode does not fit.

    Example:
        >>> x = sg.tensor([[[0.0, 1.0]]])
        >>> sg.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True).tolist()
        [[[0.0, 0.5, 1.0]]]
    """
    if input.dtype.name == "uint8" and mode in ("bilinear", "bicubic"):
        return _image(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    dims = input.ndim - 2
    _check_mode(input, mode, align_corners, antialias)
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    before = tuple(input.shape[2:])
    if size is None:
        factors = _each("scale_factor", scale_factor, dims)
        after = [math.floor(n * f) for n, f in zip(before, factors, strict=True)]
    else:
        after = [int(n) for n in _each("size", size, dims)]
    if min(before) < 1 or min(after) < 1:
        raise ValueError(f"interpolate: from sizes {list(before)} to {list(after)}; use sizes of 1 or more")
    # The number of pixels of the input per pixel of the result.
    steps = [n / m for n, m in zip(before, after, strict=True)]
    if size is None and not recompute_scale_factor:
        steps = [1 / f for f in factors]
    if mode in ("nearest", "nearest-exact"):
        return _nearest(input, after, steps, 0.5 if mode == "nearest-exact" else 0.0)
    if mode == "area":
        return adaptive_means("interpolate", input, after, dims).to(input.dtype)
    x = input.float() if input.itemsize == 2 else input
    neighbours = _averages if antialias else _between
    fits = mode != "bicubic" and not antialias  # these copy where the sizes are equal, regardless of the factor
    for d in shrinking_first(before, after):
        n, m, step = before[d], after[d], steps[d]
        if n != m or (step != 1 and not fits):
            x = neighbours(x, n, m, step, mode, bool(align_corners)).sums(x, d + 2)
    return x.clone() if x is input else x.to(input.dtype)


def _image(input: Tensor, size: Any, scale_factor: Any, *options: Any) -> Tensor:
    """interpolate() for uint8: first the widths, then the heights, each rounded to integers."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    for dim in (3, 2):
        if size is None:
            factors = _each("scale_factor", scale_factor, 2)
            made = interpolate(
                input.float(), None, [factors[0] if dim == 2 else 1, factors[1] if dim == 3 else 1], *options
            )
        else:
            sizes = list(input.shape[2:])
            sizes[dim - 2] = int(_each("size", size, 2)[dim - 2])
            made = interpolate(input.float(), sizes, None, *options)
        input = (made + 0.5).floor().clamp(0, 255).to(input.dtype)
    return input


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if not 3 <= input.ndim <= 5:
        raise ValueError(f"interpolate: the input has shape {list(input.shape)}; give [n, channels, ...]")
    if mode in _SMOOTH:
        if _SMOOTH[mode] != input.ndim - 2:
            raise ValueError(
                f"interpolate: mode '{mode}' is for {_SMOOTH[mode] + 2} dimensions, the input has shape "
                f"{list(input.shape)}; use another mode"
            )
        if not input.is_floating_point():
            raise TypeError(f"interpolate: mode '{mode}' of {input.dtype.name}; use a floating type")
    elif mode not in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            f"interpolate: mode '{mode}' is unknown; use nearest, nearest-exact, area, {', '.join(_SMOOTH)}"
        )
    elif align_corners is not None:
        raise ValueError(f"interpolate: mode '{mode}' has no align_corners; leave it out")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: mode '{mode}' has no antialias; use bilinear or bicubic")


def _each(name: str, value: Any, dims: int) -> tuple[float, ...]:
    values = tuple(value) if isinstance(value, Sequence) else (value,) * dims
    if len(values) != dims:
        raise ValueError(f"interpolate: {name} {values} for {dims} spatial dimensions; give one for each, or one")
    return values


def _nearest(x: Tensor, after: Sequence[int], steps: Sequence[float], shift: float) -> Tensor:
    before = tuple(x.shape[2:])
    if all(m % n == 0 and step == n / m for n, m, step in zip(before, after, steps, strict=True)):
        # Each pixel becomes a block; its gradient is the sum over the block.
        blocks = [k for n, m in zip(before, after, strict=True) for k in (n, m // n)]
        apart = x.reshape(*x.shape[:2], *(k for n in before for k in (n, 1)))
        return apart.expand(*x.shape[:2], *blocks).clone().reshape(*x.shape[:2], *after)
    for dim, (n, m, step) in enumerate(zip(before, after, steps, strict=True), 2):
        position = (_core.arange(m, dtype=_core.float32, device=x.device) + shift) * step
        x = x.index_select(dim, position.floor().long().clamp(max=n - 1))
    return x


def _numbers(x: Tensor, count: int) -> Tensor:
    return _core.arange(count, dtype=x.dtype, device=x.device)


def _near(first: Tensor, taps: int, n: int) -> tuple[Tensor, Tensor]:
    """The first index [m] and all indices [m, taps] of `taps` consecutive elements out of n."""
    first = first.clamp(0, n - taps)
    return first, first.unsqueeze(1) + _numbers(first, taps)


def _readers(x: Tensor, n: int, m: int, step: float, reach: float, align_corners: bool) -> tuple[Tensor, int]:
    """For each of n elements, the first of the m positions whose centres may lie less than `reach` elements away, and
    the number of such positions, with one more on both sides for rounding."""
    if step * m <= 2 * reach:
        return _core.arange(n, device=x.device) * 0, m
    middle = _numbers(x, n) / step if align_corners else (_numbers(x, n) + 0.5) / step - 0.5
    count = min(math.ceil(2 * reach / step) + 2, m)
    return (middle - reach / step).floor().clamp(0, m - count).long(), count


def _between(x: Tensor, n: int, m: int, step: float, mode: str, align_corners: bool) -> Neighbours:
    """Linear or cubic interpolation, with the edge pixel repeated beyond the edge."""
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    source = _numbers(x, m) * step if align_corners else (_numbers(x, m) + 0.5) * step - 0.5
    if mode != "bicubic":
        source = source.clamp(0, n - 1)
        first, pixel = _near(source.floor(), min(2, n), n)
        weights = _triangle(source.unsqueeze(1) - pixel)
        return Neighbours(first.long(), weights, *_readers(x, n, m, step, 1, align_corners))
    low = source.floor()
    first, pixel = _near(low - 1, min(4, n), n)
    weights = _core.zeros_like(pixel)
    for k in range(-1, 3):
        tap = (low + k).unsqueeze(1)
        weights = weights + where(tap.clamp(0, n - 1) == pixel, _cubic(source.unsqueeze(1) - tap, -0.75), 0.0)
    return Neighbours(first.long(), weights, *_readers(x, n, m, step, 2, align_corners))


def _averages(x: Tensor, n: int, m: int, step: float, mode: str, align_corners: bool) -> Neighbours:
    """A filter with the width of a pixel of the result."""
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    wide = max(step, 1.0)
    reach = wide if mode == "bilinear" else 2 * wide
    middle = (_numbers(x, m) + 0.5) * step
    first, pixel = _near((middle - reach).floor(), min(math.ceil(2 * reach) + 2, n), n)
    distance = (pixel + 0.5 - middle.unsqueeze(1)) * (1 / wide)
    weights = _triangle(distance) if mode == "bilinear" else _cubic(distance, -0.5)
    return Neighbours(first.long(), weights / weights.sum(1, keepdim=True), *_readers(x, n, m, step, reach, False))


def _triangle(t: Tensor) -> Tensor:
    return (1 - t.abs()).clamp(min=0)


def _cubic(t: Tensor, a: float) -> Tensor:
    """Keys' cubic kernel (1981)."""
    t = t.abs()
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return where(t <= 1, near, where(t < 2, far, 0.0))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Moves channels to pixels: [..., channels * r * r, h, w] -> [..., channels, h * r, w * r] (Shi et al., 2016).

    Args:
        input: [..., channels * r * r, h, w].
        upscale_factor: r.

    Raises:
        ValueError: the input has fewer than three dimensions, or its number of channels is not a multiple of r * r.

    Example:
        >>> sg.nn.functional.pixel_shuffle(sg.arange(4.0).reshape(1, 4, 1, 1), 2).tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    r = upscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: the input has shape {list(input.shape)}; give [..., channels, h, w] with a multiple of "
            f"{r} * {r} channels"
        )
    *n, channels, h, w = input.shape
    apart = input.reshape(math.prod(n), channels // (r * r), r, r, h, w)
    return apart.permute(0, 1, 4, 2, 5, 3).clone().reshape(*n, channels // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Moves pixels to channels: [..., channels, h * r, w * r] -> [..., channels * r * r, h, w].

    Args:
        input: [..., channels, h * r, w * r].
        downscale_factor: r.

    Raises:
        ValueError: the input has fewer than three dimensions, or height or width is not a multiple of r.

    Example:
        >>> sg.nn.functional.pixel_unshuffle(sg.arange(4.0).reshape(1, 1, 2, 2), 2).flatten().tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    r = downscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise ValueError(
            f"pixel_unshuffle: the input has shape {list(input.shape)}; give [..., channels, h, w] with multiples of "
            f"{r} in h and w"
        )
    *n, channels, h, w = input.shape
    apart = input.reshape(math.prod(n), channels, h // r, r, w // r, r)
    return apart.permute(0, 1, 3, 5, 2, 4).clone().reshape(*n, channels * r * r, h // r, w // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves the channels of groups: [n, channels, ...] (Zhang et al., 2018).

    Args:
        input: [n, channels, ...].
        groups: number of groups.

    Raises:
        ValueError: the number of channels is not a multiple of groups.

    Example:
        >>> sg.nn.functional.channel_shuffle(sg.arange(4.0).reshape(1, 4, 1), 2).flatten().tolist()
        [0.0, 2.0, 1.0, 3.0]
    """
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: the input has shape {list(input.shape)}; give [n, channels, ...] with a multiple of "
            f"{groups} channels"
        )
    n, channels, *rest = input.shape
    apart = input.reshape(n, groups, channels // groups, math.prod(rest))
    return apart.transpose(1, 2).clone().reshape(n, channels, *rest)
