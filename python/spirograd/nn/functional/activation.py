"""Activations: functions of each element, or along a dimension."""

from __future__ import annotations

from collections.abc import Callable

from ... import _core
from ..._core import (
    Tensor,
    gelu,
    hardshrink,
    log_softmax,
    logsigmoid,
    sigmoid,
    softmax,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
)
from ...base.dtypes import finfo
from ...base.types import DTypeLike
from .._arguments import described, same_type

__all__ = ["celu", "elu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh"]
__all__ += ["leaky_relu", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid"]
__all__ += ["silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold"]


def _applied(function: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    """function(input), written into the input if inplace. Gradients that need the input then keep its old value."""
    return input.copy_(function(_core._snapshot(input))) if inplace else function(input)


@described()
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes input where it is positive, else 0.

    Example:
        >>> sg.nn.functional.relu(sg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(_core.relu, input, inplace)


@described()
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Clamps each element to [0, 6].

    Example:
        >>> sg.nn.functional.relu6(sg.tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """
    return _applied(lambda x: _core.hardtanh(x, 0, 6), input, inplace)


@described()
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Computes input where it is positive, else negative_slope * input.

    Args:
        negative_slope: the factor of negative elements.

    Example:
        >>> sg.nn.functional.leaky_relu(sg.tensor([-2.0, 2.0]), 0.5).tolist()
        [-1.0, 2.0]
    """
    return _applied(lambda x: _core.leaky_relu(x, negative_slope), input, inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Computes leaky_relu with slopes that get a gradient.

    Args:
        input: [n, channels, ...], or a tensor of any shape if there is one slope.
        weight: the slopes: one, or [channels].

    Raises:
        ValueError: the number of slopes is neither 1 nor the number of channels.

    Example:
        >>> sg.nn.functional.prelu(sg.tensor([-2.0, 2.0]), sg.tensor([0.5])).tolist()
        [-1.0, 2.0]
    """
    same_type("prelu", input, weight, narrow=True)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise ValueError(f"prelu: weight has {weight.numel()} slopes for {channels} channels; use 1 or {channels}")
    if weight.numel() > 1:
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
    return _core.leaky_relu(input, weight.reshape(()) if weight.numel() == 1 else weight)


@described()
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Computes leaky_relu with a slope that training draws for each element; evaluation uses the mean of the bounds.

    Args:
        lower: the lowest slope.
        upper: the highest slope.
        training: whether to draw the slopes.

    Example:
        >>> sg.nn.functional.rrelu(sg.tensor([-4.0, 2.0]), 0.5, 0.5).tolist()
        [-2.0, 2.0]
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = _core.rand(input.shape, device=input.device) * (upper - lower) + lower
    return _applied(lambda x: _core.leaky_relu(x, slope.to(input.dtype)), input, inplace)


@described()
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Computes input where it is positive, else alpha * (exp(input) - 1).

    Args:
        alpha: the negative of the limit towards minus infinity.

    Example:
        >>> sg.nn.functional.elu(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(lambda x: _core.elu(x, alpha), input, inplace)


@described(elu)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Computes input where it is positive, else alpha * (exp(input / alpha) - 1).

    Example:
        >>> sg.nn.functional.celu(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(lambda x: _core.celu(x, alpha), input, inplace)


@described()
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes the scaled elu that keeps mean 0 and variance 1 (Klambauer et al., 2017).

    Example:
        >>> sg.nn.functional.selu(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.selu, input, inplace)


@described()
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes input * sigmoid(input).

    Example:
        >>> sg.nn.functional.silu(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.silu, input, inplace)


@described()
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes input * tanh(softplus(input)).

    Example:
        >>> sg.nn.functional.mish(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.mish, input, inplace)


@described()
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes input * hardsigmoid(input).

    Example:
        >>> sg.nn.functional.hardswish(sg.tensor([-4.0, 4.0])).tolist()
        [-0.0, 4.0]
    """
    return _applied(_core.hardswish, input, inplace)


@described()
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Computes input / 6 + 1 / 2, clamped to [0, 1].

    Example:
        >>> sg.nn.functional.hardsigmoid(sg.tensor([-4.0, 0.0])).tolist()
        [0.0, 0.5]
    """
    return _applied(_core.hardsigmoid, input, inplace)


@described()
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Clamps each element to [min_val, max_val].

    Args:
        min_val: the lowest value.
        max_val: the highest value.

    Example:
        >>> sg.nn.functional.hardtanh(sg.tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """
    return _applied(lambda x: _core.hardtanh(x, min_val, max_val), input, inplace)


@described()
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Computes input where it is above the threshold, else value.

    Args:
        threshold: the threshold.
        value: the result at and below the threshold.

    Example:
        >>> sg.nn.functional.threshold(sg.tensor([1.0, 3.0]), 2.0, 0.0).tolist()
        [0.0, 3.0]
    """
    return _applied(lambda x: _core.threshold(x, threshold, value), input, inplace)


@described()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Multiplies the first half along a dimension by the sigmoid of the second half.

    Args:
        dim: the dimension; its size must be even.

    Raises:
        ValueError: the size is odd.

    Example:
        >>> sg.nn.functional.glu(sg.tensor([2.0, 0.0])).tolist()
        [1.0]
    """
    size = input.shape[dim]
    if size % 2:
        raise ValueError(f"glu: dimension {dim} of shape {list(input.shape)} has odd size {size}; use an even one")
    halves = input.transpose(dim, 0)
    return (halves[: size // 2] * halves[size // 2 :].sigmoid()).transpose(dim, 0)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draws from the classes of logits in a way that has a gradient (Jang et al., 2017).

    Args:
        logits: a tensor of any shape.
        tau: the temperature: the lower, the closer the result is to one-hot.
        hard: whether the result is one-hot, with the gradient of the soft one.
        eps: accepted for compatibility with PyTorch.
        dim: the dimension of the classes.

    Example:
        >>> sg.nn.functional.gumbel_softmax(sg.zeros(2, 3), hard=True).sum(-1).tolist()
        [1.0, 1.0]
    """
    least = float(finfo(logits.dtype).tiny)
    noise = -(-_core.rand_like(logits).clamp(min=least).log()).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one_hot = _core.zeros_like(soft.detach()).scatter(dim, index, 1.0)
    return one_hot - soft.detach() + soft


@described()
def softmin(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """Computes softmax(-input): the smallest element has the largest weight.

    Args:
        dim: the dimension along which the results add up to 1.
        dtype: the type of the computation and of the result, by default that of the input.

    Example:
        >>> sg.nn.functional.softmin(sg.zeros(2), 0).tolist()
        [0.5, 0.5]
    """
    return softmax(-input, dim, dtype=dtype)
