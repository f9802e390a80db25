"""Layers that few models have: pooling at random places, Caffe's normalisation, losses of other distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor, pad
from ..autograd import Function
from . import functional as F
from ._arguments import described
from ._of_function import OfFunction, layer_of
from .distance import PairwiseDistance
from .linear import Linear
from .loss import _Loss
from .module import Module

__all__ = ["CrossMapLRN2d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LinearCrossEntropyLoss"]
__all__ += ["TripletMarginWithDistanceLoss"]


@layer_of(F.triplet_margin_with_distance_loss)
class TripletMarginWithDistanceLoss(_Loss):
    """
    Example:
        >>> loss = sg.nn.TripletMarginWithDistanceLoss(margin=2.0)
        >>> loss(sg.zeros(1, 2), sg.zeros(1, 2), sg.zeros(1, 2)).item()
        2.0
    """

    _shown = ""

    def __init__(
        self,
        *,
        distance_function: Callable[..., Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._loss(anchor, positive, negative)


class _FractionalMaxPool(OfFunction):
    _shown = ""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self._random_samples: Tensor | None
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, **self._named_options())


@layer_of(F.fractional_max_pool2d)
class FractionalMaxPool2d(_FractionalMaxPool):
    """
    Example:
        >>> sg.nn.FractionalMaxPool2d(2, output_ratio=0.5)(sg.ones(1, 1, 6, 6)).shape
        (1, 1, 3, 3)
    """


@layer_of(F.fractional_max_pool3d)
class FractionalMaxPool3d(_FractionalMaxPool):
    """
    Example:
        >>> sg.nn.FractionalMaxPool3d(2, output_size=(1, 2, 3))(sg.ones(1, 1, 6, 6, 6)).shape
        (1, 1, 1, 2, 3)
    """


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

    Raises:
        ValueError: at the call, the input has not four dimensions.

    Example:
        >>> sg.nn.CrossMapLRN2d(3)(sg.ones(1, 4, 2, 2)).shape
        (1, 4, 2, 2)
    """

    _shown = "{size} alpha beta k"

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: the input has {input.ndim} dimensions; give [n, channels, h, w]")
        made: Tensor = _CrossMap.apply(input, self.size, self.alpha, self.beta, self.k)
        return made


@described(F.linear_cross_entropy)
class LinearCrossEntropyLoss(_Loss):
    """linear_cross_entropy() with a weight of its own, [num_classes, ..., in_features].

    Args:
        in_features: the number of features of the input.
        num_classes: the number of classes of the target.
        out_features: the sizes d1, ... of the logits [n, num_classes, d1, ...].
        bias: whether to add a learned number to each logit.

    Example:
        >>> loss = sg.nn.LinearCrossEntropyLoss(3, 4)
        >>> loss(sg.ones(2, 3), sg.tensor([0, 3])).shape
        ()
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: Sequence[int] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__(reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(self.num_classes, *self.out_features, -1),
            target,
            linear_bias=self.linear.bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
