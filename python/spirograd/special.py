"""Special functions, under the names of torch.special: made of the package's operations, so they have gradients and run
on every device.

The logarithm of the gamma function, its derivatives and the inverse error function are computed in the type of the
input; docs/numerics.md says what their operations guarantee.
"""

from __future__ import annotations

import math
from typing import Any

from ._core import (
    Tensor,
    abs,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    float64,
    log,
    log1p,
    log_softmax,
    logsumexp,
    round,
    sigmoid,
    sign,
    sin,
    softmax,
    sqrt,
    where,
    xlogy,
)
from .autograd.function import Function

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

# B(2k) / (2k (2k - 1)), of Stirling's series for the logarithm of the gamma function (DLMF 5.11.1).
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
# B(2k), of the series for its derivatives (DLMF 5.15.8).
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]
_SHIFT = 8  # the series are used from here on


def _poly(x: Tensor, coefficients: list[float]) -> Tensor:
    """coefficients[0] + coefficients[1] x + ..., by Horner's rule."""
    total = x * 0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _shifted(x: Tensor) -> Tensor:
    """x moved up to where the series converge."""
    return where(x < _SHIFT, x + _SHIFT, x)


class _LogGamma(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        # Below 1/2 by reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
        low = x < 0.5
        y = where(low, 1 - x, x)
        z, product = _shifted(y), y * 0 + 1
        for k in range(_SHIFT):
            product = product * (y + k)
        series = (z - 0.5) * log(z) - z + 0.5 * math.log(2 * math.pi) + _poly(1 / (z * z), _STIRLING) / z
        value = where(y < _SHIFT, series - log(product), series)
        value = where((y == 1) | (y == 2), 0.0, value)
        wave = abs(sin(math.pi * (x - round(x))))
        return where(low, math.log(math.pi) - log(wave) - value, value)

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
    return _LogGamma.apply(_floating(input))


gammaln = lgamma


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.float()


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
    low = x < 0.5
    y = where(low, 1 - x, x)
    z, below = _shifted(y), y * 0
    for k in range(_SHIFT):
        below = below + 1 / (y + k)
    inverse = 1 / (z * z)
    terms = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    value = log(z) - 0.5 / z - inverse * _poly(inverse, terms)
    value = where(y < _SHIFT, value - below, value)
    turn = math.pi * (x - round(x))  # tan has the period of round
    return where(low, value - math.pi / turn.tan(), value)


def _polygamma_value(x: Tensor, n: int) -> Tensor:
    # DLMF 5.15.8: (-1)^(n+1) times (n-1)!/z^n + n!/(2 z^(n+1)) + sum of B(2k) (2k+n-1)! / ((2k)! z^(2k+n)).
    z, below = _shifted(x), x * 0
    for k in range(_SHIFT):
        below = below + 1 / (x + k) ** (n + 1)
    inverse = 1 / (z * z)
    terms = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    series = (
        math.factorial(n - 1) / z**n + math.factorial(n) / (2 * z ** (n + 1)) + inverse * _poly(inverse, terms) / z**n
    )
    value = where(x < _SHIFT, series + math.factorial(n) * below, series)
    return -value if n % 2 == 0 else value


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
        input: any shape; positive where n > 0.

    Raises:
        ValueError: n is negative.

    Example:
        >>> print(f"{sg.special.polygamma(1, sg.tensor(1.0)).item():.4f}")
        1.6449
    """
    if n < 0:
        raise ValueError(f"polygamma: n is {n}; use 0 or more")
    return _Polygamma.apply(_floating(input), n)


def zeta(input: float, other: Tensor) -> Tensor:
    """Hurwitz's zeta function: the sum of 1 / (k + other)**input over k = 0, 1, ...

    Args:
        input: a whole number above 1.
        other: any shape, positive.

    Raises:
        ValueError: input is no whole number above 1.

    Example:
        >>> print(f"{sg.special.zeta(2, sg.tensor(1.0)).item():.4f}")
        1.6449
    """
    if input != int(input) or input <= 1:
        raise ValueError(f"zeta: input is {input}; use a whole number above 1")
    n = int(input) - 1
    return polygamma(n, other) * ((-1) ** (n + 1) / math.factorial(n))


class _InverseErf(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        # Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), single precision; then Newton's steps.
        w = -log((1 - x) * (1 + x))
        near = _poly(w - 2.5, _ERFINV_NEAR)
        far = _poly(sqrt(where(w < 5, 5.0, w)) - 3, _ERFINV_FAR)
        y = where(w < 5, near, far) * x
        for _ in range(2 if x.dtype == float64 else 1):
            step = (erf(y) - x) * (math.sqrt(math.pi) / 2) * exp(y * y)
            y = where(abs(x) < 1, y - where(abs(y) < 3, step, 0.0) / (1 + y * step), y)
        y = where(abs(x) == 1, sign(x) * math.inf, y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g * (math.sqrt(math.pi) / 2) * exp(y * y)


_ERFINV_NEAR = [1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-06]
_ERFINV_NEAR += [-3.5233877e-06, 3.43273939e-07, 2.81022636e-08]
_ERFINV_FAR = [2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844]
_ERFINV_FAR += [0.00134934322, 0.000100950558, -0.000200214257]


def erfinv(input: Tensor) -> Tensor:
    """The number whose erf is the input; infinite at -1 and 1, NaN beyond.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.erfinv(sg.tensor(0.5)).item():.4f}")
        0.4769
    """
    return _InverseErf.apply(_floating(input))


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
    return log(x) - log1p(-x)


def ndtr(input: Tensor) -> Tensor:
    """The share of a standard normal distribution below x.

    Example:
        >>> sg.special.ndtr(sg.tensor(0.0)).item()
        0.5
    """
    return 0.5 * erfc(-input * math.sqrt(0.5))


def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of ndtr; far below 0 by its asymptotic series.

    Example:
        >>> print(f"{sg.special.log_ndtr(sg.tensor(-20.0)).item():.2f}")
        -203.92
    """
    low = where(input < -5, input, -5.0)
    inverse = 1 / (low * low)
    tail = (
        -0.5 * low * low
        - log(-low)
        - 0.5 * math.log(2 * math.pi)
        + log1p(_poly(inverse, [0.0, -1.0, 3.0, -15.0, 105.0]))
    )
    return where(input < -5, tail, log(ndtr(where(input < -5, -5.0, input))))


def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr.

    Example:
        >>> sg.special.ndtri(sg.tensor(0.5)).item()
        0.0
    """
    return math.sqrt(2) * erfinv(2 * input - 1)


def entr(input: Tensor) -> Tensor:
    """-x log(x); 0 at 0, minus infinity below.

    Example:
        >>> sg.special.entr(sg.tensor([0.0, 1.0])).abs().tolist()
        [0.0, 0.0]
    """
    return where(input < 0, -math.inf, -xlogy(input, input))


def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """input * log1p(other); 0 where input is 0.

    Example:
        >>> sg.special.xlog1py(sg.tensor(0.0), sg.tensor(-1.0)).item()
        0.0
    """
    return where(input == 0, 0.0, input * log1p(where(input == 0, 0.0, other)))


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x); 1 at 0.

    Example:
        >>> sg.special.sinc(sg.tensor(0.0)).item()
        1.0
    """
    x = math.pi * where(input == 0, 1.0, input)
    return where(input == 0, 1.0, sin(x) / x)


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


# ---- modified Bessel functions ---------------------------------------------------------------------------------------
def _scaled_bessel(x: Tensor, order: int) -> Tensor:
    """exp(-abs(x)) times I0 or I1 of abs(x)."""
    # The power series (DLMF 10.25.2) of positive terms below the bound, and the asymptotic one (10.40.1) above it.
    double = x.dtype == float64
    bound, terms, tail = (20.0, 56, 30) if double else (10.0, 28, 12)
    size = abs(x)
    low = where(size < bound, size, 0.0)
    t, series = low * low / 4, low * 0 + 1
    for k in range(terms, 0, -1):
        series = 1 + series * t * (1 / (k * (k + order)))
    series = series * (exp(-low) if order == 0 else exp(-low) * low / 2)
    inverse = 1 / where(size < bound, bound, size)
    far = inverse * 0 + 1
    for k in range(tail, 0, -1):
        far = 1 - far * inverse * ((4 * order - (2 * k - 1) ** 2) / (8 * k))
    return where(size < bound, series, far * sqrt(inverse / (2 * math.pi)))


class _Bessel(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: int, scaled: bool) -> Tensor:
        y = _scaled_bessel(x, order)
        if not scaled:
            y = y * exp(abs(x))
        y = y if order == 0 else y * sign(x)
        ctx.save_for_backward(x)
        ctx.order, ctx.scaled = order, scaled
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        zero, one = (i0e(x), i1e(x)) if ctx.scaled else (i0(x), i1(x))
        # DLMF 10.29.3 and 10.29.2.
        slope = one if ctx.order == 0 else zero - where(x == 0, 0.5, one / where(x == 0, 1.0, x))
        if ctx.scaled:
            slope = slope - sign(x) * (zero if ctx.order == 0 else one)
        return g * slope, None, None


def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i0(sg.tensor(1.0)).item():.4f}")
        1.2661
    """
    return _Bessel.apply(_floating(input), 0, False)


def i0e(input: Tensor) -> Tensor:
    """exp(-abs(x)) times i0: it does not overflow.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i0e(sg.tensor(1000.0)).item():.4f}")
        0.0126
    """
    return _Bessel.apply(_floating(input), 0, True)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of order 1.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i1(sg.tensor(1.0)).item():.4f}")
        0.5652
    """
    return _Bessel.apply(_floating(input), 1, False)


def i1e(input: Tensor) -> Tensor:
    """exp(-abs(x)) times i1: it does not overflow.

    Args:
        input: any shape.

    Example:
        >>> print(f"{sg.special.i1e(sg.tensor(1000.0)).item():.4f}")
        0.0126
    """
    return _Bessel.apply(_floating(input), 1, True)
