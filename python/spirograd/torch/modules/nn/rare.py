"""Layers of torch.nn that few programs use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._core import Tensor
from ....nn import Module
from .fractional import fractional_max_pool2d
from .functional import triplet_margin_with_distance_loss

__all__ = ["FractionalMaxPool2d", "TripletMarginWithDistanceLoss"]


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
