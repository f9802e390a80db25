"""The gradients of convolutions, for backward() of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from .._core import Tensor, ones
from ..base.grad_mode import enable_grad
from .functional import conv

__all__ = [f"conv{n}d_{of}" for n in (1, 2, 3) for of in ("input", "weight")]


def _gradients(n: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    convolution = getattr(conv, f"conv{n}d")

    def of_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            x = ones(*input_size, dtype=weight.dtype, device=weight.device).requires_grad_()
            y = convolution(x, weight.detach(), None, stride, padding, dilation, groups)
        found: Tensor = autograd.grad(y, x, grad_output)[0]
        return found

    def of_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            weight = ones(*weight_size, dtype=input.dtype, device=input.device).requires_grad_()
            y = convolution(input.detach(), weight, None, stride, padding, dilation, groups)
        found: Tensor = autograd.grad(y, weight, grad_output)[0]
        return found

    for of, function in (("input", of_input), ("weight", of_weight)):
        function.__name__ = function.__qualname__ = f"conv{n}d_{of}"
        function.__doc__ = f"The gradient of conv{n}d() by its {of}, from that of its result."
    return of_input, of_weight


(conv1d_input, conv1d_weight), (conv2d_input, conv2d_weight), (conv3d_input, conv3d_weight) = map(_gradients, (1, 2, 3))
