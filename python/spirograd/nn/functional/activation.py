"""Activations: functions of one tensor, element by element or along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ... import _core
from ..._core import (
    Tensor,
    gelu,
    hardshrink,
    is_grad_enabled,
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

if TYPE_CHECKING:
    from ...base.types import DTypeLike

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def _applied(function: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    """function(input), written into input if asked for. Gradients that read the input then read a copy."""
    if not inplace:
        return function(input)
    return input.copy_(function(input.clone() if input.requires_grad and is_grad_enabled() else input))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """input where it is positive, else 0.

    Args:
        input: any shape.
        inplace: write into input, also while gradients are recorded.

    Example:
        >>> sg.nn.functional.relu(sg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(_core.relu, input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input, at least 0 and at most 6; `inplace` as in relu.

    Example:
        >>> sg.nn.functional.relu6(sg.tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """
    return _applied(lambda x: _core.hardtanh(x, 0, 6), input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, else input * negative_slope; `inplace` as in relu.

    Example:
        >>> sg.nn.functional.leaky_relu(sg.tensor([-2.0, 2.0]), 0.5).tolist()
        [-1.0, 2.0]
    """
    return _applied(lambda x: _core.leaky_relu(x, negative_slope), input, inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu with slopes that have a gradient.

    Args:
        input: [n, channels, ...], or any shape with one slope.
        weight: one slope, or [channels].

    Raises:
        ValueError: weight fits neither way.

    Example:
        >>> sg.nn.functional.prelu(sg.tensor([-2.0, 2.0]), sg.tensor([0.5])).tolist()
        [-1.0, 2.0]
    """
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise ValueError(f"prelu: weight has {weight.numel()} slopes for {channels} channels; use 1 or {channels}")
    if weight.numel() > 1:
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
    return _core.leaky_relu(input, weight.reshape(()) if weight.numel() == 1 else weight)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with slopes that are drawn for each element in training, else their mean; `inplace` as in relu.

    Args:
        input: any shape.
        lower: the lowest slope.
        upper: the highest slope.
        training: whether slopes are drawn.
        inplace: write into input, also while gradients are recorded.

    Example:
        >>> sg.nn.functional.rrelu(sg.tensor([-4.0, 2.0]), 0.5, 0.5).tolist()
        [-2.0, 2.0]
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = _core.rand(input.shape, device=input.device) * (upper - lower) + lower
    return _applied(lambda x: _core.leaky_relu(x, slope.to(input.dtype)), input, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.elu(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(lambda x: _core.elu(x, alpha), input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.celu(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return _applied(lambda x: _core.celu(x, alpha), input, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The scaled elu that keeps mean 0 and variance 1 (Klambauer et al., 2017); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.selu(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.selu, input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.silu(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.mish(sg.tensor([0.0])).tolist()
        [0.0]
    """
    return _applied(_core.mish, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input); `inplace` as in relu.

    Example:
        >>> sg.nn.functional.hardswish(sg.tensor([-4.0, 4.0])).tolist()
        [-0.0, 4.0]
    """
    return _applied(_core.hardswish, input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1 / 2, at least 0 and at most 1; `inplace` as in relu.

    Example:
        >>> sg.nn.functional.hardsigmoid(sg.tensor([-4.0, 0.0])).tolist()
        [0.0, 0.5]
    """
    return _applied(_core.hardsigmoid, input, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input, at least min_val and at most max_val; `inplace` as in relu.

    Example:
        >>> sg.nn.functional.hardtanh(sg.tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """
    return _applied(lambda x: _core.hardtanh(x, min_val, max_val), input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, else value; `inplace` as in relu.

    Example:
        >>> sg.nn.functional.threshold(sg.tensor([1.0, 3.0]), 2.0, 0.0).tolist()
        [0.0, 3.0]
    """
    return _applied(lambda x: _core.threshold(x, threshold, value), input, inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second.

    Args:
        input: any shape, even along dim.
        dim: the dimension.

    Raises:
        ValueError: its size is odd.

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
    """Draws from the classes of logits in a way that gradients go through (Jang et al., 2017).

    Args:
        logits: any shape.
        tau: the smaller, the nearer to rows with one 1.
        hard: the result has one 1 a row, and the gradient of the soft one.
        eps: accepted for PyTorch's sake.
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
    place = soft.detach().argmax(dim, keepdim=True)
    one = _core.zeros_like(soft.detach()).scatter(dim, place, 1.0)
    return one - soft.detach() + soft


def softmin(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """softmax(-input): the smallest element weighs most.

    Args:
        input: any shape.
        dim: the dimension that adds up to 1.
        dtype: the type to compute in; None for that of the input.

    Example:
        >>> sg.nn.functional.softmin(sg.zeros(2), 0).tolist()
        [0.5, 0.5]
    """
    return softmax(-input, dim, dtype=dtype)
