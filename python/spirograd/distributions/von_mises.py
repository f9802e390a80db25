"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor, cos, log, sign, sin, sqrt, where
from ..base.dtypes import finfo
from ..special import i0e, i1e
from . import constraints
from .distribution import Distribution, formula, together, uniform

__all__ = ["VonMises"]

# Best and Fisher (1979) accept two of three proposals or more: all of 24 fail once in 10^11 draws.
_PROPOSALS = 24


class VonMises(Distribution):
    """The von Mises distribution of angles in radians: what a normal distribution is on a line.

    Args:
        loc: the mean angle.
        concentration: about one over the variance.

    Example:
        >>> round(sg.distributions.VonMises(0.0, 1.0).log_prob(sg.tensor(0.0)).item(), 4)
        -1.0738
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = together(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    mean = formula(lambda self: self.loc)
    mode = formula(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """1 less the length of the mean of (cos, sin)."""
        return 1 - self._length()

    def _length(self) -> Tensor:
        return i1e(self.concentration) / i0e(self.concentration)

    def _log_norm(self) -> Tensor:
        """The logarithm of 2 pi I0(concentration), less the concentration."""
        # At 0 the slope of i0e, to both sides, would be 0.
        return math.log(2 * math.pi) + log(i0e(self.concentration + finfo(self.concentration.dtype).tiny))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        full, k = self._extended(shape), self.concentration
        # Best and Fisher's r less 1, in a form in which no large concentration rounds anything away.
        k = k.clamp(min=1e-6)
        q = sqrt(1 + 4 * k * k)
        wide = 1 + q + sqrt(2 + 2 * q)
        s = ((1 + 1 / (q + 2 * k) + sqrt(2 + 2 * q)) / wide) ** 2 * wide / (4 * k)
        angle = uniform(full, k) * 0
        open_ = _core.ones(full, dtype=_core.bool, device=k.device)
        for _ in range(_PROPOSALS):
            half = uniform(full, k) * (math.pi / 2)
            below = s + 2 * cos(half) ** 2
            c, u = k * s * (s + 2) / below, uniform(full, k)
            accepted = (c * (2 - c) - u > 0) | (log(c / u) + 1 - c >= 0)
            found = sign(uniform(full, k) - 0.5) * 2 * (sqrt(s / below) * sin(half)).asin()
            angle = where(open_ & accepted, found, angle)
            open_ = open_ & ~accepted
        return (angle + math.pi + self.loc).remainder(2 * math.pi) - math.pi

    def log_prob(self, value: Tensor) -> Tensor:
        return self.concentration * (cos(value - self.loc) - 1) - self._log_norm()

    def entropy(self) -> Tensor:
        return self._log_norm() + self.concentration * (1 - self._length())
