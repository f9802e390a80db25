"""Transforms that move pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import Tensor
from ..base.keywords import naming_keywords
from . import functional as F
from ._images import Images, generator, indices, integers, of, uniform
from .transform import Transform, probability

__all__ = ["CenterCrop", "Pad", "RandomCrop", "RandomErasing", "RandomHorizontalFlip", "RandomResizedCrop"]
__all__ += ["RandomRotation", "RandomVerticalFlip", "Resize"]


@naming_keywords
class Resize(Transform):
    """Another size.

    Args:
        size: height and width, or one number for the shorter side.
        interpolation: "bilinear", "bicubic" or "nearest".
        max_size: the largest longer side, where size is one number.
        antialias: accepted; a smaller image always averages the pixels below.

    Example:
        >>> sg.transforms.Resize((8, 6))(np.zeros((3, 20, 20), np.uint8)).shape
        (3, 8, 6)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        self.size, self.interpolation, self.max_size = size, interpolation, max_size

    def transform(self, x: Images) -> Images:
        return F.resize(x, self.size, self.interpolation, self.max_size)


@naming_keywords
class CenterCrop(Transform):
    """The middle, of height and width or of one number for both.

    Example:
        >>> sg.transforms.CenterCrop(2)(np.arange(16).reshape(1, 4, 4))[0].tolist()
        [[5, 6], [9, 10]]
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = F.both("CenterCrop", size)

    def transform(self, x: Images) -> Images:
        return F.center_crop(x, self.size)


@naming_keywords
class Pad(Transform):
    """A border; arguments as in `functional.pad`."""

    def __init__(self, padding: int | Sequence[int], fill: float = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def transform(self, x: Images) -> Images:
        return F.pad(x, self.padding, self.fill, self.padding_mode)


@naming_keywords
class RandomCrop(Transform):
    """A part of a given size, from a random place.

    Args:
        size: height and width, or one number for both.
        padding: a border that is added before, as in Pad; None: none.
        pad_if_needed: adds a border to images that are too small.
        fill, padding_mode: as in Pad.

    Raises:
        ValueError: when called: the image is smaller.

    Example:
        >>> sg.transforms.RandomCrop(32, padding=4)(sg.zeros(8, 3, 32, 32)).shape
        (8, 3, 32, 32)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size, self.padding, self.pad_if_needed = F.both("RandomCrop", size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def transform(self, x: Images) -> Images:
        height, width = self.size
        if self.padding is not None:
            x = F.pad(x, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed and (x.shape[-2] < height or x.shape[-1] < width):
            x = F.pad(x, [max(width - x.shape[-1], 0), max(height - x.shape[-2], 0)], self.fill, self.padding_mode)
        free = x.shape[-2] - height, x.shape[-1] - width
        if min(free) < 0:
            raise ValueError(
                f"RandomCrop: the image has {list(x.shape[-2:])} pixels, size is {list(self.size)}; give padding or "
                "pad_if_needed"
            )
        return F.crop_at(x, integers(x, free[0] + 1), integers(x, free[1] + 1), height, width)


@naming_keywords
class RandomResizedCrop(Transform):
    """A part of random size, shape and place, in a given size.

    Args:
        size: height and width of the result, or one number for both.
        scale: which share of the area it may be.
        ratio: its width over its height, drawn on a logarithmic scale.
        interpolation: "bilinear", "bicubic" or "nearest".
        antialias: accepted.

    Example:
        >>> sg.transforms.RandomResizedCrop(224)(sg.rand(2, 3, 300, 400)).shape
        (2, 3, 224, 224)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        self.size, self.scale, self.ratio = F.both("RandomResizedCrop", size), scale, ratio
        self.interpolation = interpolation
        if not 0 < scale[0] <= scale[1] <= 1 or not 0 < ratio[0] <= ratio[1]:
            raise ValueError(f"RandomResizedCrop: scale {scale}, ratio {ratio}; give ranges, scale within (0, 1]")

    def transform(self, x: Images) -> Images:
        height, width = x.shape[-2:]
        xp = of(x)
        area = uniform(x, *self.scale) * (height * width)
        ratio = xp.exp(uniform(x, math.log(self.ratio[0]), math.log(self.ratio[1])))
        heights = xp.round(xp.sqrt(area / ratio)).clip(1, height)
        widths = xp.round(xp.sqrt(area * ratio)).clip(1, width)
        tops = xp.floor(uniform(x) * (height - heights + 1))
        lefts = xp.floor(uniform(x) * (width - widths + 1))
        return F.resized_crop_at(x, tops, lefts, heights, widths, self.size, str(self.interpolation))


class _Flip(Transform):
    def __init__(self, p: float = 0.5) -> None:
        self.p = probability(type(self).__name__, p)


class RandomHorizontalFlip(_Flip):
    """Exchanges left and right with a probability.

    Example:
        >>> sg.transforms.RandomHorizontalFlip(p=1.0)(np.arange(3).reshape(1, 1, 3)).tolist()
        [[[2, 1, 0]]]
    """

    def transform(self, x: Images) -> Images:
        return of(x).where(uniform(x) < self.p, F.horizontal_flip(x), x)


class RandomVerticalFlip(_Flip):
    """Exchanges top and bottom with a probability."""

    def transform(self, x: Images) -> Images:
        return of(x).where(uniform(x) < self.p, F.vertical_flip(x), x)


@naming_keywords
class RandomRotation(Transform):
    """Turns by a random angle, which is one for all images of a batch of tensors.

    Args:
        degrees: the range; one number d is (-d, d).
        interpolation: "nearest" or "bilinear".
        fill: the value of what was outside.
    """

    def __init__(self, degrees: float | Sequence[float], interpolation: Any = "nearest", fill: float = 0) -> None:
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else (degrees[0], degrees[1])
        self.interpolation, self.fill = interpolation, fill

    def transform(self, x: Images) -> Images:
        if isinstance(x, Tensor):
            return F.rotate(x, float(generator().uniform(*self.degrees)), self.interpolation, self.fill)
        angles = uniform(x, *self.degrees).ravel().tolist()
        return np.stack([F.rotate(one, a, self.interpolation, self.fill) for one, a in zip(x, angles, strict=True)])


@naming_keywords
class RandomErasing(Transform):
    """Fills a random part with a value.

    Args:
        p: how likely that is for an image.
        scale: which share of the area it is.
        ratio: its height over its width.
        value: what it is filled with.
        inplace: accepted; the result is always new.

    Example:
        >>> sg.transforms.RandomErasing(p=1.0)(sg.ones(2, 3, 16, 16)).amin().item()
        0.0
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float = 0,
        inplace: bool = False,
    ) -> None:
        self.p, self.scale, self.ratio, self.value = probability("RandomErasing", p), scale, ratio, value

    def transform(self, x: Images) -> Images:
        height, width = x.shape[-2:]
        xp = of(x)
        area = uniform(x, *self.scale) * (height * width)
        ratio = xp.exp(uniform(x, math.log(self.ratio[0]), math.log(self.ratio[1])))
        tall = xp.round(xp.sqrt(area * ratio)).clip(1, height)
        wide = xp.round(xp.sqrt(area / ratio)).clip(1, width)
        erased = within(
            x, xp.floor(uniform(x) * (height - tall + 1)), xp.floor(uniform(x) * (width - wide + 1)), tall, wide
        )
        value = xp.zeros_like(x) + self.value
        return xp.where(erased & (uniform(x) < self.p), value.to(x.dtype) if isinstance(x, Tensor) else value, x)


def within(x: Images, top: Any, left: Any, height: Any, width: Any) -> Any:
    """Which pixels lie in a part: [n or 1, 1, rows, columns] of booleans; numbers, or [n, 1, 1, 1]."""
    rows = indices(x, x.shape[-2]).reshape(-1, 1)
    columns = indices(x, x.shape[-1]).reshape(1, -1)
    return (rows >= top) & (rows < top + height) & (columns >= left) & (columns < left + width)
