"""The error function's inverse, and the normal distribution's shares."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor, abs, erf, erfc, exp, float64, log, log1p, minimum, round, sign, sqrt, where
from ..autograd.function import Function
from . import polynomials
from .base import in_full, interpolated, poly

# Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), single precision.
_NEAR = [1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-06]
_NEAR += [-3.5233877e-06, 3.43273939e-07, 2.81022636e-08]
_FAR = [2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844]
_FAR += [0.00134934322, 0.000100950558, -0.000200214257]
_SLOPE = math.sqrt(math.pi) / 2


def _first(x: Tensor, w: Tensor) -> Tensor:
    """Seven digits of erfinv(x), where w = -log(1 - x^2) is below 16."""
    near = poly(w - 2.5, _NEAR)
    far = poly(sqrt(where(w < 5, 5.0, w)) - 3, _FAR)
    return where(w < 5, near, far) * x


def _erfinv_small(x: Tensor) -> Tensor:
    """erfinv(x) for |x| <= 1/2."""
    y = _first(x, -log((1 - x) * (1 + x)))
    for _ in range(2 if x.dtype == float64 else 1):
        step = (erf(y) - x) * _SLOPE * exp(y * y)
        y = y - step / (1 + y * step)
    return y


def _erfcinv(q: Tensor) -> Tensor:
    """The y >= 0 with erfc(y) = q, for q <= 1/2, by Newton's steps for log(erfc(y)), which is nearly straight."""
    w = -log(q * (2 - q))
    far = where(w < 16, 16.0, w) - math.log(2)
    lower = far - 0.5 * log(math.pi * far)
    y = where(w < 16, _first(1 - q, minimum(w, w * 0 + 16)), sqrt(far - 0.5 * log(math.pi * lower)))
    for _ in range(4 if q.dtype == float64 else 2):
        slope = exp(-y * y) / _SLOPE / erfc(y)
        y = y + log1p(erfc(y) / q - 1) / slope
    return where(q == 0, math.inf, y)


def _erfinv_value(x: Tensor) -> Tensor:
    size = abs(x)
    small = size <= 0.5
    large = sign(x) * _erfcinv(1 - where(small, 0.5, size))
    return where(small, _erfinv_small(where(small, x, 0.0)), large)


class _InverseErf(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _erfinv_value(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g * _SLOPE * exp(y * y)


def erfinv(input: Tensor) -> Tensor:
    """The number whose erf is the input; infinite at -1 and 1, NaN beyond.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.erfinv(sg.tensor(0.5)).item():.4f}")
        0.4769
    """
    return in_full(_InverseErf.apply, input)


def _ndtri_value(p: Tensor) -> Tensor:
    middle = abs(p - 0.5) <= 0.25
    tail = where(p < 0.5, p, 1 - p)
    y = _erfcinv(2 * where(middle, 0.25, tail))
    far = where(p < 0.5, -y, y)
    return math.sqrt(2) * where(middle, _erfinv_small(where(middle, 2 * p - 1, 0.0)), far)


class _InverseNdtr(Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor) -> Tensor:
        y = _ndtri_value(p)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g * math.sqrt(2 * math.pi) * exp(y * y / 2)


def ndtr(input: Tensor) -> Tensor:
    """The share of a standard normal distribution below x.

    Example:
        >>> sg.special.ndtr(sg.tensor(0.0)).item()
        0.5
    """
    return in_full(lambda x: 0.5 * erfc(-x * math.sqrt(0.5)), input)


def _scaled_erfc(x: Tensor) -> Tensor:
    """exp(x * x) erfc(x) for x >= 0."""
    return interpolated(1 - 6 / (x + 3), polynomials.ERFCX) / (1 + 2 * x)


class _Erfcx(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _erfcx_value(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        return g * where(x == math.inf, 0.0, 2 * x * y - 1 / _SLOPE)


def _erfcx_value(x: Tensor) -> Tensor:
    # exp of a square by two factors: the square of few digits is exact.
    below = x.clamp(-30.0, 0.0)
    step = 2.0**21 if x.dtype == float64 else 2.0**8
    short = round(below * step) / step
    square = exp(short * short) * exp((below - short) * (below + short))
    share = _scaled_erfc(abs(x))
    return where(x < 0, 2 * square - share, share)


def erfcx(input: Tensor) -> Tensor:
    """exp(x * x) erfc(x), which neither overflows nor vanishes for large x."""
    return in_full(_Erfcx.apply, input)


def _log_ndtr_value(x: Tensor) -> Tensor:
    low = where(x < -1, x, -1.0)
    tail = log(_scaled_erfc(-low * math.sqrt(0.5)) / 2) - 0.5 * low * low
    return where(x < -1, tail, log1p(-0.5 * erfc(where(x < -1, -1.0, x) * math.sqrt(0.5))))


class _LogNdtr(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return _log_ndtr_value(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * math.sqrt(2 / math.pi) / erfcx(-x * math.sqrt(0.5))


def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of ndtr, with all its digits on both sides of 0.

    Example:
        >>> print(f"{sg.special.log_ndtr(sg.tensor(-20.0)).item():.2f}")
        -203.92
    """
    return in_full(_LogNdtr.apply, input)


def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr; infinite at 0 and 1, NaN outside.

    Args:
        input: shares of any shape.

    Example:
        >>> sg.special.ndtri(sg.tensor(0.5)).item()
        0.0
    """
    return in_full(_InverseNdtr.apply, input)
