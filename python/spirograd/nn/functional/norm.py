"""Normalisation: (x - mean) / sqrt(variance + eps), then a scale and a shift. The functions differ in the elements that
the mean and the variance are taken over.

The variance is the mean of the squared distances from the mean. Half types are computed in float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Tensor, _stored, pad
from ...base.casts import wide
from ...base.dtypes import finfo
from ...base.grad_mode import no_grad
from .._arguments import described, same_type

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def _wide(x: Tensor) -> Tensor:
    """The tensor in the type of the computation."""
    return x.float() if x.itemsize == 2 else x


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _normalized(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the mean, and the variance. The distance is computed once, so x gets one gradient from it."""
    mean = x.mean(dims, keepdim=True)
    distance = x - mean
    variance = distance.square().mean(dims, keepdim=True)
    return distance * (variance + eps).rsqrt(), mean, variance


def _trailing(op: str, input: Tensor, normalized_shape: Sequence[int], *parameters: Tensor | None) -> tuple[int, ...]:
    """The dimensions of normalized_shape, counted from the end; checks the shapes."""
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise ValueError(f"{op}: the input has shape {list(input.shape)}, it must end with {list(shape)}")
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != shape:
            raise ValueError(f"{op}: a parameter has shape {list(parameter.shape)}; give {list(shape)}")
    return tuple(range(-len(shape), 0))


_LEAST_COPIED = 1 << 16  # elements


def _rows_in_order(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """For functions that read rows several times, forward and backward: on a GPU they get a copy of an input whose rows
    lie across memory, such as an image seen with its channels last."""

    @functools.wraps(function)
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if input.device.kind == "gpu" and input.numel() >= _LEAST_COPIED:
            *others, last = input.stride()
            if last > 1 and 1 in others:
                input = _stored(input)
        return function(input, *args, **kwargs)

    return call


_COMMON = """
Args:
    input: [n, channels, ...].
    normalized_shape: the sizes of the last dimensions, which are normalised.
    weight: the scale: [channels], or None.
    bias: the shift, in the shape of weight, or None.
    eps: added to the variance.
    momentum: the share of the new value in a running mean or variance.
"""


@described(_COMMON)
@_rows_in_order
@wide
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises over the last dimensions (Ba et al., 2016).

    Args:
        input: a tensor whose shape ends with normalized_shape.
        weight: the scale, of shape normalized_shape, or None.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.nn.functional.layer_norm(sg.tensor([1.0, 3.0]), (2,), eps=0.0).tolist()
        [-1.0, 1.0]
    """
    dims = _trailing("layer_norm", input, normalized_shape, weight, bias)
    same_type("layer_norm", input, weight, bias, narrow=True)
    return _affine(_normalized(_wide(input), dims, eps)[0], weight, bias).to(input.dtype)


@described(layer_norm)
@_rows_in_order
@wide
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides by the root of the mean square over the last dimensions (Zhang and Sennrich, 2019).

    Args:
        eps: added to the mean square, by default the machine epsilon of the type.

    Example:
        >>> sg.nn.functional.rms_norm(sg.tensor([2.0, -2.0]), (2,), eps=0.0).tolist()
        [1.0, -1.0]
    """
    dims = _trailing("rms_norm", input, normalized_shape, weight)
    x = _wide(input)
    eps = float(finfo(x.dtype).eps) if eps is None else eps
    return _affine(x * (x.square().mean(dims, keepdim=True) + eps).rsqrt(), weight, None).to(input.dtype)


@described(_COMMON)
@wide
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalises over groups of channels of each sample (Wu and He, 2018).

    Args:
        num_groups: number of groups of channels.

    Raises:
        ValueError: the number of channels is not a multiple of num_groups.

    Example:
        >>> sg.nn.functional.group_norm(sg.rand(2, 6, 4), 3).shape
        (2, 6, 4)
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ValueError(
            f"group_norm: the input has shape {list(input.shape)}; give [n, channels, ...] with a multiple of "
            f"{num_groups} channels"
        )
    same_type("group_norm", input, weight, bias, narrow=True)
    x = _wide(input).reshape(input.shape[0], num_groups, math.prod(input.shape[1:]) // num_groups)
    y = _normalized(x, (2,), eps)[0].reshape(input.shape)
    return _affine(y, _channel(input, weight), _channel(input, bias)).to(input.dtype)


def _channel(input: Tensor, parameter: Tensor | None) -> Tensor | None:
    """The parameter of the channels, in a shape that broadcasts over [n, channels, ...]."""
    return None if parameter is None else parameter.reshape(-1, *(1,) * (input.ndim - 2))


def _follow(running: Tensor | None, value: Tensor, momentum: float | Tensor) -> None:
    """running += momentum * (value - running), in place. Call it under no_grad()."""
    if running is not None:
        running.lerp_(value.to(running.dtype), momentum)


@described(_COMMON)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel over all samples and positions (Ioffe and Szegedy, 2015).

    Args:
        running_mean: the running mean, [channels]: training updates it, evaluation uses it.
        running_var: the running variance, [channels], whose values are divided by n - 1 instead of n.
        training: whether to use the mean and the variance of the input, instead of the running ones.

    Raises:
        ValueError: training has a single value per channel, or evaluation has no running mean and variance.

    Example:
        >>> sg.nn.functional.batch_norm(sg.tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0).tolist()
        [[-1.0], [1.0]]
    """
    same_type("batch_norm", input, weight, bias, running_mean, running_var, narrow=True)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: evaluation needs running_mean and running_var; pass training=True without")
        mean, variance = _channel(input, running_mean), _channel(input, running_var)
        assert mean is not None and variance is not None
        y = (_wide(input) - mean) * (variance + eps).rsqrt()
        return _affine(y, _channel(input, weight), _channel(input, bias)).to(input.dtype)
    count = _values_per_channel("batch_norm", input)
    y, mean, variance = _normalized(_wide(input), (0, *range(2, input.ndim)), eps)
    if count:  # an empty batch has neither
        with no_grad():
            _follow(running_mean, mean.flatten(), momentum)
            _follow(running_var, variance.flatten() * (count / (count - 1)), momentum)
    return _affine(y, _channel(input, weight), _channel(input, bias)).to(input.dtype)


def _values_per_channel(op: str, input: Tensor) -> int:
    """The number of values of each channel."""
    if input.ndim < 2:
        raise ValueError(f"{op}: the input has shape {list(input.shape)}; give [n, channels, ...]")
    count = input.shape[0] * math.prod(input.shape[2:])
    if count == 1:
        raise ValueError(f"{op}: one value per channel in shape {list(input.shape)}; training needs more")
    return count


@described(batch_norm)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each sample (Ulyanov et al., 2016).

    Args:
        use_input_stats: whether to use the mean and the variance of the input, instead of the running ones.

    Raises:
        ValueError: a channel has a single value, or the running mean and variance are used and missing.

    Example:
        >>> sg.nn.functional.instance_norm(sg.tensor([[[1.0, 3.0]]]), eps=0.0).tolist()
        [[[-1.0, 1.0]]]
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = math.prod(input.shape[2:])
    if input.ndim < 3 or count == 1:
        raise ValueError(
            f"instance_norm: the input has shape {list(input.shape)}; give [n, channels, ...] with several values "
            "per channel"
        )
    same_type("instance_norm", input, weight, bias, narrow=True)
    y, mean, variance = _normalized(_wide(input), tuple(range(2, input.ndim)), eps)
    if input.numel():
        with no_grad():
            _follow(running_mean, mean.flatten(1).mean(0), momentum)
            _follow(running_var, variance.flatten(1).mean(0) * (count / max(count - 1, 1)), momentum)
    return _affine(y, _channel(input, weight), _channel(input, bias)).to(input.dtype)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divides by (k + alpha * the mean square over neighbouring channels) ** beta (Krizhevsky et al., 2012).

    Args:
        input: [n, channels, ...], of three or more dimensions.
        size: number of neighbouring channels.
        alpha: factor of the mean square.
        beta: the exponent.
        k: the number added to the scaled mean square.

    Raises:
        ValueError: the input has fewer than three dimensions.

    Example:
        >>> sg.nn.functional.local_response_norm(sg.ones(1, 1, 1), 1, alpha=3.0, beta=0.5).tolist()
        [[[0.5]]]
    """
    if input.ndim < 3:
        raise ValueError(f"local_response_norm: the input has shape {list(input.shape)}; give [n, channels, ...]")
    if input.numel() == 0:
        return input
    edges = (0, 0) * (input.ndim - 2) + (size // 2, (size - 1) // 2)
    square = pad(_wide(input).square(), edges).unfold(1, size, 1).mean(-1)
    result = _wide(input) / (square * alpha + k).pow(beta)
    return result.to(input.dtype) if input.is_floating_point() else result
