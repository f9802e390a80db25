"""Resizing of images, as modules."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from . import functional as F
from .module import TensorModule

__all__ = [
    "ChannelShuffle",
    "PixelShuffle",
    "PixelUnshuffle",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Upsample(TensorModule):
    """Samples an image at another number of places: [n, channels, ...]; see functional.interpolate().

    Args:
        size: the sizes of the result.
        scale_factor: these over the sizes of the input; this or size.
        mode: "nearest", "linear", "bilinear", "trilinear" or "bicubic".
        align_corners: of the smooth modes: the middles of the corner pixels stay where they are.
        recompute_scale_factor: take the factor from the rounded sizes.

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
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode "nearest".

    Args:
        size: the sizes of the result.
        scale_factor: these over the sizes of the input; this or size.

    Example:
        >>> sg.nn.UpsamplingNearest2d(scale_factor=2)(sg.ones(1, 1, 2, 2)).shape
        (1, 1, 4, 4)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode "bilinear" and aligned corners.

    Args:
        size: the sizes of the result.
        scale_factor: these over the sizes of the input; this or size.

    Example:
        >>> sg.nn.UpsamplingBilinear2d(scale_factor=2)(sg.ones(1, 1, 2, 2)).shape
        (1, 1, 4, 4)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(TensorModule):
    """[..., channels * r * r, h, w] -> [..., channels, h * r, w * r]: channels become pixels.

    Args:
        upscale_factor: r.

    Example:
        >>> sg.nn.PixelShuffle(2)(sg.ones(1, 8, 3, 3)).shape
        (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(TensorModule):
    """[..., channels, h * r, w * r] -> [..., channels * r * r, h, w]: pixels become channels.

    Args:
        downscale_factor: r.

    Example:
        >>> sg.nn.PixelUnshuffle(2)(sg.ones(1, 2, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(TensorModule):
    """Deals the channels of groups out in turn: [n, channels, ...].

    Args:
        groups: how many there are.

    Example:
        >>> sg.nn.ChannelShuffle(2)(sg.ones(1, 4, 3)).shape
        (1, 4, 3)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
