"""Distributions of real numbers with a location and a scale, and on intervals."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import special
from .._core import Tensor, erf, exp, expm1, log, log1p, where
from . import constraints
from .constraints import Constraint
from .distribution import (
    HALF_LOG_TWO_PI,
    Distribution,
    ExponentialFamily,
    formula,
    log1p_square,
    normal,
    together,
    uniform,
)

__all__ = ["Cauchy", "Exponential", "HalfNormal", "Laplace", "Normal", "Uniform"]


class _LocationScale(Distribution):
    """Draws of one shape, moved by `loc` and stretched by `scale`."""

    has_rsample = True
    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    mean = formula(lambda self: self.loc)
    mode = formula(lambda self: self.loc)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution.

    Args:
        loc: the mean.
        scale: the standard deviation.

    Example:
        >>> round(sg.distributions.Normal(0.0, 1.0).log_prob(sg.tensor(0.0)).item(), 4)
        -0.9189
    """

    @property
    def stddev(self) -> Tensor:
        return self.scale

    variance = formula(lambda self: self.scale**2)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.loc + self.scale * normal(self._extended(shape), self.loc)

    def log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - log(self.scale) - HALF_LOG_TWO_PI

    def cdf(self, value: Tensor) -> Tensor:
        return special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * special.ndtri(value)

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_TWO_PI + log(self.scale)


class HalfNormal(Distribution):
    """The absolute value of a normal distribution with mean 0.

    Args:
        scale: the standard deviation of the normal distribution.

    Example:
        >>> round(sg.distributions.HalfNormal(1.0).mean.item(), 4)
        0.7979
    """

    has_rsample = True
    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = together(scale)
        super().__init__(self.scale.shape, (), validate_args)

    mean = formula(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = formula(lambda self: self.scale * 0)
    variance = formula(lambda self: self.scale**2 * (1 - 2 / math.pi))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (self.scale * normal(self._extended(shape), self.scale)).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        density = math.log(2) - HALF_LOG_TWO_PI - log(self.scale) - value**2 / (2 * self.scale**2)
        return where(value >= 0, density, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return erf(value.clamp(min=0) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * special.erfinv(value)

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_TWO_PI - math.log(2) + log(self.scale)


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Args:
        low: the lower bound.
        high: the upper bound.

    Example:
        >>> sg.distributions.Uniform(0.0, 2.0).mean.item()
        1.0
    """

    has_rsample = True
    arg_constraints: ClassVar = {"low": constraints.dependent, "high": constraints.dependent}

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.interval(self.low, self.high)

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(low, high)
        super().__init__(self.low.shape, (), validate_args)

    mean = formula(lambda self: (self.low + self.high) / 2)
    mode = formula(lambda self: self.high * math.nan)
    variance = formula(lambda self: (self.high - self.low) ** 2 / 12)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.low + (self.high - self.low) * uniform(self._extended(shape), self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        inside = (value >= self.low) & (value < self.high)
        return where(inside, -log(self.high - self.low), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Tensor:
        return log(self.high - self.low)


class Laplace(_LocationScale):
    """The Laplace distribution: exponential to both sides.

    Args:
        loc: the mean.
        scale: the mean distance from loc.

    Example:
        >>> round(sg.distributions.Laplace(0.0, 1.0).log_prob(sg.tensor(0.0)).item(), 4)
        -0.6931
    """

    variance = formula(lambda self: 2 * self.scale**2)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.icdf(uniform(self._extended(shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        return -(value - self.loc).abs() / self.scale - log(2 * self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        below = z < 0
        half = 0.5 * exp(where(below, z, -z))
        return where(below, half, 1 - half)

    def icdf(self, value: Tensor) -> Tensor:
        below = value < 0.5
        size = log(2 * where(below, value, 1 - value))
        return self.loc + self.scale * where(below, size, -size)

    def entropy(self) -> Tensor:
        return 1 + log(2 * self.scale)


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean.

    Args:
        loc: the median.
        scale: half the width at half the height.

    Example:
        >>> round(sg.distributions.Cauchy(0.0, 1.0).log_prob(sg.tensor(0.0)).item(), 4)
        -1.1447
    """

    mean = formula(lambda self: self.loc * math.nan)
    variance = formula(lambda self: self.scale * math.inf)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.loc + self.scale * (math.pi * (uniform(self._extended(shape), self.loc) - 0.5)).tan()

    def log_prob(self, value: Tensor) -> Tensor:
        return -math.log(math.pi) - log(self.scale) - log1p_square(value - self.loc, self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + log(self.scale)


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Args:
        rate: 1 / mean.

    Example:
        >>> sg.distributions.Exponential(2.0).mean.item()
        0.5
    """

    has_rsample = True
    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, (), validate_args)

    mean = formula(lambda self: 1 / self.rate)
    mode = formula(lambda self: self.rate * 0)
    variance = formula(lambda self: self.rate**-2)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return -log(uniform(self._extended(shape), self.rate)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return log(self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return -expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - log(self.rate)
