"""Logarithms and sines that are exact at the edge of their range."""

from __future__ import annotations

import math
from typing import Any

from .._core import (
    Tensor,
    float32,
    full,
    get_default_dtype,
    log,
    log1p,
    promote_types,
    result_type,
    sigmoid,
    sin,
    where,
    xlogy,
)
from ..autograd.function import Function
from .base import in_full, poly


def expit(input: Tensor) -> Tensor:
    """sigmoid by another name."""
    return sigmoid(input)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)).

    Args:
        input: probabilities of any shape.
        eps: the input is kept within [eps, 1 - eps] if given.

    Example:
        >>> sg.special.logit(sg.tensor(0.5)).item()
        0.0
    """
    x = input if eps is None else input.clamp(eps, 1 - eps)
    return log(x) - log1p(x * -1.0)


# Of sin(x) / x in powers of x**2.
_SINC = [(-1) ** k / math.factorial(2 * k + 1) for k in range(11)]


class _Entropy(Function):
    """Its slope is infinite at 0, where products would give NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return where(x < 0, -math.inf, -xlogy(x, x))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return -g * (1 + log(x))


def entr(input: Tensor) -> Tensor:
    """-x log(x); 0 at 0, minus infinity below.

    Example:
        >>> sg.special.entr(sg.tensor([0.0, 1.0])).abs().tolist()
        [0.0, 0.0]
    """
    return in_full(_Entropy.apply, input)


def xlog1py(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * log1p(other); 0 where input is 0 and other is no NaN.

    Args:
        input: any shape, or a number.
        other: the same; one of them is a tensor.

    Example:
        >>> sg.special.xlog1py(sg.tensor(0.0), sg.tensor(-1.0)).item()
        0.0
    """
    kind = result_type(input, other)
    kind = kind if kind.is_floating_point else get_default_dtype()
    wide = promote_types(kind, float32)
    device = input.device if isinstance(input, Tensor) else other.device  # type: ignore[union-attr]
    x, y = (v.to(wide) if isinstance(v, Tensor) else full((), v, dtype=wide, device=device) for v in (input, other))
    infinite = (y <= -1) | (y == math.inf)
    return (x * log1p(where((x == 0) & infinite, 0.0, y))).to(kind)


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x); 1 at 0.

    Example:
        >>> sg.special.sinc(sg.tensor(0.0)).item()
        1.0
    """
    return in_full(_sinc, input)


def _sinc(x: Tensor) -> Tensor:
    x = math.pi * x
    near = x.abs() < 1
    far = where(near, 1.0, x)
    return where(near, poly(where(near, x, 0.0) ** 2, _SINC), sin(far) / far)  # exact derivatives at 0, too
