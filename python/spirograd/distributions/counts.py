"""Distributions of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor, exp, log, where, xlogy
from ..nn import functional as F
from ..special import lgamma
from . import constraints
from .constraints import Constraint
from .discrete import Categorical, Trials, _OfCategorical, one_hot, one_of, times_log
from .distribution import ExponentialFamily, formula, softplus, together, uniform
from .gamma import standard_gamma

__all__ = ["Binomial", "Geometric", "Multinomial", "NegativeBinomial", "Poisson"]


class Geometric(Trials):
    """The number of failures before the first success.

    Example:
        >>> sg.distributions.Geometric(probs=sg.tensor(0.25)).mean.item()
        3.0
    """

    support = constraints.nonnegative_integer

    mean = formula(lambda self: self._misses / self.probs)
    mode = formula(lambda self: self.probs * 0)
    variance = formula(lambda self: self._misses / self.probs**2)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (log(uniform(self._extended(shape), self.probs)) / self._log_misses).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        return times_log(value, self._log_misses) + self._log_hits

    def entropy(self) -> Tensor:
        never = self.probs == 0
        return where(never, math.inf, self._cross_entropy(self) / where(never, 1.0, self.probs))


class Binomial(Trials):
    """The number of successes in a number of trials.

    Args:
        total_count: the number of trials; the draws take memory for each of them.

    Example:
        >>> sg.distributions.Binomial(10, probs=sg.tensor(0.5)).mean.item()
        5.0
    """

    arg_constraints: ClassVar = {"total_count": constraints.nonnegative_integer, **Trials.arg_constraints}
    has_enumerate_support = True

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.integer_interval(0, self.total_count)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        counts = self.total_count
        trials = int(counts.max().item())
        if counts.min().item() != trials:
            raise NotImplementedError(
                f"Binomial: the numbers of trials go from {counts.min().item():g} to {trials}; list the values of each"
            )
        return self._listed(_core.arange(trials + 1, dtype=self.probs.dtype, device=self.probs.device), expand)

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("Binomial", probs, logits)
        given, self.total_count = together(probs if probs is not None else logits, total_count)
        self.total_count = self.total_count.to(given.dtype)
        super().__init__(given if probs is not None else None, None if probs is not None else given, validate_args)

    mean = formula(lambda self: self.total_count * self.probs)
    mode = formula(lambda self: ((self.total_count + 1) * self.probs).floor().minimum(self.total_count))
    variance = formula(lambda self: self.total_count * self.probs * self._misses)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        trials = int(self.total_count.max().item()) if self.total_count.numel() else 0
        full = self._extended(shape)
        hits = uniform((*full, trials), self.probs) < self.probs.unsqueeze(-1)
        counted = _core.arange(trials, device=self.probs.device) < self.total_count.unsqueeze(-1)
        return (hits & counted).sum(-1).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        n, z = self.total_count, self.logits
        choices = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return choices + value * z - n * softplus(z)

    def entropy(self) -> Tensor:
        trials = int(self.total_count.max().item()) if self.total_count.numel() else 0
        counts = _core.arange(trials + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.reshape(-1, *(1,) * len(self.batch_shape))
        logs = where(counts <= self.total_count, self.log_prob(counts.minimum(self.total_count)), -math.inf)
        return -where(logs == -math.inf, 0.0, exp(logs) * logs).sum(0)


class Multinomial(_OfCategorical):
    """How often each class comes in a number of draws.

    Args:
        total_count: the number of draws.

    Example:
        >>> sg.distributions.Multinomial(8, sg.ones(2)).sample().sum().item()
        8.0
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.multinomial(self.total_count)

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    mean = formula(lambda self: self.probs * self.total_count)
    variance = formula(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return one_hot(self._categorical.sample((self.total_count, *shape)), self.probs).sum(0)

    def log_prob(self, value: Tensor) -> Tensor:
        possible = where((value == 0) & (self.logits == -math.inf), 0.0, self.logits)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (possible * value).sum(-1)

    def entropy(self) -> Tensor:
        n = float(self.total_count)
        of_one = Binomial(n, self.probs)
        counts = of_one.enumerate_support(expand=False)[1:]
        choices = (exp(of_one.log_prob(counts)) * lgamma(counts + 1)).sum(0).sum(-1)
        return n * self._categorical.entropy() - math.lgamma(n + 1) + choices


# Up to this rate the sum of probabilities is followed; then Hörmann's method is used, which accepts 7 of 10 or more.
_LOW, _STEPS, _PROPOSALS = 10, 45, 24


def draw_poisson(rate: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Draws of Poisson variables: by inversion for low rates, else by Hörmann's transformed rejection (PTRS, 1993)."""
    full = tuple(rate.shape if shape is None else shape)
    low = rate < _LOW
    r = where(low, rate, 1.0)
    u, term = uniform(full, rate), exp(-r)
    total, count = term, uniform(full, rate) * 0
    for n in range(1, _STEPS):
        count = count + (u > total)
        term = term * r / n
        total = total + term
    r = where(low, float(_LOW), rate)
    b = 0.931 + 2.53 * r.sqrt()
    a = -0.059 + 0.02483 * b
    inverse_alpha, best = 1.1239 + 1.1328 / (b - 3.4), r + 0 * count
    open_ = _core.ones(full, dtype=_core.bool, device=rate.device)
    for _ in range(_PROPOSALS):
        u, v = uniform(full, rate) - 0.5, uniform(full, rate)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + r + 0.43).floor()
        bound = xlogy(k, r) - r - lgamma(k.clamp(min=0) + 1)
        fits = log(v * inverse_alpha / (a / (us * us) + b)) <= bound
        accepted = (k >= 0) & (((us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))) | ((us >= 0.013) | (v <= us)) & fits)
        best = where(open_ & accepted, k, best)
        open_ = open_ & ~accepted
    return where(low, count, best)


class Poisson(ExponentialFamily):
    """The Poisson distribution.

    Args:
        rate: the mean.

    Example:
        >>> round(sg.distributions.Poisson(2.0).log_prob(sg.tensor(0.0)).item(), 4)
        -2.0
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, (), validate_args)

    mean = formula(lambda self: self.rate)
    mode = formula(lambda self: self.rate.floor())
    variance = formula(lambda self: self.rate)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return draw_poisson(self.rate, self._extended(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return xlogy(value, self.rate) - self.rate - lgamma(value + 1)


class NegativeBinomial(Trials):
    """The number of successes before a number of failures.

    Args:
        total_count: the number of failures, which need not be whole.

    Example:
        >>> sg.distributions.NegativeBinomial(3.0, probs=sg.tensor(0.5)).mean.item()
        3.0
    """

    arg_constraints: ClassVar = {"total_count": constraints.nonnegative, **Trials.arg_constraints}
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("NegativeBinomial", probs, logits)
        given, self.total_count = together(probs if probs is not None else logits, total_count)
        self.total_count = self.total_count.to(given.dtype)
        super().__init__(given if probs is not None else None, None if probs is not None else given, validate_args)

    mean = formula(lambda self: self.total_count * exp(self.logits))
    mode = formula(lambda self: ((self.total_count - 1) * exp(self.logits)).floor().clamp(min=0))
    variance = formula(lambda self: self.mean / (-self.logits).sigmoid())

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return draw_poisson(standard_gamma(self.total_count, self._extended(shape)) * exp(self.logits))

    def log_prob(self, value: Tensor) -> Tensor:
        n, z = self.total_count, self.logits
        choices = lgamma(n + value) - lgamma(value + 1) - lgamma(n)
        # Of no failures there is one outcome: 0.
        choices = where(n + value == 0, 0.0, choices)
        return choices + n * F.logsigmoid(-z) + value * F.logsigmoid(z)
