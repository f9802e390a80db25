"""The gamma function's logarithm, its derivatives, and the incomplete gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from .._core import (
    Tensor,
    abs,
    exp,
    expm1,
    float64,
    full_like,
    log,
    log1p,
    maximum,
    minimum,
    round,
    sign,
    sin,
    where,
    xlogy,
)
from ..autograd.function import Function
from ..base.grad_mode import no_grad
from . import polynomials
from .base import floating, in_full, interpolated, poly

# B(2k) / (2k (2k - 1)), of Stirling's series for the logarithm of the gamma function (DLMF 5.11.1).
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
# B(2k), of the series for its derivatives (DLMF 5.15.8).
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]
_SHIFT = 8  # the series are used from here on
# The root of digamma less 1: a number of 20 bits, and the rest.
_ROOT, _ROOT_REST = 484060 / 2**20, 0.461632144968362341 - 484060 / 2**20


def _stirling_rest(z: Tensor) -> Tensor:
    """lgamma(z) less (z - 1/2) log(z) - z + log(2 pi) / 2, for z from 8 on."""
    return poly(1 / (z * z), _STIRLING) / z


def _lgamma_value(x: Tensor) -> Tensor:
    # Negative numbers by reflection: gamma(x) gamma(1 - x) = pi / sin(pi x). From 3 to 8 the argument is moved down
    # into [2, 3), and below 1/2 up by 1; polynomials have the roots at 1 and 2 as factors.
    y = where(x < 0, 1 - x, x)
    small, one, near = y < 0.5, y < 1.5, y < _SHIFT
    inside = where(near, y, 2.0)
    product, moved = y * 0 + 1, inside
    for _ in range(5):
        down = moved - 1
        product = where(moved >= 3, product * down, product)
        moved = where(moved >= 3, down, moved)
    first = where(small, y, where(one, y - 1, 0.0))
    value = first * interpolated(first, polynomials.LGAMMA_1)
    second = where(one, 0.0, moved - 2)
    from_two = second * interpolated(second - 0.25, polynomials.LGAMMA_2)
    turned = log(where(one, where(small, y, 1.0), product))
    value = where(one, value - turned, from_two + turned)
    z = where(near, float(_SHIFT), y)
    series = (z - 0.5) * (log(z) - 1) + (0.5 * math.log(2 * math.pi) - 0.5 + _stirling_rest(z))
    value = where(near, value, series)
    wave = abs(sin(math.pi * (x - round(x))))
    value = where(x < 0, math.log(math.pi) - log(wave) - value, value)
    return where(x == -math.inf, math.inf, value)


class _LogGamma(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return _lgamma_value(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * digamma(x)


def lgamma(input: Tensor) -> Tensor:
    """The logarithm of the absolute value of the gamma function.

    Args:
        input: any shape; infinite at 0 and at negative integers.

    Example:
        >>> print(f"{sg.special.lgamma(sg.tensor(5.0)).exp().item():.3f}")
        24.000
    """
    return in_full(_LogGamma.apply, input)


gammaln = lgamma


# ---- derivatives -----------------------------------------------------------------------------------------------------


class _Polygamma(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, n: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.n = n
        return _digamma_value(x) if n == 0 else _polygamma_value(x, n)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return g * polygamma(ctx.n + 1, x), None


def _digamma_value(x: Tensor) -> Tensor:
    # As for lgamma: a polynomial with the root as a factor for [1, 3), moved to from (0, 8).
    y = where(x < 0, 1 - x, x)
    low, near = y < 1, y < _SHIFT
    moved, added = where(near, y, 2.0), y * 0
    for _ in range(5):
        down = moved - 1
        added = where(moved >= 3, added + 1 / down, added)
        moved = where(moved >= 3, down, moved)
    over = where(low, moved, moved - 1)  # above 1
    value = (over - _ROOT - _ROOT_REST) * interpolated(over - 1, polynomials.DIGAMMA_2)
    value = where(low, value - 1 / y, value + added)
    z = where(near, float(_SHIFT), y)
    value = where(near, value, log(z) - 0.5 / z - _digamma_rest(z))
    return where(x < 0, where(x == round(x), math.nan, value - math.pi * _cot_pi(x)), value)


def _digamma_rest(z: Tensor) -> Tensor:
    """log(z) - 1 / (2 z) less digamma(z), for z from 8 on."""
    inverse = 1 / (z * z)
    return inverse * poly(inverse, [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)])


def digamma_rise(x: Tensor, h: Tensor) -> Tensor:
    """digamma(x + h) - digamma(x), also where the two nearly cancel."""
    far = x >= _SHIFT
    s, m = where(far, h, 1.0), where(far, x, float(_SHIFT))
    series = log1p(s / m) + 0.5 * s / (m * (m + s)) + _digamma_rest(m) - _digamma_rest(m + s)
    x = where(far, 1.0, x)
    return where(far, series, digamma(x + where(far, 1.0, h)) - digamma(x))


def _cot_pi(x: Tensor) -> Tensor:
    """cot(pi x); both sines are of exact distances."""
    off = x - round(x)
    size = abs(off)
    return sign(off) * sin(math.pi * (0.5 - size)) / sin(math.pi * size)


def _polygamma_value(x: Tensor, n: int) -> Tensor:
    # Negative numbers by reflection: the n-th derivative of digamma(1 - x) - digamma(x) = pi cot(pi x) (DLMF 5.5.4).
    # DLMF 5.15.8: (-1)^(n+1) times (n-1)!/z^n + n!/(2 z^(n+1)) + sum of B(2k) (2k+n-1)! / ((2k)! z^(2k+n)).
    given, x = x, where(x < 0, 1 - x, x)
    shift = _SHIFT + n
    z, below = where(x < shift, x + shift, x), x * 0
    for k in range(shift):
        below = below + 1 / (x + k) ** (n + 1)
    inverse = 1 / (z * z)
    terms = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    series = (
        math.factorial(n - 1) / z**n + math.factorial(n) / (2 * z ** (n + 1)) + inverse * poly(inverse, terms) / z**n
    )
    value = where(x < shift, series + math.factorial(n) * below, series)
    wave = math.pi ** (n + 1) * poly(_cot_pi(given), _cotangent(n))
    pole = math.nan if n % 2 == 0 else math.inf
    return where(given < 0, where(given == round(given), pole, -value - wave), -value if n % 2 == 0 else value)


def _cotangent(n: int) -> list[float]:
    """The n-th derivative of cot, as the coefficients of a polynomial of cot, whose derivative is -1 - cot^2."""
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        p = -p.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    return [float(c) for c in p.coef]


def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.digamma(sg.tensor(1.0)).item():.4f}")
        -0.5772
    """
    return polygamma(0, input)


psi = digamma


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma.

    Args:
        n: 0 is digamma itself.
        input: any shape.

    Raises:
        ValueError: n is negative.

    Example:
        >>> print(f"{sg.special.polygamma(1, sg.tensor(1.0)).item():.4f}")
        1.6449
    """
    if n < 0:
        raise ValueError(f"polygamma: n is {n}; use 0 or more")
    return in_full(lambda x: _Polygamma.apply(x, n), input)


def _in_full_type(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, _core.dtype]:
    """Both in one shape and one of float32 and float64, and the type of what they give."""
    a, b = _core.broadcast_tensors(floating(a), floating(b))
    kind = _core.promote_types(a.dtype, b.dtype)
    full = float64 if kind == float64 else _core.float32
    return a.to(full), b.to(full), kind


def _zeta(x: Tensor, q: Tensor) -> Tensor:
    """For q above -10: the first terms, and the rest by the formula of Euler and Maclaurin."""
    total = q**-x
    for k in range(1, 10):
        total = total + (q + k) ** -x
    w = q + 10
    total = total + w ** (1 - x) / (x - 1) + 0.5 * w**-x
    power = w ** (-x - 1)
    term = where(power == 0, 0.0, x * power)
    for i, bernoulli in enumerate(_BERNOULLI):
        total = total + bernoulli / math.factorial(2 * i + 2) * term
        ratio = ((x + 2 * i + 1) / w) * ((x + 2 * i + 2) / w)
        term = term * where(term == 0, 0.0, ratio)
    return where(x == 1, math.inf, where((x < 1) | (w <= 0), math.nan, total))


def zeta(input: float | Tensor, other: Tensor) -> Tensor:
    """Hurwitz's zeta function: the sum of 1 / (k + other)**input over k = 0, 1, ...

    Args:
        input: a number, or a tensor of a shape that broadcasts; infinite at 1, NaN below.
        other: any shape; infinite at 0 and at negative integers. Below 0, `input` must be whole, and a number where
            `other` is -10 or less.

    Example:
        >>> print(f"{sg.special.zeta(2, sg.tensor(1.0)).item():.4f}")
        1.6449
    """
    if isinstance(input, Tensor):
        a, q, kind = _in_full_type(input, other)
        return _zeta(a, q).to(kind)
    return in_full(lambda q: _zeta_of_number(input, q), other)


def _zeta_of_number(input: float, other: Tensor) -> Tensor:
    value = _zeta(full_like(other, input), other)
    if input != input // 1 or not 2 <= input <= 20:
        return value
    n = int(input) - 1
    reflected = polygamma(n, where(other < 0, other, -0.5)) * ((-1) ** (n + 1) / math.factorial(n))
    return where(other < 0, reflected, value)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """lgamma(a) + lgamma(b) - lgamma(a + b), also where the last two nearly cancel."""
    small, large = minimum(a, b), maximum(a, b)
    far = large >= _SHIFT
    s, m = where(far, small, 1.0), where(far, large, float(_SHIFT))
    ratio = s / m
    series = m * _less_log1p(ratio) + 0.5 * log1p(ratio) - s * log(m + s) + _stirling_rest(m) - _stirling_rest(m + s)
    large = where(far, 1.0, large)
    return lgamma(small) + where(far, series, lgamma(large) - lgamma(large + where(far, 1.0, small)))


def multigammaln(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

    Args:
        input: any shape, above (p - 1) / 2.
        p: the number of dimensions.

    Example:
        >>> print(f"{sg.special.multigammaln(sg.tensor(3.0), 1).item():.4f}")
        0.6931
    """
    terms = sum((lgamma(input - j / 2) for j in range(1, p)), lgamma(input))
    return terms + p * (p - 1) / 4 * math.log(math.pi)


# ---- incomplete gamma functions --------------------------------------------------------------------------------------
# Gauss and Legendre's rules on [0, 1].
_RULES = {n: (np.polynomial.legendre.leggauss(n) + np.array([[1.0], [0.0]])) / 2 for n in (32, 64)}


def _rule(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A rule for integrals over t of the density of log(x) times something, relative to the density at log(x).

    Up to log(x) where x < a, else from there on: the side on which the density falls, as far as it matters.

    Returns:
        [..., points] the steps t - log(x), [..., points] the weights with the density, and [...] whether x < a.
    """
    double = x.dtype == float64
    below = x < a
    a, x = a.unsqueeze(-1), x.clamp(min=1e-300 if double else 1e-37).unsqueeze(-1)
    left = below.unsqueeze(-1)
    with no_grad():
        folds = 36.0 if double else 18.0  # the density falls by e to this power, at least
        more = 2 * (a - x) - folds
        until = (more.square() + 8 * folds * a).sqrt() - more
        rest = folds / x
        quadratic = 2 * folds / (x - a + ((x - a).square() + 2 * folds * x).sqrt())
        until = where(left, until / (2 * a), _core.minimum(quadratic, log1p(rest + (2 * rest).sqrt())))
        points, weights = (_core.tensor(v, dtype=x.dtype, device=x.device) for v in _RULES[64 if double else 32])
        step = where(left, -until, until) * points
    return step, exp((a - x) * step - x * _expm1_less(step)) * (until * weights), below


def log_slope(concentration: Tensor, draw: Tensor) -> Tensor:
    """d log(draw) / d concentration of a gamma variable, where the probability below the draw stays.

    With z = log(draw) and p its density, that is minus the integral of (t - digamma(a)) p(t) up to z, over p(z); or,
    since the whole integral is 0, plus that from z on.
    """
    step, weights, below = _rule(concentration, draw)
    far = log(draw.clamp(min=1e-300 if draw.dtype == float64 else 1e-37)) - digamma(concentration)
    total = ((far.unsqueeze(-1) + step) * weights).sum(-1)
    return where(below, -total, total)


def _less_log1p(x: Tensor) -> Tensor:
    """x - log1p(x), also where that is small."""
    small = abs(x) < 0.25
    y = where(small, x, 0.0)
    s = y / (2 + y)  # log1p(y) is 2 atanh(s)
    series = s * y - 2 * s**3 * poly(s * s, [1 / (2 * k + 3) for k in range(9)])
    return where(small, series, x - log1p(x))


def _expm1_less(x: Tensor) -> Tensor:
    """expm1(x) - x, also where that is small."""
    small = abs(x) < 0.5
    y = where(small, x, 0.0)
    return where(small, y * y * poly(y, [1 / math.factorial(k + 2) for k in range(12)]), expm1(x) - x)


def _log_density(a: Tensor, x: Tensor) -> Tensor:
    """The logarithm of x^a exp(-x) / gamma(a), the density of log(x)."""
    large = a >= _SHIFT
    m = where(large, a, float(_SHIFT))
    off = (x - m) / m
    near = 0.5 * log(m / (2 * math.pi)) - m * _less_log1p(off) - _stirling_rest(m)
    small = where(large, 1.0, a)
    return where(large, near, xlogy(small, x) - x - lgamma(small))


def _incomplete_small(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    """For a and x below 1, by the power series (DLMF 8.7.1): x^a / gamma(a + 1) times 1 + a times a sum."""
    term, total = x * 0 + 1, x * 0
    for n in range(1, 19):
        term = term * -x / n
        total = total + term / (a + n)
    scale = xlogy(a, x) - lgamma(a + 1)
    return -expm1(scale) - exp(scale) * a * total if upper else exp(scale) * (1 + a * total)


class _Incomplete(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor, upper: bool) -> Tensor:
        ctx.save_for_backward(a, x)
        ctx.upper = upper
        huge = a > (1e30 if a.dtype == float64 else 1e15)  # squares leave the range, and the step at x = a is sharp
        inside = (a > 0) & (x > 0) & (x < math.inf) & ~huge
        b, y = where(inside, a, 1.0), where(inside, x, 1.0)
        _, weights, below = _rule(b, y)
        part = (weights.sum(-1) * exp(_log_density(b, y))).clamp(max=1.0)
        value = where(below != upper, part, 1 - part)
        small = (b < 1) & (y < 1)
        value = where(small, _incomplete_small(where(small, b, 0.5), where(small, y, 0.5), upper), value)
        at_end = where((x == 0) & (a > 0), float(upper), where((a >= 0) & (x > 0), float(not upper), math.nan))
        at_end = where(huge & (x >= 0) & (x < a), float(upper), at_end)
        return where(inside, value, at_end)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, None]:
        a, x = ctx.saved_tensors
        density = exp(_log_density(a, x))
        sign = -1.0 if ctx.upper else 1.0
        at_0 = where(a < 1, math.inf, where(a == 1, 1.0, 0.0))
        slope = where(x == 0, at_0, exp(_log_density(a, x) - log(where(x == 0, 1.0, x))))
        return -sign * g * where(density == 0, 0.0, density * log_slope(a, x)), sign * g * slope, None


def _incomplete(input: Tensor, other: Tensor, upper: bool) -> Tensor:
    a, x, kind = _in_full_type(input, other)
    value: Tensor = _Incomplete.apply(a, x, upper)
    return value.to(kind)


def gammainc(input: Tensor, other: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function: the share of a gamma distribution below `other`.

    It has gradients to both arguments.

    Args:
        input: the shape parameter; not negative.
        other: where the integral ends; not negative. The shapes broadcast.

    Returns:
        From 0 to 1; NaN for arguments outside.

    Example:
        >>> print(f"{sg.special.gammainc(sg.tensor(1.0), sg.tensor(2.0)).item():.4f}")
        0.8647
    """
    return _incomplete(input, other, False)


def gammaincc(input: Tensor, other: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function: 1 - gammainc(), with its own digits where that is small.

    Args:
        input, other: see gammainc.

    Example:
        >>> print(f"{sg.special.gammaincc(sg.tensor(1.0), sg.tensor(2.0)).item():.4f}")
        0.1353
    """
    return _incomplete(input, other, True)
