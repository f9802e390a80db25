"""Modified Bessel functions."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, abs, exp, sign, sqrt, where
from ..autograd.function import Function
from . import polynomials
from .base import in_full, interpolated

_TABLES = (
    (polynomials.I0_NEAR, polynomials.I0_MIDDLE, polynomials.I0_WIDE, polynomials.I0_FAR),
    (polynomials.I1_NEAR, polynomials.I1_MIDDLE, polynomials.I1_WIDE, polynomials.I1_FAR),
)


def _scaled(x: Tensor, order: int) -> Tensor:
    """exp(-abs(x)) times I0 or I1 of x."""
    # The polynomials are about the ends of their intervals: their terms have one sign.
    near, middle, wide, far = _TABLES[order]
    size = abs(x)
    below = interpolated(where(size < 6, size, 6.0) - 6, wide)
    below = where(size < 3, interpolated(size - 3, middle), below)
    below = where(size < 1, interpolated(size - 1, near), below)
    size = where(size < 6, 6.0, size)
    above = interpolated(1 / size - 1 / 12, far) / sqrt(size)
    return where(abs(x) < 6, below if order == 0 else below * x, above if order == 0 else above * sign(x))


class _Bessel(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: int, scaled: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.order, ctx.scaled = order, scaled
        return _scaled(x, order) * (1 if scaled else exp(abs(x)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        zero, one = (i0e(x), i1e(x)) if ctx.scaled else (i0(x), i1(x))
        # DLMF 10.29.3 and 10.29.2.
        slope = one if ctx.order == 0 else zero - where(x == 0, 0.5, one / where(x == 0, 1.0, x))
        if ctx.scaled:
            slope = slope - sign(x) * (zero if ctx.order == 0 else one)
        return g * slope, None, None


def _bessel(input: Tensor, order: int, scaled: bool) -> Tensor:
    return in_full(lambda x: _Bessel.apply(x, order, scaled), input)


def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i0(sg.tensor(1.0)).item():.4f}")
        1.2661
    """
    return _bessel(input, 0, False)


def i0e(input: Tensor) -> Tensor:
    """exp(-abs(x)) times i0: it does not overflow.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i0e(sg.tensor(1000.0)).item():.4f}")
        0.0126
    """
    return _bessel(input, 0, True)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of order 1.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i1(sg.tensor(1.0)).item():.4f}")
        0.5652
    """
    return _bessel(input, 1, False)


def i1e(input: Tensor) -> Tensor:
    """exp(-abs(x)) times i1: it does not overflow.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i1e(sg.tensor(1000.0)).item():.4f}")
        0.0126
    """
    return _bessel(input, 1, True)
