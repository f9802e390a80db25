"""Functions of complex numbers, element by element. Their gradients are those of the formulas on the parts."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, where
from .tensor import ComplexTensor, _abs, _div, _eq, _mul, _parts, _with_tensors, angle, polar

__all__ = ["FUNCTIONS", "UNARY"]


def _turned(function: Callable[[ComplexTensor], ComplexTensor]) -> Callable[[ComplexTensor], ComplexTensor]:
    """f(iz) / i: of asinh() that is asin(), of atanh() atan(), and so on."""

    def call(input: ComplexTensor) -> ComplexTensor:
        found = function(ComplexTensor(-input.imag, input.real))
        return ComplexTensor(found.imag, -found.real)

    return call


def _is_zero(input: ComplexTensor) -> Tensor:
    return (input.real == 0) & (input.imag == 0)


def _exp(input: ComplexTensor) -> ComplexTensor:
    return polar(input.real.exp(), input.imag)


def _expm1(input: ComplexTensor) -> ComplexTensor:
    a, b = input.real, input.imag
    return ComplexTensor(a.expm1() * b.cos() - 2 * (b / 2).sin().square(), a.exp() * b.sin())


def _log(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(_abs(input).log(), angle(input))


def _log1p(input: ComplexTensor) -> ComplexTensor:
    a, b = input.real, input.imag
    near = (a.abs() < 0.5) & (b.abs() < 0.5)  # elsewhere nothing is lost, but squares may overflow
    square = where(near, a * (2 + a) + b * b, 0.0).log1p() / 2
    return ComplexTensor(where(near, square, _core.hypot(where(near, 1.0, 1 + a), b).log()), _core.atan2(b, 1 + a))


def _sqrt(input: ComplexTensor) -> ComplexTensor:
    """With a real part of 0 or more; of negative numbers, which lie on the cut, by the sign of the imaginary part."""
    a, b = input.real, input.imag
    zero = _is_zero(input)
    half = ((where(a < 0, -a, a) + _abs(input)) / 2).masked_fill(zero, 1.0).sqrt()
    other = b / (2 * half)
    negative = (b < 0) | ((b == 0) & (1 / b < 0))
    real, imag = where(a < 0, where(negative, -other, other), half), where(a < 0, where(negative, -half, half), other)
    return ComplexTensor(where(zero, 0.0, real), where(zero, b.detach(), imag))


def _sgn(input: ComplexTensor) -> ComplexTensor:
    size = _abs(input)
    zero = size == 0  # where the gradient is 0
    parts = (where(zero, x.detach(), x / where(zero, 1.0, size)) for x in _parts(input))
    return ComplexTensor(*parts)


def _sinh(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.sinh() * input.imag.cos(), input.real.cosh() * input.imag.sin())


def _cosh(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.cosh() * input.imag.cos(), input.real.sinh() * input.imag.sin())


def _cos(input: ComplexTensor) -> ComplexTensor:
    return _cosh(ComplexTensor(-input.imag, input.real))


def _tanh(input: ComplexTensor) -> ComplexTensor:
    t, u = input.real.tanh(), input.imag.tan()
    over = 1 + (t * u).square()
    return ComplexTensor(t * (1 + u * u) / over, u * (1 - t * t) / over)


# W. Kahan, "Branch cuts for complex elementary functions", 1987.
def _asin(input: ComplexTensor) -> ComplexTensor:
    less, more = _sqrt(1 - input), _sqrt(1 + input)
    real = less.real * more.real - less.imag * more.imag
    return ComplexTensor(_core.atan2(input.real, real), (less.real * more.imag - less.imag * more.real).asinh())


def _acos(input: ComplexTensor) -> ComplexTensor:
    less, more = _sqrt(1 - input), _sqrt(1 + input)
    imag = more.real * less.imag - more.imag * less.real
    return ComplexTensor(2 * _core.atan2(less.real, more.real), imag.asinh())


def _acosh(input: ComplexTensor) -> ComplexTensor:
    less, more = _sqrt(input - 1), _sqrt(input + 1)
    real = less.real * more.real + less.imag * more.imag
    return ComplexTensor(real.asinh(), 2 * _core.atan2(less.imag, more.real))


def _asinh(input: ComplexTensor) -> ComplexTensor:
    return _turned(_asin)(input)


def _atanh(input: ComplexTensor) -> ComplexTensor:
    return (_log1p(input) - _log1p(-input)) * 0.5


def _sinc(input: ComplexTensor) -> ComplexTensor:
    zero = _is_zero(input)
    x = ComplexTensor(where(zero, 1.0, input.real), input.imag) * math.pi
    found = _div(_turned(_sinh)(x), x)
    return ComplexTensor(where(zero, 1.0, found.real), where(zero, 0.0, found.imag))


def _power(base: ComplexTensor, exponent: Any) -> ComplexTensor:
    """The power to a real exponent."""
    return polar(_abs(base) ** exponent, angle(base) * exponent)


def _pow(input: Any, exponent: Any) -> ComplexTensor:
    input, exponent = _with_tensors(input, exponent)
    if isinstance(exponent, (int, float)) and exponent in (1, 2, -1):
        return input * 1 if exponent == 1 else _mul(input, input) if exponent == 2 else _div(1.0, input)
    power = _parts(exponent)
    if power[1] is None:
        return _power(input, exponent)
    if not isinstance(input, (Tensor, ComplexTensor)):
        input = (
            _core.full_like(exponent.real, input)
            if not isinstance(input, builtins.complex)
            else (ComplexTensor(_core.full_like(exponent.real, input.real), _core.full_like(exponent.real, input.imag)))
        )
    if isinstance(input, Tensor):
        input = ComplexTensor(input.to(exponent.real.dtype), _core.zeros_like(input))
    zero, none = _is_zero(input), (power[0] == 0) & (power[1] == 0)
    base = ComplexTensor(where(zero, 1.0, input.real), input.imag)
    found = _exp(_mul(_log(base), exponent))
    at_zero = where(
        none if isinstance(none, Tensor) else _core.full_like(zero, none), 1.0, _core.zeros_like(found.real)
    )
    return ComplexTensor(where(zero, at_zero, found.real), where(zero, 0.0, found.imag))


def _logaddexp(input: Any, other: Any) -> ComplexTensor:
    largest = _core.maximum(input.real, other.real).detach()
    return _log(_exp(input - largest) + _exp(other - largest)) + largest


def _isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    near = _core.abs(input - other) <= atol + rtol * _core.abs(other)
    return near | (input == other)


def _lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + weight * (end - input)


def _addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return input + value * (tensor1 * tensor2)


def _addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return input + value * (tensor1 / tensor2)


def _nan_to_num(input: ComplexTensor, *args: Any, **kwargs: Any) -> ComplexTensor:
    return ComplexTensor(*(part.nan_to_num(*args, **kwargs) for part in _parts(input)))


def _double(x: Any) -> Any:
    parts = [x.double() if isinstance(x, Tensor) else x for x in (x.parts() if isinstance(x, ComplexTensor) else (x,))]
    return ComplexTensor(*parts) if len(parts) == 2 else parts[0]


def _truth(x: Any) -> Any:
    return ~_eq(x, 0) if isinstance(x, ComplexTensor) else x != 0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": _acos,
    "acosh": _acosh,
    "addcdiv": _addcdiv,
    "addcmul": _addcmul,
    "asin": _asin,
    "asinh": _asinh,
    "atan": _turned(_atanh),
    "atanh": _atanh,
    "cos": _cos,
    "cosh": _cosh,
    "exp": _exp,
    "exp2": lambda input: _exp(input * math.log(2)),
    "expm1": _expm1,
    "float_power": lambda input, exponent: _pow(_double(input), _double(exponent)),
    "isclose": _isclose,
    "isreal": lambda input: input.imag == 0,
    "lerp": _lerp,
    "log": _log,
    "log10": lambda input: _log(input) * (1 / math.log(10)),
    "log1p": _log1p,
    "log2": lambda input: _log(input) * (1 / math.log(2)),
    "logaddexp": _logaddexp,
    "logical_and": lambda input, other: _truth(input) & _truth(other),
    "logical_not": lambda input: _eq(input, 0),
    "logical_or": lambda input, other: _truth(input) | _truth(other),
    "logical_xor": lambda input, other: _truth(input) ^ _truth(other),
    "nan_to_num": _nan_to_num,
    "positive": lambda input: input,
    "pow": _pow,
    "reciprocal": lambda input: _div(1.0, input),
    "rsqrt": lambda input: _div(1.0, _sqrt(input)),
    "rsub": lambda input, other, *, alpha=1: other - alpha * input,
    "sgn": _sgn,
    "sigmoid": lambda input: _div(1.0, _exp(-input) + 1),
    "silu": lambda input: _div(input, _exp(-input) + 1),
    "sin": _turned(_sinh),
    "sinc": _sinc,
    "sinh": _sinh,
    "sqrt": _sqrt,
    "square": lambda input: _mul(input, input),
    "tan": _turned(_tanh),
    "tanh": _tanh,
}
FUNCTIONS |= {f"arc{name[1:]}": FUNCTIONS[name] for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")}
# Those that may be written in place as well.
UNARY = "acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 nan_to_num reciprocal rsqrt sgn"
UNARY += " sigmoid silu sin sinc sinh sqrt square tan tanh"
