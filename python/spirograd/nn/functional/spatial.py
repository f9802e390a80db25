"""Sampling of images and volumes at computed places: affine_grid and grid_sample."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..._core import Tensor, arange, stack, where
from ...base.steps import flat_in
from .._arguments import same_type

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
        theta: [n, 2, 3], or [n, 3, 4] of volumes.
        size: [n, channels, h, w] of the image to be made, or [n, channels, d, h, w].
        align_corners: -1 and 1 are the middles of the outermost pixels, not their outer edges.

    Returns:
        [n, h, w, 2], x before y, or [n, d, h, w, 3].

    Raises:
        ValueError: other shapes.

    Example:
        >>> theta = sg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> sg.nn.functional.affine_grid(theta, (1, 1, 1, 2)).flatten().tolist()
        [-0.5, 0.0, 0.5, 0.0]
    """
    sizes = tuple(size)[2:]
    n = len(sizes)
    if n not in (2, 3) or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"affine_grid: theta {list(theta.shape)}, size {list(size)}; give [n, 2, 3] and four sizes, or [n, 3, 4] "
            "and five"
        )
    places: list[Tensor] = []
    for i, length in enumerate(sizes):
        along = _base(length, theta, bool(align_corners)).reshape(-1, *(1,) * (n - 1 - i))
        places.insert(0, along.expand(*sizes))
    flat = stack([*places, places[0] * 0 + 1], -1).reshape(1, -1, n + 1).expand(theta.shape[0], -1, n + 1)
    return (flat @ theta.mT).reshape(theta.shape[0], *sizes, n)


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Places between two mirrors."""
    span = high - low
    if span == 0:
        return at * 0
    from_low = (at - low).abs()
    rest = from_low.fmod(span)
    flips = (from_low.detach() / span).floor() % 2
    return where(flips == 0, rest, span - rest) + low


def _cubic(t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights of four neighbours, of which the middle ones are t and 1 - t away (Keys, 1981, with a = -3/4)."""

    def inner(x: Tensor) -> Tensor:
        return (1.25 * x - 2.25) * x * x + 1

    def outer(x: Tensor) -> Tensor:
        return ((-0.75 * x + 3.75) * x - 6) * x + 3

    return outer(t + 1), inner(t), inner(1 - t), outer(2 - t)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """An image at places between its pixels.

    Args:
        input: [n, channels, h, w], or [n, channels, d, h, w].
        grid: [n, out_h, out_w, 2], x before y, from -1 to 1; of volumes [n, out_d, out_h, out_w, 3].
        mode: "bilinear", "nearest", or of images "bicubic".
        padding_mode: what is outside: "zeros", "border", or "reflection" of what is inside.
        align_corners: -1 and 1 are the middles of the outermost pixels, not their outer edges.

    A place that is NaN or infinite gives NaN, but an infinite one with "border" the border, except for "bicubic". With
    "nearest", it gives 0, or, with "border" and "reflection", a pixel at the border.

    Returns:
        [n, channels, out_h, out_w], or [n, channels, out_d, out_h, out_w].

    Raises:
        ValueError: other shapes, or another mode.

    Example:
        >>> image, middle = sg.tensor([[[[1.0, 3.0]]]]), sg.zeros(1, 1, 1, 2)
        >>> sg.nn.functional.grid_sample(image, middle).item()
        2.0
    """
    dims = input.ndim - 2
    if dims not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != dims:
        raise ValueError(
            f"grid_sample: input {list(input.shape)}, grid {list(grid.shape)}; give images and [n, h, w, 2], or "
            "volumes and [n, d, h, w, 3]"
        )
    modes = ("bilinear", "nearest", "bicubic") if dims == 2 else ("bilinear", "nearest")
    if mode not in modes or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: '{mode}' with '{padding_mode}'; use {', '.join(modes)}, with zeros, border or reflection"
        )
    same_type("grid_sample", input, grid)
    n, channels, *sizes = input.shape

    def pixels(place: Tensor, size: int) -> Tensor:
        return (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2

    def padded(at: Tensor, size: int) -> Tensor:
        if padding_mode == "reflection":
            at = _reflected(at, 0.0, size - 1.0) if align_corners else _reflected(at, -0.5, size - 0.5)
        if padding_mode == "zeros":
            return at
        return where((at > 0) & (at < size - 1), at, at.detach().clamp(0, size - 1))  # no gradient at the border

    at = [pixels(grid[..., dims - 1 - i], size) for i, size in enumerate(sizes)]  # outermost first, as sizes
    if mode != "bicubic":
        at = [padded(places, size) for places, size in zip(at, sizes, strict=True)]
    flat = input.reshape(n, channels, -1)

    def taken(corner: Sequence[Tensor], weights: Sequence[Tensor] = ()) -> Tensor:
        """The pixels at these places, times weights; 0 outside, where NaN is, too."""
        within = [(place >= 0) & (place < size) for place, size in zip(corner, sizes, strict=True)]
        inside, index = within[0], where(within[0], corner[0], 0.0).long()
        for i in range(1, dims):
            inside = inside & within[i]
            index = index * sizes[i] + where(within[i], corner[i], 0.0).long()
        rows = index.reshape(n, 1, -1).expand(n, channels, -1)
        inside = inside.unsqueeze(1)
        values = where(inside, flat.gather(2, rows).reshape(n, channels, *grid.shape[1:-1]), 0.0)
        if not weights:
            return values
        # Once more, for a weight that is NaN, and for the gradient of the weight.
        return where(inside, values * math.prod(weights[1:], start=weights[0]).unsqueeze(1), 0.0)

    if mode == "nearest":
        if padding_mode != "zeros":  # what is nowhere is at the border
            at = [where(place.isnan(), 0.0, place) for place in at]
        return flat_in(taken([place.round() for place in at]), grid)
    # Along each dimension, the places of neighbours and their weights.
    neighbours = []
    for place, size in zip(at, sizes, strict=True):
        low = place.detach().floor()
        part = place - low
        if mode == "bicubic":
            neighbours.append([(padded(low + k, size), w) for k, w in zip((-1, 0, 1, 2), _cubic(part), strict=True)])
        else:
            neighbours.append([(low, 1 - part), (low + 1, part)])
    values = [taken(*zip(*corner, strict=True)) for corner in itertools.product(*neighbours)]
    somewhere = math.prod([place.isfinite() for place in at[1:]], start=at[0].isfinite())
    return where(somewhere.unsqueeze(1), sum(values[1:], start=values[0]), math.nan)
