"""A distribution on an interval that is the likelihood of binary cross-entropy."""

from __future__ import annotations

import math

from .._core import Tensor, exp, expm1, log, log1p, where
from ..special.base import poly
from . import constraints
from .discrete import Trials
from .distribution import ExponentialFamily, uniform

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Trials, ExponentialFamily):
    """On [0, 1], with a density proportional to probs**x * (1 - probs)**(1 - x).

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.

    Args:
        probs: not the mean, but 1 / 2 for the uniform distribution; or
        logits: log(p / (1 - p)).

    Example:
        >>> sg.distributions.ContinuousBernoulli(probs=sg.tensor(0.5)).mean.item()
        0.5
    """

    has_rsample = True
    support = constraints.unit_interval

    # With h = logits / 2, the density is exp(2 h (x - 1/2)) over sinh(h) / h. L(h) = log(sinh(h) / h) is even; near 0
    # its formula and those of its derivatives cancel, and series stand for them.

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """h; whether formulas are used; and its size there, else 1."""
        h = self.logits / 2
        far = h.abs() > 0.5
        return h, far, where(far, h, 1.0).abs()

    def _log_norm(self) -> Tensor:
        """L(h)."""
        h, far, size = self._parts()
        return where(far, size + log(-expm1(-2 * size) / (2 * size)), _series(where(far, 0.0, h), 0))

    @property
    def mean(self) -> Tensor:
        h, far, size = self._parts()
        slope = where(h > 0, 1.0, -1.0) * (1 / size.tanh() - 1 / size)
        return 0.5 + 0.5 * where(far, slope, _series(where(far, 0.0, h), 1))

    @property
    def variance(self) -> Tensor:
        h, far, size = self._parts()
        double = exp(-size) / expm1(-2 * size)  # -1 / (2 sinh(h)), which does not overflow
        return 0.25 * where(far, (1 / size) ** 2 - (2 * double) ** 2, _series(where(far, 0.0, h), 2))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.icdf(uniform(self._extended(shape), self.probs))

    def _mean_log_prob(self, mean: Tensor) -> Tensor:
        """The mean of log_prob() of values with a mean: it is linear."""
        return (mean - 0.5) * self.logits - self._log_norm()

    def log_prob(self, value: Tensor) -> Tensor:
        return self._mean_log_prob(value)

    def _side(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits near 0, else 0; whether they are; and -abs(logits) where they are not, else -1."""
        near = self.logits.abs() < 0.02
        return where(near, self.logits, 0.0), near, where(near, -1.0, -self.logits.abs())

    def cdf(self, value: Tensor) -> Tensor:
        x, rises, (z, near, t) = value.clamp(0, 1), self.logits > 0, self._side()
        share = where(rises, exp(t * (1 - x)), 1.0) * expm1(t * x) / expm1(t)
        c, odd = x * (1 - x), 1 - 2 * x  # of which Bernoulli's polynomials (DLMF 24.2.3) are made
        high = c * odd * (1 + 3 * c) / 720 + z * (c * c * (1 + 2 * c) / 1440)
        series = x - z * (c / 2 - z * (c * odd / 12 + z * (c * c / 24 - z * high)))
        return where(near, series, share)

    def icdf(self, value: Tensor) -> Tensor:
        rises, (z, near, t) = self.logits > 0, self._side()
        from_end = where(rises, 1 - value, value)
        steep = t < -1
        left = where(steep, (1 - from_end) + from_end * exp(t), 1.0)  # of exp(t x), where 1 less a share would cancel
        at = (where(steep, log(left), log1p(where(steep, 0.0, from_end * expm1(t)))) / t).clamp(max=1.0)
        u, c = value, value * (1 - value)  # the cumulants of a trial
        high = c * (1 - 2 * u) * (1 - 12 * c) / 120 + z * (c * (1 - 30 * c * (1 - 4 * c)) / 720)
        high = c * (1 - 6 * c) / 24 + z * high
        series = u + z * (c / 2 + z * (c * (1 - 2 * u) / 6 + z * high))
        return where(near, series, where(rises, 1 - at, at))

    def entropy(self) -> Tensor:
        return -self._mean_log_prob(self.mean)


# B(2k) 2^(2k) / (2k (2k)!): of the series of log(sinh(h) / h), whose terms fall by 40 or more up to h = 1/2.
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330]
_TERMS = [b * 4.0**k / (2 * k * math.factorial(2 * k)) for k, b in enumerate(_BERNOULLI, 1)]


def _series(h: Tensor, order: int) -> Tensor:
    """The derivative of an order of log(sinh(h) / h)."""
    terms = [c * math.perm(2 * k, order) for k, c in enumerate(_TERMS, 1)]
    first = h**2 if order == 0 else h if order == 1 else 1.0
    return first * poly(h * h, terms)
