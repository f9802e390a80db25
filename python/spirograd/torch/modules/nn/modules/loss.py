"""torch.nn.modules.loss: what losses of other people's begin with."""

from __future__ import annotations

from typing import Any

from ....._core import Tensor
from .....nn import Module, NLLLoss
from .....nn.loss import _Loss as Losses

__all__ = ["NLLLoss2d", "_Loss", "_WeightedLoss"]


class _Losses(type):
    def __instancecheck__(cls, x: object) -> bool:
        ours = isinstance(x, Losses) and (cls is _Loss or (cls is _WeightedLoss and hasattr(x, "weight")))
        return ours or super().__instancecheck__(x)


class _Loss(Module, metaclass=_Losses):
    """A loss that knows how to reduce.

    Args:
        size_average, reduce: the old way to say `reduction`.
        reduction: "mean", "sum" or "none".
    """

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        by_old = "none" if reduce is False else "sum" if size_average is False else "mean"
        self.reduction = by_old if old else reduction


class _WeightedLoss(_Loss):
    """The same with a buffer `weight`."""

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None


class NLLLoss2d(NLLLoss):
    """NLLLoss by an old name."""
