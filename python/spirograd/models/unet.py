"""U-Net (Ronneberger et al., 2015), with norms, and borders that keep the size."""

from __future__ import annotations

from .. import nn
from .._core import Tensor, cat

__all__ = ["UNet"]


def _pair(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before in (inputs, outputs):
        layers += [nn.Conv2d(before, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Images [batch, channels, height, width] -> scores of classes for each pixel [batch, classes, height, width].

    On the way down each level halves the sides and doubles the features; on the way up each also sees what the way down
    had at its size.

    Args:
        channels: of an image.
        classes: how many there are.
        width: features of the first level.
        levels: how often the sides are halved.

    Raises:
        ValueError: later, a side of an image is not a multiple of 2 ** levels.

    Example:
        >>> sg.models.UNet(channels=1, classes=2, width=4, levels=2)(sg.zeros(1, 1, 8, 12)).shape
        (1, 2, 8, 12)
    """

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 64, levels: int = 4) -> None:
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList([_pair(a, b) for a, b in zip([channels, *widths], widths, strict=False)])
        self.grow = nn.ModuleList([nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1])])
        self.up = nn.ModuleList([_pair(2 * w, w) for w in reversed(widths[:-1])])
        self.halve = nn.MaxPool2d(2)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        multiple = 2 ** len(self.up)
        if x.ndim != 4 or x.shape[2] % multiple or x.shape[3] % multiple:
            raise ValueError(f"UNet: the input has shape {list(x.shape)}; use sides that are multiples of {multiple}")
        passed: list[Tensor] = []
        for level in self.down:
            x = level(self.halve(x) if passed else x)
            passed.append(x)
        passed.pop()
        for grow, level in zip(self.grow, self.up, strict=True):
            x = level(cat([passed.pop(), grow(x)], 1))
        y: Tensor = self.head(x)
        return y
