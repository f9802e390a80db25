"""Functions that are flat wherever they have a slope."""

from __future__ import annotations

from .._core import Tensor

__all__ = ["flat_in"]


def flat_in(value: Tensor, *inputs: Tensor) -> Tensor:
    """The value with a graph to the inputs, by which its gradients are 0, not missing."""
    for x in inputs:
        if x.requires_grad:
            value = value + x.flatten()[:0].sum()  # reads nothing: NaN and infinities stay out
    return value
