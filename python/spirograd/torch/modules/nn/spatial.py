"""Sampling of images at computed places: affine_grid and grid_sample, for images [n, channels, h, w]."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core import Tensor, arange, stack, where

__all__ = ["affine_grid", "grid_sample"]


def _base(size: int, like: Tensor, align_corners: bool) -> Tensor:
    """Places of pixels, from -1 to 1."""
    i = arange(size, dtype=like.dtype, device=like.device)
    if align_corners:
        return i * (2 / max(size - 1, 1)) - 1 if size > 1 else i
    return (2 * i + 1) / size - 1


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that an affine map sends the pixels of an image to.

    Args:
        theta: [n, 2, 3].
        size: [n, channels, h, w] of the image to be made.
        align_corners: -1 and 1 are the middles of the outermost pixels, not their outer edges.

    Returns:
        [n, h, w, 2], x before y.

    Raises:
        ValueError: other shapes.
    """
    if tuple(theta.shape[1:]) != (2, 3) or len(size) != 4:
        raise ValueError(f"affine_grid: theta {list(theta.shape)}, size {list(size)}; give [n, 2, 3] and four sizes")
    height, width = size[2], size[3]
    x = _base(width, theta, bool(align_corners)).expand(height, width)
    y = _base(height, theta, bool(align_corners)).unsqueeze(1).expand(height, width)
    places = stack([x, y, x * 0 + 1], -1).reshape(1, -1, 3).expand(theta.shape[0], -1, 3)
    return (places @ theta.mT).reshape(theta.shape[0], height, width, 2)


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Places between two mirrors."""
    span = high - low
    if span == 0:
        return at * 0
    from_low = (at - low).abs()
    rest = from_low.fmod(span)
    flips = (from_low.detach() / span).floor() % 2
    return where(flips == 0, rest, span - rest) + low


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """An image at places between its pixels.

    Args:
        input: [n, channels, h, w].
        grid: [n, out_h, out_w, 2], x before y, from -1 to 1.
        mode: "bilinear" or "nearest".
        padding_mode: what is outside: "zeros", "border", or "reflection" of what is inside.
        align_corners: -1 and 1 are the middles of the outermost pixels, not their outer edges.

    Returns:
        [n, channels, out_h, out_w].

    Raises:
        ValueError: other shapes, or another mode.
    """
    if input.ndim != 4 or grid.ndim != 4:
        raise ValueError(
            f"grid_sample: input {list(input.shape)}, grid {list(grid.shape)}; give images and [n, h, w, 2]"
        )
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: '{mode}' with '{padding_mode}'; use bilinear or nearest, zeros, border or reflection"
        )
    n, channels, height, width = input.shape

    def pixels(place: Tensor, size: int) -> Tensor:
        at = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2
        if padding_mode == "reflection":
            at = _reflected(at, 0.0, size - 1.0) if align_corners else _reflected(at, -0.5, size - 0.5)
        return at if padding_mode == "zeros" else at.clamp(0, size - 1)

    x, y = pixels(grid[..., 0], width), pixels(grid[..., 1], height)
    flat = input.reshape(n, channels, height * width)

    def taken(column: Tensor, row: Tensor) -> Tensor:
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long().reshape(n, 1, -1)
        values = flat.gather(2, index.expand(n, channels, -1)).reshape(n, channels, *grid.shape[1:3])
        return where(inside.unsqueeze(1), values, 0.0)

    if mode == "nearest":
        return taken(x.round(), y.round())
    left, top = x.detach().floor(), y.detach().floor()
    right, bottom = (x - left).unsqueeze(1), (y - top).unsqueeze(1)
    upper = taken(left, top) * (1 - right) + taken(left + 1, top) * right
    lower = taken(left, top + 1) * (1 - right) + taken(left + 1, top + 1) * right
    return upper * (1 - bottom) + lower * bottom
