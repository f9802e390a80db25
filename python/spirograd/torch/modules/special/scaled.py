"""erfc() where it would vanish."""

from __future__ import annotations

import math

from .... import _core
from ...._core import Tensor

__all__ = ["erfcx"]

_FAR, _TERMS = 8.0, 12


def erfcx(input: Tensor) -> Tensor:
    """exp(x**2) erfc(x), which neither overflows nor vanishes for large x."""
    x = input if input.dtype.is_floating_point else input.to(_core.get_default_dtype())
    is_far = x > _FAR
    near, far = _core.where(is_far, 0.0, x), _core.where(is_far, x, _FAR)
    size = _core.where(near < 0, -near, near)
    tail = _core.exp(size * size + _log_erfc(size))
    part = _core.where(near < 0, 2 * _core.exp(near * near) - tail, tail)
    term = total = far * 0 + 1
    for k in range(1, _TERMS):
        term = term * (1 - 2 * k) / (2 * far * far)
        total = total + term
    return _core.where(is_far, total / (far * math.sqrt(math.pi)), part)


def _log_erfc(x: Tensor) -> Tensor:
    from ....special import log_ndtr

    return math.log(2) + log_ndtr(-math.sqrt(2) * x)
