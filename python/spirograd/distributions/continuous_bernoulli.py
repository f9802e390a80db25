"""A distribution on an interval that is the likelihood of binary cross-entropy."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor, expm1, log, log1p, where
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
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> sg.distributions.ContinuousBernoulli(probs=sg.tensor(0.5)).mean.item()
        0.5
    """

    has_rsample = True
    support = constraints.unit_interval

    def _apart(self) -> tuple[Tensor, Tensor, Tensor]:
        """Whether formulas are more exact than series, probs where they are (else another number), less 1 / 2."""
        eps, near = (2.0**-52, 0.01) if self.probs.dtype == _core.float64 else (2.0**-23, 0.1)
        p = self.probs.clamp(eps, 1 - eps)
        d = p - 0.5
        far = d.abs() > near
        return far, where(far, p, 0.25), d

    def _falling(self) -> Tensor:
        """-abs(logits), or -1 for the uniform distribution: the density is exp(logits * x), or that from the right."""
        return where(self.logits == 0, -1.0, -self.logits.abs())

    def _log_norm(self) -> Tensor:
        far, p, d = self._apart()
        twice = log1p(-p) - log(p)  # 2 atanh(1 - 2 p)
        return where(far, log((twice / (1 - 2 * p)).abs()), math.log(2) + (4 / 3 + 104 / 45 * d * d) * d * d)

    @property
    def mean(self) -> Tensor:
        far, p, d = self._apart()
        formula = p / (2 * p - 1) + 1 / (log1p(-p) - log(p))
        return where(far, formula, 0.5 + (1 / 3 + 16 / 45 * d * d) * d)

    @property
    def variance(self) -> Tensor:
        far, p, d = self._apart()
        formula = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (log1p(-p) - log(p)) ** 2
        return where(far, formula, 1 / 12 - (1 / 15 - 128 / 945 * d * d) * d * d)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.icdf(uniform(self._extended(shape), self.probs))

    def _mean_log_prob(self, mean: Tensor) -> Tensor:
        """The mean of log_prob() of values with a mean: it is linear."""
        return mean * self.logits - _core.softplus(self.logits) + self._log_norm()

    def log_prob(self, value: Tensor) -> Tensor:
        return self._mean_log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        x, rises, t = value.clamp(0, 1), self.logits > 0, self._falling()
        below = expm1(t * where(rises, 1 - x, x)) / expm1(t)
        return where(self.logits == 0, x, where(rises, 1 - below, below))

    def icdf(self, value: Tensor) -> Tensor:
        rises, t = self.logits > 0, self._falling()
        at = log1p(where(rises, 1 - value, value) * expm1(t)) / t
        return where(self.logits == 0, value, where(rises, 1 - at, at))

    def entropy(self) -> Tensor:
        return -self._mean_log_prob(self.mean)
