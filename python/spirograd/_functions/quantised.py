"""Rounding to few values, as training for quantised weights does."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ..autograd import Function
from ..base.overridable import open_functions

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


class _FakeQuantize(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
        steps = (x * (1 / scale)).round() + zero_point
        ctx.save_for_backward((steps >= low) & (steps <= high))
        return (steps.clamp(low, high) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (inside,) = ctx.saved_tensors
        return g * inside, None, None, None, None


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The input rounded to (q - zero_point) * scale, q a whole number from quant_min to quant_max.

    The gradient passes where q is not cut off.

    Args:
        input: a tensor.
        scale, zero_point: numbers, or tensors of one element.
        quant_min, quant_max: the least and the greatest q.

    Example:
        >>> sg.fake_quantize_per_tensor_affine(sg.tensor([0.26, 9.0]), 0.5, 0, -8, 7).tolist()
        [0.5, 3.5]
    """
    return _FakeQuantize.apply(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """fake_quantize_per_tensor_affine() with a scale and a zero point for each index of a dimension.

    Args:
        input: a tensor.
        scale, zero_point: [n].
        axis: the dimension, of size n.
        quant_min, quant_max: the least and the greatest q.

    Example:
        >>> scale, zero = sg.tensor([0.5, 1.0]), sg.tensor([0, 0])
        >>> sg.fake_quantize_per_channel_affine(sg.tensor([0.7, 0.7]), scale, zero, 0, -8, 7).tolist()
        [0.5, 1.0]
    """
    shape = [-1 if d == axis % input.ndim else 1 for d in range(input.ndim)]
    points = zero_point.to(input.dtype).reshape(*shape)
    return _FakeQuantize.apply(input, scale.reshape(*shape), points, quant_min, quant_max)


open_functions(__name__)
