"""Bessel functions of real numbers and Airy's: polynomials near 0, and far from it what multiplies a sine or an
exponential. They have no gradients, and those that turn are NaN at infinity, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .._core import Tensor, abs, cos, exp, get_default_dtype, log, sign, sin, sqrt, where
from . import polynomials
from .base import in_full, interpolated
from .bessel import i0, i1

__all__ = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1"]
__all__ += ["modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"]
__all__ += ["spherical_bessel_j0"]

_NEAR, _K_NEAR, _AIRY_NEAR, _AIRY_BELOW = 5.0, 2.0, 2.0, 3.0  # where the polynomials about 0 end
_J = (polynomials.J0_NEAR, polynomials.J1_NEAR)
_Y = (polynomials.Y0_NEAR, polynomials.Y1_NEAR)
_WAVES = ((polynomials.J0_P, polynomials.J0_Q), (polynomials.J1_P, polynomials.J1_Q))
_K = ((polynomials.K0_NEAR, polynomials.K0_FAR), (polynomials.K1_NEAR, polynomials.K1_FAR))


def _values(formula: Callable[[Tensor], Tensor], input: Tensor) -> Tensor:
    """The formula of the input as fractions, without a gradient."""
    x = input.detach()
    return in_full(formula, x if x.is_floating_point() else x.to(get_default_dtype()))


def _wave(x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """J and Y at x >= 5."""
    w = 1 / (x * x) - 1 / 50
    p, q = (interpolated(w, table) for table in _WAVES[order])
    q = q / x
    # The sine and cosine of x - pi / 4, or of x - 3 pi / 4: rounding would move the angle.
    s, c = (sin(x) - cos(x), sin(x) + cos(x)) if order == 0 else (-sin(x) - cos(x), sin(x) - cos(x))
    size = sqrt(1 / (math.pi * x))
    return size * (p * c - q * s), size * (p * s + q * c)


def _j(x: Tensor, order: int) -> Tensor:
    size = abs(x)
    near, far = where(size < _NEAR, size, 0.0), where(size < _NEAR, _NEAR, size)
    start = interpolated(near * near - 12.5, _J[order])
    found = where(size < _NEAR, start * near if order else start, _wave(far, order)[0])
    return where(x.isnan(), x, found * sign(x) if order else found)


def _y(x: Tensor, order: int) -> Tensor:
    is_near = x < _NEAR
    near, far = where(is_near & (x > 0), x, 1.0), where(is_near, _NEAR, x)
    start = interpolated(near * near - 12.5, _Y[order])
    if order:
        start = start * near - 2 / math.pi / near
    start = start + 2 / math.pi * log(near) * _j(near, order)
    found = where(is_near, start, _wave(far, order)[1])
    return where(x == 0, -math.inf, where(x >= 0, found, math.nan))


def _k(x: Tensor, order: int, scaled: bool) -> Tensor:
    is_near = x <= _K_NEAR
    near, far = where(is_near & (x > 0), x, 1.0), where(is_near, _K_NEAR, x)
    start_table, table = _K[order]
    start = interpolated(near * near - 2, start_table)
    middle = log(near / 2) * (i1 if order else i0)(near)
    start = start * near + middle + 1 / near if order else start - middle
    tail = interpolated(1 / far - 0.25, table) / sqrt(far)
    found = where(is_near, start * exp(near) if scaled else start, tail if scaled else tail * exp(-far))
    return where(x == 0, math.inf, where(x >= 0, found, math.nan))


def _airy(x: Tensor) -> Tensor:
    below, near = where((x < 0) & (x >= -_AIRY_BELOW), x, 0.0), where((x >= 0) & (x < _AIRY_NEAR), x, 0.0)
    middle = where(x < 0, interpolated(below + 1.5, polynomials.AI_BELOW), interpolated(near - 2, polynomials.AI_NEAR))
    size = where(x < 0, where(x < -_AIRY_BELOW, -x, _AIRY_BELOW), where(x < _AIRY_NEAR, _AIRY_NEAR, x))
    root = sqrt(size)
    z = 2 / 3 * size * root
    tail = interpolated(1 / where(x < 0, 2.0, z) - 4 / 15, polynomials.AI_FAR) * exp(-z) / sqrt(root)
    w = 1 / where(x < 0, z * z, 12.0) - 1 / 24
    s, c = sin(z) - cos(z), sin(z) + cos(z)
    turns = interpolated(w, polynomials.AI_P) * c + interpolated(w, polynomials.AI_Q) / z * s
    turns = turns / sqrt(2 * math.pi * root)
    found = where(x < -_AIRY_BELOW, turns, where(x >= _AIRY_NEAR, tail, middle))
    return where(x.isfinite(), found, math.nan)


def bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0.

    Example:
        >>> sg.special.bessel_j0(sg.tensor([0.0, 2.0]))
        tensor([1.0000, 0.2239])
    """
    return _values(lambda x: _j(x, 0), input)


def bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1."""
    return _values(lambda x: _j(x, 1), input)


def bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0; NaN below 0.

    Example:
        >>> sg.special.bessel_y0(sg.tensor([1.0, -1.0]))
        tensor([0.0883,    nan])
    """
    return _values(lambda x: _y(x, 0), input)


def bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1; NaN below 0."""
    return _values(lambda x: _y(x, 1), input)


def modified_bessel_i0(input: Tensor) -> Tensor:
    """i0() by another name."""
    return _values(i0, input)


def modified_bessel_i1(input: Tensor) -> Tensor:
    """i1() by another name."""
    return _values(i1, input)


def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0; NaN below 0.

    Example:
        >>> sg.special.modified_bessel_k0(sg.tensor([1.0]))
        tensor([0.4210])
    """
    return _values(lambda x: _k(x, 0, False), input)


def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1; NaN below 0."""
    return _values(lambda x: _k(x, 1, False), input)


def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """exp(x) times modified_bessel_k0(): it does not vanish."""
    return _values(lambda x: _k(x, 0, True), input)


def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """exp(x) times modified_bessel_k1(): it does not vanish."""
    return _values(lambda x: _k(x, 1, True), input)


def _spherical(x: Tensor) -> Tensor:
    quotient = sin(where(x == 0, 1.0, x)) / where(x == 0, 1.0, x)
    return where(x == 0, 1.0, where(abs(x) == math.inf, 0.0, quotient))


def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(x) / x; 1 at 0.

    Example:
        >>> sg.special.spherical_bessel_j0(sg.tensor([0.0, 1.0]))
        tensor([1.0000, 0.8415])
    """
    return _values(_spherical, input)


def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai.

    Example:
        >>> sg.special.airy_ai(sg.tensor([0.0]))
        tensor([0.3550])
    """
    return _values(_airy, input)
