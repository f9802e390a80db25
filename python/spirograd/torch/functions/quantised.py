"""Rounding to few values, as training for quantised weights does."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ...autograd import Function

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
    """
    return _FakeQuantize.apply(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """fake_quantize_per_tensor_affine() with a scale and a zero point for each index of a dimension."""
    shape = [-1 if d == axis % input.ndim else 1 for d in range(input.ndim)]
    points = zero_point.to(input.dtype).reshape(*shape)
    return _FakeQuantize.apply(input, scale.reshape(*shape), points, quant_min, quant_max)
