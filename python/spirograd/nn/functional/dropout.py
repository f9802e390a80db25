"""Dropout. The mask is drawn on the tensor's device; the gradient keeps a bool for each element or channel."""

from __future__ import annotations

import math

from ..._core import Tensor, rand, where
from .._arguments import described, in_dims
from .activation import _applied

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

# The limit of SELU towards minus infinity: -scale * alpha (Klambauer et al., 2017).
_SELU_FLOOR = -1.0507009873554805 * 1.6732632423543772


def _probability(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p is {p}; use a probability between 0 and 1")


def _kept(input: Tensor, p: float, dims: int) -> Tensor:
    """A mask that is True with probability 1 - p, drawn for each index of the first dims dimensions."""
    shape = (*input.shape[:dims], *(1,) * (input.ndim - dims))
    return rand(shape, device=input.device) >= p


def _drop(op: str, input: Tensor, p: float, training: bool, inplace: bool, dims: int) -> Tensor:
    _probability(op, p)
    if not training or p == 0:
        return input
    if p == 1:
        return _applied(lambda x: x * 0, input, inplace)
    return _applied(lambda x: where(_kept(x, p, dims), x * (1 / (1 - p)), 0.0), input, inplace)


@described()
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets elements to zero with probability p, and divides the others by 1 - p.

    Args:
        input: a tensor of any shape.
        p: probability of dropping an element.
        training: whether to drop elements; otherwise the result is the input.

    Raises:
        ValueError: p is not a probability.

    Example:
        >>> y = sg.nn.functional.dropout(sg.ones(1000), 0.25)
        >>> 650 < (y != 0).sum().item() < 850, round(y.max().item(), 4)
        (True, 1.3333)
    """
    return _drop("dropout", input, p, training, inplace, input.ndim)


_CHANNELS = """Sets channels of [n, channels, {sizes}] to zero with probability p, and divides the others by 1 - p.

Args:
    input: [n, channels, {sizes}], or without n.
    p: probability of dropping a channel.

Raises:
    ValueError: p is not a probability; the input does not have such a shape.
"""


def _channels(op: str, input: Tensor, p: float, training: bool, inplace: bool, spatial: int) -> Tensor:
    if input.ndim not in (spatial + 1, spatial + 2):
        raise ValueError(
            f"{op}: the input has shape {list(input.shape)}; give [channels, ...] or [n, channels, ...] with "
            f"{spatial} more dimensions"
        )
    return _drop(op, input, p, training, inplace, input.ndim - spatial)


def _dropout(dims: int, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """
    Example:
        >>> sg.nn.functional.dropout{dims}d(sg.ones(2, 3, {4})).shape
        (2, 3, {4})
    """
    return _channels(f"dropout{dims}d", input, p, training, inplace, dims)


dropout1d = in_dims(_dropout, 1, _CHANNELS, dropout)
dropout2d = in_dims(_dropout, 2, _CHANNELS, dropout)
dropout3d = in_dims(_dropout, 3, _CHANNELS, dropout)


def _alpha(op: str, input: Tensor, p: float, training: bool, inplace: bool, dims: int) -> Tensor:
    _probability(op, p)
    if not training or p == 0:
        return input
    if p == 1:
        return _applied(lambda x: x * 0, input, inplace)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    shift = -scale * p * _SELU_FLOOR
    floor = _SELU_FLOOR * scale + shift
    return _applied(lambda x: where(_kept(x, p, dims), x * scale + shift, floor), input, inplace)


@described(dropout)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets elements to the lowest value of selu with probability p, and rescales all to keep mean and variance.

    Example:
        >>> y = sg.nn.functional.alpha_dropout(sg.randn(10000), 0.5, training=True)
        >>> abs(y.mean().item()) < 0.05 and abs(y.std().item() - 1) < 0.05
        True
    """
    return _alpha("alpha_dropout", input, p, training, inplace, input.ndim)


@described(dropout)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets channels to the lowest value of selu with probability p, as alpha_dropout does with elements.

    Args:
        input: [n, channels, ...].
        p: probability of dropping a channel.

    Example:
        >>> sg.nn.functional.feature_alpha_dropout(sg.ones(2, 3, 4), training=True).shape
        (2, 3, 4)
    """
    return _alpha("feature_alpha_dropout", input, p, training, inplace, min(2, input.ndim))
