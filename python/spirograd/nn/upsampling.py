"""Layers that resize images."""

from __future__ import annotations

from collections.abc import Sequence

from . import functional as F
from ._arguments import described
from ._of_function import TensorFunction, layer_of

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d"]
__all__ += ["UpsamplingNearest2d"]


@layer_of(F.interpolate)
class Upsample(TensorFunction):
    """
    Example:
        >>> sg.nn.Upsample(scale_factor=2)(sg.ones(1, 3, 4, 4)).shape
        (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, Sequence)
            else scale_factor and float(scale_factor)
        )
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def extra_repr(self) -> str:
        factor = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{factor}, mode={self.mode!r}"


@described(Upsample)
class UpsamplingNearest2d(Upsample):
    """Resizes images with mode "nearest".

    Example:
        >>> sg.nn.UpsamplingNearest2d(scale_factor=2)(sg.ones(1, 1, 2, 2)).shape
        (1, 1, 4, 4)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


@described(Upsample)
class UpsamplingBilinear2d(Upsample):
    """Resizes images with mode "bilinear" and aligned corners.

    Example:
        >>> sg.nn.UpsamplingBilinear2d(scale_factor=2)(sg.ones(1, 1, 2, 2)).shape
        (1, 1, 4, 4)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


@layer_of(F.pixel_shuffle)
class PixelShuffle(TensorFunction):
    """
    Example:
        >>> sg.nn.PixelShuffle(2)(sg.ones(1, 8, 3, 3)).shape
        (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor


@layer_of(F.pixel_unshuffle)
class PixelUnshuffle(TensorFunction):
    """
    Example:
        >>> sg.nn.PixelUnshuffle(2)(sg.ones(1, 2, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor


@layer_of(F.channel_shuffle)
class ChannelShuffle(TensorFunction):
    """
    Example:
        >>> sg.nn.ChannelShuffle(2)(sg.ones(1, 4, 3)).shape
        (1, 4, 3)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups
