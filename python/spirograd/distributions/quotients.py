"""Distributions of quotients with a gamma variable below."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor, exp, log, log1p, where, xlogy
from ..base.dtypes import finfo
from ..special import digamma, gammaincc, lgamma
from ..special.gamma import digamma_rise, log_beta
from . import constraints
from .distribution import Distribution, ExponentialFamily, formula, log1p_square, normal, together
from .gamma import log_gamma_variable, standard_gamma

__all__ = ["FisherSnedecor", "InverseGamma", "StudentT"]


def _exp(x: Tensor) -> Tensor:
    """exp(x), which stays finite."""
    return exp(x.clamp(max=math.log(finfo(x.dtype).max) - 2.0**-10))


class InverseGamma(Distribution):
    """One over a gamma variable.

    Args:
        concentration: the shape.
        rate: 1 / scale of the gamma variable, which is the scale of its inverse.

    Example:
        >>> sg.distributions.InverseGamma(3.0, 4.0).mean.item()
        2.0
    """

    has_rsample = True
    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    _ends = (0,)

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = together(concentration, rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        finite = self.concentration > 1
        return where(finite, self.rate / (where(finite, self.concentration, 2.0) - 1), math.inf)

    mode = formula(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Tensor:
        finite = self.concentration > 2
        a = where(finite, self.concentration, 3.0)
        return where(finite, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return _exp(log(self.rate) - log_gamma_variable(self.concentration, self._extended(shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration, self.rate
        return a * log(b) - lgamma(a) - (a + 1) * log(value) - b / value

    def cdf(self, value: Tensor) -> Tensor:
        return gammaincc(self.concentration, self.rate / value.clamp(min=0))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + log(self.rate) + lgamma(a) - (1 + a) * digamma(a)


def _log_beta_half(n: Tensor) -> Tensor:
    return log_beta(n / 2, _core.full_like(n, 0.5))


class StudentT(ExponentialFamily):
    """Student's t distribution.

    Args:
        df: the degrees of freedom.
        loc: the location.
        scale: the scale.

    Example:
        >>> round(sg.distributions.StudentT(2.0).log_prob(sg.tensor(0.0)).item(), 4)
        -1.0397
    """

    has_rsample = True
    arg_constraints: ClassVar = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = together(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    mean = formula(lambda self: where(self.df > 1, self.loc, math.nan))
    mode = formula(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.scale**2 * self.df / (self.df - 2)
        return where(self.df > 2, finite, where(self.df > 1, math.inf, math.nan))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        full = self._extended(shape)
        chi = 2 * standard_gamma(self.df / 2, full)
        return self.loc + self.scale * normal(full, self.df) * (self.df / chi).sqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        n, spread = self.df, self.scale * self.df.sqrt()
        return -0.5 * (n + 1) * log1p_square(value - self.loc, spread) - log(spread) - _log_beta_half(n)

    def entropy(self) -> Tensor:
        n = self.df
        spread = 0.5 * (n + 1) * digamma_rise(n / 2, _core.full_like(n, 0.5))
        return log(self.scale) + spread + 0.5 * log(n) + _log_beta_half(n)


class FisherSnedecor(Distribution):
    """The F distribution: the quotient of two chi-square variables, each over its degrees of freedom.

    Args:
        df1: the degrees of freedom of the numerator.
        df2: the degrees of freedom of the denominator.

    Example:
        >>> sg.distributions.FisherSnedecor(2.0, 4.0).mean.item()
        2.0
    """

    has_rsample = True
    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    _ends = (0,)

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = together(df1, df2)
        super().__init__(self.df1.shape, (), validate_args)

    mean = formula(lambda self: where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))
    mode = formula(lambda self: where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), math.nan))

    @property
    def variance(self) -> Tensor:
        n, m = self.df1, self.df2
        return where(m > 4, 2 * m**2 * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4)), math.nan)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        full = self._extended(shape)
        quotient = log_gamma_variable(self.df1 / 2, full) - log_gamma_variable(self.df2 / 2, full)
        return _exp(quotient + log(self.df2 / self.df1))

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        norm = log_beta(a, b)
        return a * log(ratio) + xlogy(a - 1, value) - (a + b) * log1p(ratio * value) - norm
