"""ResNet (He et al., 2016), in its form with the stride in the middle of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .. import nn
from .._core import Tensor
from .pretrained import Pretrained

__all__ = ["ResNet"]

F = nn.functional


class _Block(nn.Module):
    """Convolutions beside a shortcut: two of 3 x 3; or, with a waist, 1 x 1, 3 x 3, and 1 x 1 to four times as many."""

    def __init__(self, inputs: int, channels: int, stride: int, waist: bool) -> None:
        super().__init__()
        outputs = 4 * channels if waist else channels
        if waist:
            sizes = [(inputs, channels, 1, 1), (channels, channels, 3, stride), (channels, outputs, 1, 1)]
        else:
            sizes = [(inputs, channels, 3, stride), (channels, channels, 3, 1)]
        self.count = len(sizes)
        for i, (before, after, size, step) in enumerate(sizes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(before, after, size, step, padding=size // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(after))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = F.relu(y)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(Pretrained):
    """Images [batch, channels, height, width] -> scores of classes [batch, classes].

    Its names are those of torchvision and timm.

    Args:
        blocks: in each of the four stages.
        waist: blocks of three convolutions, not of two.
        classes: how many there are.
        channels: of an image.

    Example:
        >>> sg.models.ResNet([1, 1, 1, 1], classes=10)(sg.zeros(2, 3, 32, 32)).shape
        (2, 10)
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "resnet18": {"blocks": [2, 2, 2, 2]},
        "resnet34": {"blocks": [3, 4, 6, 3]},
        "resnet50": {"blocks": [3, 4, 6, 3], "waist": True},
        "resnet101": {"blocks": [3, 4, 23, 3], "waist": True},
        "resnet152": {"blocks": [3, 8, 36, 3], "waist": True},
    }

    def __init__(self, blocks: Sequence[int], waist: bool = False, classes: int = 1000, channels: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for stage, count in enumerate(blocks):
            made = []
            for i in range(count):
                made.append(_Block(inputs, 64 << stage, 2 if stage and not i else 1, waist))
                inputs = (64 << stage) * (4 if waist else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*made))
        self.stages = len(blocks)
        self.fc = nn.Linear(inputs, classes)
        for parameter in self.parameters():
            if parameter.ndim == 4:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, padding=1)
        for stage in range(1, self.stages + 1):
            x = getattr(self, f"layer{stage}")(x)
        y: Tensor = self.fc(x.mean((2, 3)))
        return y
