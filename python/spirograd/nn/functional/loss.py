"""Losses."""

from __future__ import annotations

from ..._autocast import wide
from ..._core import Tensor, cross_entropy

__all__ = [
    "cross_entropy",
    "mse_loss",
]


@wide
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The squared difference, averaged.

    Args:
        input: any shape.
        target: the same shape.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> sg.nn.functional.mse_loss(sg.zeros(2), sg.ones(2)).item()
        1.0
    """
    if input.shape != target.shape:
        raise ValueError(
            f"mse_loss: input has shape {list(input.shape)}, target {list(target.shape)}; reshape one of them"
        )
    square = (input - target).square()
    if reduction == "none":
        return square
    if reduction not in ("mean", "sum"):
        raise ValueError(f"mse_loss: reduction '{reduction}' is unknown; use mean, sum or none")
    return square.mean() if reduction == "mean" else square.sum()
