"""Distributions that are drawn by the inverse of their cdf."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._core import Tensor, atan, exp, expm1, log, log1p, minimum, where, xlogy
from ..special import digamma, lgamma, xlog1py
from . import constraints
from .constraints import Constraint
from .continuous import _LocationScale
from .distribution import Distribution, formula, log1p_square, together, uniform

__all__ = ["Gumbel", "HalfCauchy", "Kumaraswamy", "Pareto", "Weibull"]

EULER = 0.57721566490153286  # less digamma(1)
SURE = 1000.0  # exp(-SURE) is 0 in every type, and so are its slopes, whose factors must stay finite


def _less_exp(x: Tensor) -> Tensor:
    """1 - exp(x) for x <= 0, with slopes that are not rounded away where it is near 1."""
    return where(x < -1, 1 - exp(x), -expm1(x))


class _Inverted(Distribution):
    """Draws are icdf() of uniform ones."""

    has_rsample = True

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        like: Tensor = getattr(self, next(iter(self.arg_constraints)))
        return self.icdf(uniform(self._extended(shape), like))


class Gumbel(_Inverted, _LocationScale):
    """The Gumbel distribution: of the largest of many values.

    Args:
        loc: the most probable value.
        scale: the scale.

    Example:
        >>> round(sg.distributions.Gumbel(0.0, 1.0).mean.item(), 4)
        0.5772
    """

    mean = formula(lambda self: self.loc + self.scale * EULER)
    variance = formula(lambda self: self.scale**2 * (math.pi**2 / 6))

    def log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -z - exp(-z) - log(self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        return exp(-exp(((self.loc - value) / self.scale).clamp(max=math.log(SURE))))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * log(-log(value))

    def entropy(self) -> Tensor:
        return log(self.scale) + (1 + EULER)


class HalfCauchy(_Inverted):
    """The absolute value of a Cauchy distribution around 0; its mean is infinite.

    Args:
        scale: the median.

    Example:
        >>> round(sg.distributions.HalfCauchy(1.0).log_prob(sg.tensor(0.0)).item(), 4)
        -0.4516
    """

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = together(scale)
        super().__init__(self.scale.shape, (), validate_args)

    mean = formula(lambda self: self.scale * math.inf)
    mode = formula(lambda self: self.scale * 0)
    variance = formula(lambda self: self.scale * math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        density = math.log(2 / math.pi) - log(self.scale) - log1p_square(value, self.scale)
        return where(value >= 0, density, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return atan(value / self.scale).clamp(min=0) * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (value * (math.pi / 2)).tan()

    def entropy(self) -> Tensor:
        return log(self.scale) + math.log(2 * math.pi)


class Pareto(_Inverted):
    """The Pareto distribution: powers of one over a uniform value.

    Args:
        scale: the smallest value.
        alpha: the power with which the share above a value falls.

    Example:
        >>> sg.distributions.Pareto(1.0, 3.0).mean.item()
        1.5
    """

    arg_constraints: ClassVar = {"scale": constraints.positive, "alpha": constraints.positive}

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.greater_than_eq(self.scale)

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = together(scale, alpha)
        super().__init__(self.scale.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        a = where(self.alpha > 1, self.alpha, math.inf)
        return where(self.alpha > 1, self.scale * (1 + 1 / (a - 1)), math.inf)

    mode = formula(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        a = where(self.alpha > 2, self.alpha, 3.0)
        return where(self.alpha > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        inside = value >= self.scale
        z = where(inside, value, self.scale) / self.scale
        return where(inside, log(self.alpha / self.scale) - (self.alpha + 1) * log(z), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return _less_exp(-self.alpha * log((value / self.scale).clamp(min=1)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * exp(-log1p(-value) / self.alpha)

    def entropy(self) -> Tensor:
        return log(self.scale / self.alpha) + 1 + 1 / self.alpha


class Weibull(_Inverted):
    """The Weibull distribution: a power of an exponential variable.

    Args:
        scale: the value below which 63 % lie.
        concentration: one over the power; 1 is the exponential distribution.

    Example:
        >>> round(sg.distributions.Weibull(2.0, 1.0).mean.item(), 4)
        2.0
    """

    arg_constraints: ClassVar = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _ends = (0,)

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = together(scale, concentration)
        super().__init__(self.scale.shape, (), validate_args)

    def _moment(self, n: int) -> Tensor:
        return exp(lgamma(1 + n / self.concentration))

    mean = formula(lambda self: self.scale * self._moment(1))

    @property
    def mode(self) -> Tensor:
        k = self.concentration.clamp(min=1)
        return self.scale * ((k - 1) / k) ** (1 / k)

    variance = formula(lambda self: self.scale**2 * (self._moment(2) - self._moment(1) ** 2))

    def log_prob(self, value: Tensor) -> Tensor:
        k, z = self.concentration, value / self.scale
        return log(k / self.scale) + xlogy(k - 1, z) - z**k

    def cdf(self, value: Tensor) -> Tensor:
        most = SURE ** (1 / self.concentration.detach())
        return _less_exp(-(minimum((value / self.scale).clamp(min=0), most) ** self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-log1p(-value)) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        return EULER * (1 - 1 / self.concentration) + log(self.scale / self.concentration) + 1


class Kumaraswamy(_Inverted):
    """Kumaraswamy's distribution on (0, 1): like Beta, with a cdf in closed form.

    Args:
        concentration1: the weight of 1.
        concentration0: the weight of 0.

    Example:
        >>> round(sg.distributions.Kumaraswamy(1.0, 1.0).mean.item(), 4)
        0.5
    """

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _ends = (0, 1)

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = together(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return exp(log(b) + lgamma(a) + lgamma(b) - lgamma(a + b))

    mean = formula(lambda self: self._moment(1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        one, two = where(inside, a, 2.0), where(inside, b, 2.0)
        return where(inside, ((one - 1) / (one * two - 1)) ** (1 / one), math.nan)

    variance = formula(lambda self: self._moment(2) - self._moment(1) ** 2)

    def log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        near, above, below = self._rest(value)
        return log(a) + log(b) + xlogy(a - 1, value) + where(near, xlogy(b - 1, above), xlog1py(b - 1, -below))

    def cdf(self, value: Tensor) -> Tensor:
        near, above, below = self._rest(value.clamp(0, 1))
        return _less_exp(self.concentration0 * where(near, log(above), log1p(-below)))

    def _rest(self, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where x**a is near 1, whose distance is not to be rounded away; 1 - x**a there, and x**a elsewhere."""
        a = self.concentration1
        near = value**a > 0.5
        return near, -expm1(a * log(where(near, value, 0.5))), where(near, 0.5, value) ** a

    def icdf(self, value: Tensor) -> Tensor:
        return (-expm1(log1p(-value) / self.concentration0)) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * (digamma(b + 1) + EULER) - log(a) - log(b)
