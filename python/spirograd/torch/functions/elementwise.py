"""Functions element by element."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import _core, conj, real, special
from ..._core import Tensor, where
from ...base.steps import flat_in

__all__ = [
    "conj",
    "conj_physical",
    "copysign",
    "digamma",
    "erfinv",
    "fill",
    "float_power",
    "fmax",
    "fmin",
    "frexp",
    "gcd",
    "heaviside",
    "i0",
    "isneginf",
    "isposinf",
    "isreal",
    "lcm",
    "ldexp",
    "lgamma",
    "logaddexp2",
    "logit",
    "mvlgamma",
    "nextafter",
    "polygamma",
    "real",
    "resolve_conj",
    "resolve_neg",
    "rsub",
    "signbit",
    "sinc",
]

digamma, erfinv, lgamma, logit, sinc = special.digamma, special.erfinv, special.lgamma, special.logit, special.sinc
mvlgamma, i0 = special.multigammaln, special.i0


class Frexp(NamedTuple):
    """mantissa * 2**exponent, with mantissas from 1/2 up to 1."""

    mantissa: Tensor
    exponent: Tensor


def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma; as a method, the tensor is named first."""
    return special.polygamma(input, n) if isinstance(n, Tensor) else special.polygamma(n, input)


def resolve_conj(input: Any) -> Any:
    """The tensor itself: conj() computes the conjugate."""
    return input


resolve_neg, conj_physical = resolve_conj, conj


def isreal(input: Any) -> Tensor:
    """Where the imaginary part is 0: everywhere in a real tensor."""
    return input.imag == 0 if _core.is_complex(input) else _core.ones_like(input, dtype=_core.bool)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input with one value."""
    return input.clone().fill_(value)


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """other - alpha * input."""
    return other - alpha * input


def float_power(input: Tensor, exponent: Any) -> Tensor:
    """input**exponent in float64."""
    return _core.pow(input.double(), exponent.double() if isinstance(exponent, Tensor) else exponent)


def signbit(input: Tensor) -> Tensor:
    """Whether the sign is negative, of -0.0 too."""
    if not input.is_floating_point():
        return input < 0
    return (input < 0) | ((input == 0) & (1 / input < 0))


def copysign(input: Tensor, other: Any) -> Tensor:
    """The size of input with the sign of other."""
    sign = other if isinstance(other, Tensor) else _core.full_like(input, other)
    size = input.abs() if input.is_floating_point() else input.to(_core.get_default_dtype()).abs()
    return where(signbit(sign), -size, size)


def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger one; of a number and NaN, the number."""
    return where(input.isnan(), other, where(other.isnan(), input, _core.maximum(input, other)))


def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller one; of a number and NaN, the number."""
    return where(input.isnan(), other, where(other.isnan(), input, _core.minimum(input, other)))


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, `values` at 0."""
    return flat_in(where(input == 0, values, (input > 0).to(input.dtype)), input)


def isposinf(input: Tensor) -> Tensor:
    """Whether an element is infinite and positive."""
    return input == math.inf


def isneginf(input: Tensor) -> Tensor:
    """Whether an element is infinite and negative."""
    return input == -math.inf


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other."""
    return input * _core.exp2(other.to(_core.promote_types(input.dtype, _core.float32)))


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other)."""
    scale = math.log(2)
    return _core.logaddexp(input * scale, other * scale) / scale


def gcd(input: Tensor, other: Any) -> Tensor:
    """The greatest common divisor of integers, 0 or more, by Euclid's algorithm; whether it is done is read."""
    other = other if isinstance(other, Tensor) else _core.full_like(input, other)
    a, b = _core.broadcast_tensors(input, other)
    if a.is_floating_point() or b.is_floating_point():
        raise TypeError(f"gcd: {a.dtype} and {b.dtype}; integers have divisors")
    while bool((b != 0).any()):
        for _ in range(8):
            a, b = where(b == 0, a, b), where(b == 0, 0, _core.remainder(a, b))
    return a.abs()


def lcm(input: Tensor, other: Any) -> Tensor:
    """The least common multiple of integers, 0 or more."""
    divisor = gcd(input, other)
    return where(divisor == 0, 0, input // where(divisor == 0, 1, divisor) * other).abs()


def frexp(input: Tensor) -> Frexp:
    """Numbers as mantissa * 2**exponent; 0, infinities and NaN have exponent 0."""
    finite = input.isfinite() & (input != 0)
    exponent = where(finite, _core.log2(where(finite, input, 1.0).abs()).floor() + 1, 0.0)
    half = (exponent / 2).floor()  # two factors: one alone may overflow
    mantissa = input * _core.exp2(-half) * _core.exp2(half - exponent)
    low, high = finite & (mantissa.abs() < 0.5), finite & (mantissa.abs() >= 1)
    mantissa = where(low, mantissa * 2, where(high, mantissa / 2, mantissa))
    exponent = exponent - low.to(exponent.dtype) + high.to(exponent.dtype)
    return Frexp(mantissa, exponent.int())


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The number of the type that follows input in the direction of other."""
    input, other = _core.broadcast_tensors(input, other)
    whole = _core.int64 if input.dtype == _core.float64 else _core.int32
    bits = input.contiguous().view(whole)
    least = _core.ones_like(bits).view(input.dtype)
    away = (other > input) == (input > 0)
    moved = (bits + where(away, 1, -1).to(whole)).view(input.dtype)
    moved = where(input == 0, where(other > 0, least, -least), moved)
    return where(input.isnan() | other.isnan(), math.nan, where(input == other, other, moved))
