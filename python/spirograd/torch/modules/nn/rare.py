"""Layers of torch.nn that few programs use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._core import Tensor, pad
from ....autograd import Function
from ....nn import Module
from .fractional import fractional_max_pool2d, fractional_max_pool3d
from .functional import triplet_margin_with_distance_loss

__all__ = ["CrossMapLRN2d", "FractionalMaxPool2d", "FractionalMaxPool3d"]
__all__ += ["TripletMarginWithDistanceLoss"]


class TripletMarginWithDistanceLoss(Module):
    """TripletMarginLoss with another distance."""

    def __init__(
        self,
        *,
        distance_function: Callable[..., Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.options: dict[str, Any] = {"distance_function": distance_function, "margin": margin, "swap": swap}
        self.options["reduction"] = reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return triplet_margin_with_distance_loss(anchor, positive, negative, **self.options)


class FractionalMaxPool2d(Module):
    """fractional_max_pool2d() as a module."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.options = (kernel_size, output_size, output_ratio, return_indices, _random_samples)

    def forward(self, input: Tensor) -> Any:
        return fractional_max_pool2d(input, *self.options)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """fractional_max_pool3d() as a module."""

    def forward(self, input: Tensor) -> Any:
        return fractional_max_pool3d(input, *self.options)


def _windows(x: Tensor, before: int, after: int) -> Tensor:
    """The sums over a channel, those before and those after it."""
    channels = x.shape[1]
    padded = pad(x, (0, 0, 0, 0, before, after))
    total = padded[:, :channels]
    for i in range(1, before + after + 1):
        total = total + padded[:, i : i + channels]
    return total


class _CrossMap(Function):
    """To the number what PyTorch computes: its sums keep the first channel, and those of its gradient are shifted."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        square, half = input * input, int((size - 1) / 2)
        total = _windows(square, half, half)
        if input.shape[1] > half + 1:
            first = pad(square[:, :1].expand(-1, input.shape[1] - half - 1, -1, -1), (0, 0, 0, 0, half + 1, 0))
            total = total + first
        scale = total * (alpha / size) + k
        output = input * scale**-beta
        ctx.options = size, alpha, beta
        ctx.save_for_backward(input, output, scale)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        input, output, scale = ctx.saved_tensors
        size, alpha, beta = ctx.options
        before = int(size - (size - 1) / 2)
        ratio = _windows(gradient * output / scale, before, size - 1 - before)
        return gradient * scale**-beta - input * ratio * (2 * alpha * beta / size), None, None, None, None


class CrossMapLRN2d(Module):
    """LocalResponseNorm as Caffe's and Lua Torch's, for images [n, channels, h, w].

    Args:
        size: how many channels are neighbours.
        alpha: factor of the mean square.
        beta: the exponent.
        k: what is added.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: the input has {input.ndim} dimensions; give [n, channels, h, w]")
        made: Tensor = _CrossMap.apply(input, self.size, self.alpha, self.beta, self.k)
        return made

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
