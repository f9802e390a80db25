"""Functions element by element."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import _core
from .._complex import imag
from .._core import Tensor, where
from ..autograd import Function
from ..base.overridable import open_functions
from ..base.steps import flat_in

__all__ = ["copysign", "fill", "float_power", "fmax", "fmin", "frexp", "gcd", "heaviside", "isneginf"]
__all__ += ["isposinf", "isreal", "lcm", "ldexp", "logaddexp2", "nextafter", "rsub", "signbit"]


class Frexp(NamedTuple):
    """mantissa * 2**exponent, with mantissas from 1/2 up to 1."""

    mantissa: Tensor
    exponent: Tensor


def isreal(input: Any) -> Tensor:
    """Where the imaginary part is 0: everywhere in a real tensor.

    Example:
        >>> sg.isreal(sg.tensor([1 + 1j, 2 + 0j])).tolist()
        [False, True]
    """
    return imag(input) == 0 if _core.is_complex(input) else _core.ones_like(input, dtype=_core.bool)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input with one value, a number or a tensor of one element.

    Example:
        >>> sg.fill(sg.zeros(2), 3.0).tolist()
        [3.0, 3.0]
    """
    return input.clone().fill_(value)


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """other - alpha * input; shapes broadcast.

    Example:
        >>> sg.rsub(sg.tensor([1.0, 2.0]), 5.0).tolist()
        [4.0, 3.0]
    """
    return other - alpha * input


def _promoted(input: Any, other: Any) -> tuple[Tensor, Tensor]:
    """Both operands in the type that they share, in one shape."""
    kind = _core.result_type(input, other)
    device = input.device if isinstance(input, Tensor) else other.device
    found = (x if isinstance(x, Tensor) else _core.full((), x, dtype=kind, device=device) for x in (input, other))
    a, b = _core.broadcast_tensors(*found)
    return a.to(kind), b.to(kind)


def _with_fractions(input: Any, other: Any) -> _core.dtype:
    """The type that both share; the default one for integers."""
    kind = _core.result_type(input, other)
    return kind if kind.is_floating_point else _core.get_default_dtype()


def float_power(input: Any, exponent: Any) -> Tensor:
    """input**exponent in float64; one of both is a tensor.

    Example:
        >>> sg.float_power(sg.tensor([2, 3]), 2).tolist()
        [4.0, 9.0]
    """
    base, power = (x.double() if isinstance(x, Tensor) else x for x in (input, exponent))
    return _core.pow(base, power)


def signbit(input: Tensor) -> Tensor:
    """Whether the sign is negative, of -0.0 too.

    Example:
        >>> sg.signbit(sg.tensor([1.0, -0.0])).tolist()
        [False, True]
    """
    if not input.is_floating_point():
        return input < 0
    return (input < 0) | ((input == 0) & (1 / input < 0))


def copysign(input: Tensor, other: Any) -> Tensor:
    """The size of input with the sign of other, a tensor or a number; integers become the default type.

    Example:
        >>> sg.copysign(sg.tensor([1.0, -2.0]), -0.0).tolist()
        [-1.0, -2.0]
    """
    kind = _with_fractions(input, other)
    size = input.to(kind).abs()
    if not isinstance(other, Tensor):
        return -size if math.copysign(1, other) < 0 else size
    return flat_in(where(signbit(other), -size, size), other.to(kind))


def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger one; of a number and NaN, the number. Shapes broadcast.

    Example:
        >>> sg.fmax(sg.tensor([1.0, float("nan")]), sg.tensor([2.0, 3.0])).tolist()
        [2.0, 3.0]
    """
    return where(input.isnan(), other, where(other.isnan(), input, _core.maximum(input, other)))


def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller one; of a number and NaN, the number. Shapes broadcast.

    Example:
        >>> sg.fmin(sg.tensor([1.0, float("nan")]), sg.tensor([2.0, 3.0])).tolist()
        [1.0, 3.0]
    """
    return where(input.isnan(), other, where(other.isnan(), input, _core.minimum(input, other)))


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, `values` at 0; shapes broadcast.

    Example:
        >>> sg.heaviside(sg.tensor([-1.0, 0.0, 2.0]), sg.tensor(0.5)).tolist()
        [0.0, 0.5, 1.0]
    """
    return flat_in(where(input == 0, values, (input > 0).to(input.dtype)), input)


def isposinf(input: Tensor) -> Tensor:
    """Whether an element is infinite and positive.

    Example:
        >>> sg.isposinf(sg.tensor([1.0, float("inf")])).tolist()
        [False, True]
    """
    return input == math.inf


def isneginf(input: Tensor) -> Tensor:
    """Whether an element is infinite and negative.

    Example:
        >>> sg.isneginf(sg.tensor([float("inf"), -float("inf")])).tolist()
        [False, True]
    """
    return input == -math.inf


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other; shapes broadcast.

    Example:
        >>> sg.ldexp(sg.tensor([1.0, 3.0]), sg.tensor([2, -1])).tolist()
        [4.0, 1.5]
    """
    scale = 2.0**other
    kept = input.is_floating_point() and not other.is_floating_point() and other.dtype != _core.bool
    return input * (scale.to(input.dtype) if kept else scale)


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other), without overflow; shapes broadcast.

    Example:
        >>> sg.logaddexp2(sg.tensor(300.0), sg.tensor(300.0)).item()
        301.0
    """
    kind = _with_fractions(input, other)
    wide = _core.promote_types(kind, _core.float32)
    scale = math.log(2)
    return (_core.logaddexp(input.to(wide) * scale, other.to(wide) * scale) / scale).to(kind)


def gcd(input: Tensor, other: Any) -> Tensor:
    """The greatest common divisor of integers, 0 or more, by Euclid's algorithm; whether it is done is read.

    Args:
        input: integers.
        other: integers, or one.

    Raises:
        TypeError: they are not integers.

    Example:
        >>> sg.gcd(sg.tensor([12, -9]), 6).tolist()
        [6, 3]
    """
    a, b = _promoted(input, other)
    if a.is_floating_point():
        raise TypeError(f"gcd: the operands meet in {a.dtype}; integers have divisors")
    while bool((b != 0).any()):
        for _ in range(8):
            a, b = where(b == 0, a, b), where(b == 0, 0, _core.remainder(a, b))
    return a.abs()


def lcm(input: Tensor, other: Any) -> Tensor:
    """The least common multiple of integers, 0 or more; arguments and errors as in gcd().

    Example:
        >>> sg.lcm(sg.tensor([4, 0]), 6).tolist()
        [12, 0]
    """
    divisor = gcd(input, other)
    a, b = _promoted(input, other)
    return where(divisor == 0, 0, a // where(divisor == 0, 1, divisor) * b).abs()


def frexp(input: Tensor) -> Frexp:
    """Numbers as mantissa * 2**exponent; 0, infinities and NaN have exponent 0.

    Example:
        >>> mantissa, exponent = sg.frexp(sg.tensor([8.0, -0.75]))
        >>> mantissa.tolist(), exponent.tolist()
        ([0.5, -0.75], [4, 0])
    """
    finite = input.isfinite() & (input != 0)
    exponent = where(finite, _core.log2(where(finite, input, 1.0).abs()).floor() + 1, 0.0)
    half = (exponent / 2).floor()  # two factors: one alone may overflow
    mantissa = input * _core.exp2(-half) * _core.exp2(half - exponent)
    low, high = finite & (mantissa.abs() < 0.5), finite & (mantissa.abs() >= 1)
    mantissa = where(low, mantissa * 2, where(high, mantissa / 2, mantissa))
    exponent = exponent - low.to(exponent.dtype) + high.to(exponent.dtype)
    return Frexp(mantissa, exponent.int())


class _NextAfter(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a == b)
        whole = {2: _core.int16, 4: _core.int32, 8: _core.int64}[a.dtype.itemsize]
        lowest = -(1 << 8 * a.dtype.itemsize - 1)  # the bits of -0
        x, y = (t.contiguous().view(whole) for t in (a, b))
        # Numbers by which floats are in order: those of negative floats are turned round, and both zeros are 0.
        x_rank, y_rank = (where(bits < 0, lowest - bits, bits) for bits in (x, y))
        rank = x_rank + (y_rank > x_rank).to(whole) - (y_rank < x_rank).to(whole)
        bits = where((rank < 0) | ((rank == 0) & (x_rank < 0)), lowest - rank, rank)
        moved = where(x_rank == y_rank, b, bits.view(a.dtype))
        return where(a.isnan() | b.isnan(), math.nan, moved)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (equal,) = ctx.saved_tensors
        return where(equal, 0.0, g), _core.zeros_like(g)


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The number of the type that follows input in the direction of other; its gradient is that of input.

    Raises:
        TypeError: both are integers.

    Example:
        >>> (sg.nextafter(sg.tensor(1.0), sg.tensor(2.0)) - 1).item() == sg.finfo(sg.float32).eps
        True
    """
    a, b = _promoted(input, other)
    if not a.is_floating_point():
        raise TypeError(f"nextafter: the operands meet in {a.dtype}; use a floating type")
    moved: Tensor = _NextAfter.apply(a, b)
    return moved


open_functions(__name__)
