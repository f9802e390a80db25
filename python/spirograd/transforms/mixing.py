"""MixUp and CutMix: batches in which each image is a mixture of two, and each target as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ._images import back, floats, generator, of
from .geometry import within

__all__ = ["CutMix", "MixUp"]


class _Mixing:
    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None) -> None:
        if alpha <= 0:
            raise ValueError(f"{type(self).__name__}: alpha is {alpha}; use a number above 0")
        self.alpha, self.num_classes = alpha, num_classes

    def __call__(self, images: Any, targets: Any) -> tuple[Any, Any]:
        if images.ndim != 4 or len(images) != len(targets):
            raise ValueError(
                f"{type(self).__name__}: images have shape {list(images.shape)}, targets {list(targets.shape)}; give a "
                "batch [n, channels, height, width] and n targets, after the loader or in collate_fn"
            )
        share = float(generator().beta(self.alpha, self.alpha))
        images, share = self.mixed(images, share)
        targets = self._shares(targets)
        return images, targets * share + _next(targets) * (1 - share)

    def mixed(self, x: Any, share: float) -> tuple[Any, float]:
        """Images, of which `share` stays, and how much that is exactly."""
        raise NotImplementedError

    def _shares(self, targets: Any) -> Any:
        """Targets as one share for each class, [n, classes], of float32."""
        if targets.ndim == 2:
            return floats(targets)
        if self.num_classes is None:
            raise ValueError(
                f"{type(self).__name__}: targets are classes; give num_classes, or one share for each class"
            )
        if isinstance(targets, Tensor):
            return (targets.reshape(-1, 1) == _core.arange(self.num_classes, device=targets.device)).float()
        return (np.asarray(targets).reshape(-1, 1) == np.arange(self.num_classes)).astype(np.float32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(alpha={self.alpha}, num_classes={self.num_classes})"


class MixUp(_Mixing):
    """Mixes each image of a batch with the one before it, and their targets alike (Zhang et al., 2018).

    The share is drawn once a batch, from Beta(alpha, alpha). Arrays and tensors on any device.

    Args:
        alpha: large ones mix halves, small ones mostly leave images alone.
        num_classes: for targets that are classes, [n]; those that are shares of classes need none.

    Example:
        >>> images, targets = sg.transforms.MixUp(num_classes=3)(sg.rand(4, 1, 8, 8), sg.tensor([0, 1, 2, 0]))
        >>> images.shape, targets.shape, round(targets.sum().item(), 4)
        ((4, 1, 8, 8), (4, 3), 4.0)
    """

    def mixed(self, x: Any, share: float) -> tuple[Any, float]:
        y = floats(x)
        return back(y * share + _next(y) * (1 - share), x), share


class CutMix(_Mixing):
    """Replaces a part of each image of a batch by that of the one before it, and mixes their targets by area (Yun et
    al., 2019). The part is the same in all images. Arguments are those of MixUp.

    Example:
        >>> images, targets = sg.transforms.CutMix(num_classes=3)(sg.rand(4, 1, 8, 8), sg.tensor([0, 1, 2, 0]))
        >>> images.shape, targets.shape
        ((4, 1, 8, 8), (4, 3))
    """

    def mixed(self, x: Any, share: float) -> tuple[Any, float]:
        height, width = x.shape[-2:]
        random, half = generator(), 0.5 * math.sqrt(1 - share)
        row, column = int(random.integers(height)), int(random.integers(width))
        top, bottom = max(row - int(half * height), 0), min(row + int(half * height), height)
        left, right = max(column - int(half * width), 0), min(column + int(half * width), width)
        replaced = within(x, top, left, bottom - top, right - left)
        return of(x).where(replaced, _next(x), x), 1 - (bottom - top) * (right - left) / (height * width)


def _next(x: Any) -> Any:
    return x.roll(1, 0) if isinstance(x, Tensor) else np.roll(x, 1, 0)
