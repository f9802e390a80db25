"""Distributions of counts and classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .. import _core
from .._core import Tensor, exp, log, log1p, where, xlogy
from ..nn import functional as F
from ..special import lgamma
from .distribution import Distribution, ExponentialFamily, together, uniform

__all__ = ["Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "OneHotCategorical", "Poisson"]


def _one_of(op: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError(f"{op}: {'neither' if probs is None else 'both'} of probs and logits given; give one of them")


class _Trials(Distribution):
    """With a probability of success, given as probs or as logits."""

    def __init__(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        _one_of(type(self).__name__, probs, logits)
        if probs is not None:
            (self.probs,) = together(probs)
            self._parameters = ("probs",)  # type: ignore[misc]
        else:
            (self.logits,) = together(logits)
            self._parameters = ("logits",)  # type: ignore[misc]
        super().__init__((self.probs if probs is not None else self.logits).shape, (), validate_args)

    @cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.logits.sigmoid()

    @cached_property
    def logits(self) -> Tensor:
        """log(p / (1 - p)), finite for the p that the type can tell from 0 and 1."""
        eps = 2.0**-52 if self.probs.dtype == _core.float64 else 2.0**-23
        p = self.probs.clamp(eps, 1 - eps)
        return log(p) - log1p(-p)


class Bernoulli(_Trials, ExponentialFamily):
    """1 with a probability, else 0.

    Args:
        probs: the probability of 1; or
        logits: log(p / (1 - p)).
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> round(sg.distributions.Bernoulli(probs=sg.tensor(0.5)).entropy().item(), 4)
        0.6931
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return where(self.probs == 0.5, math.nan, (self.probs > 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        p = self.probs
        return (uniform(self._extended(shape), p) < p).to(p.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = _core.broadcast_tensors(self.logits, value.to(self.logits.dtype))
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Geometric(_Trials):
    """The number of failures before the first success.

    Args:
        probs: the probability of a success; or
        logits: log(p / (1 - p)).
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> sg.distributions.Geometric(probs=sg.tensor(0.25)).mean.item()
        3.0
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (log(uniform(self._extended(shape), self.probs)) / log1p(-self.probs)).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        return value * log1p(-self.probs) + log(self.probs)

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(_Trials):
    """The number of successes in a number of trials.

    Args:
        total_count: the number of trials; the draws take memory for each of them.
        probs: the probability of a success; or
        logits: log(p / (1 - p)).
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> sg.distributions.Binomial(10, probs=sg.tensor(0.5)).mean.item()
        5.0
    """

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        _one_of("Binomial", probs, logits)
        given, self.total_count = together(probs if probs is not None else logits, total_count)
        self.total_count = self.total_count.to(given.dtype)
        super().__init__(given if probs is not None else None, None if probs is not None else given, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        trials = int(self.total_count.max().item()) if self.total_count.numel() else 0
        full = self._extended(shape)
        hits = uniform((*full, trials), self.probs) < self.probs.unsqueeze(-1)
        counted = _core.arange(trials, device=self.probs.device) < self.total_count.unsqueeze(-1)
        return (hits & counted).sum(-1).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        n, z = self.total_count, self.logits
        choices = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return choices + value * z - n * (z.clamp(min=0) + log1p(exp(-z.abs())))

    def entropy(self) -> Tensor:
        trials = int(self.total_count.max().item()) if self.total_count.numel() else 0
        counts = _core.arange(trials + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.reshape(-1, *(1,) * len(self.batch_shape))
        logs = where(counts <= self.total_count, self.log_prob(counts.minimum(self.total_count)), -math.inf)
        return -where(logs == -math.inf, 0.0, exp(logs) * logs).sum(0)


class Categorical(Distribution):
    """A class from 0 to n - 1.

    Args:
        probs: [..., n] weights, which need not add up to 1; or
        logits: [..., n] their logarithms.
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given, or they are numbers.

    Example:
        >>> sg.distributions.Categorical(sg.tensor([1.0, 3.0])).probs.tolist()
        [0.25, 0.75]
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        _one_of("Categorical", probs, logits)
        given = probs if probs is not None else logits
        assert given is not None
        if given.ndim < 1:
            raise ValueError("Categorical: one number is given; give one for each class")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self._parameters = ("probs",)  # type: ignore[misc]
        else:
            self.logits = given - given.logsumexp(-1, keepdim=True)
            self._parameters = ("logits",)  # type: ignore[misc]
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], (), validate_args)

    @cached_property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self.logits.softmax(-1)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithm of the probability of each class."""
        eps = 2.0**-52 if self.probs.dtype == _core.float64 else 2.0**-23
        return log(self.probs.clamp(eps, 1 - eps))

    @property
    def param_shape(self) -> tuple[int, ...]:
        """[..., n]."""
        return (*self.batch_shape, self._num_events)

    @property
    def mean(self) -> Tensor:
        return _core.full(self.batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        count = math.prod(shape)
        drawn = _core.multinomial(rows, max(count, 1), True).transpose(0, 1)[:count]
        return drawn.reshape((*shape, *self.batch_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        shape = _core.broadcast_shapes(value.shape, self.batch_shape)
        logits = self.logits.expand(*shape, self._num_events)
        return logits.gather(-1, value.long().expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -(self.probs * self.logits.clamp(min=-3.4e38)).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All classes: [n, ...]."""
        values = _core.arange(self._num_events, device=self.probs.device).reshape(-1, *(1,) * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values


class OfCategorical(Distribution):
    """Base of those whose weights are of a Categorical."""

    _categorical: Categorical

    @property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits


class OneHotCategorical(OfCategorical):
    """A class as a vector with a single 1.

    Args:
        probs: [..., n] weights; or
        logits: [..., n] their logarithms.
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> sg.distributions.OneHotCategorical(sg.tensor([0.0, 1.0])).sample().tolist()
        [0.0, 1.0]
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return _one_hot(self.probs.argmax(-1), self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return _one_hot(self._categorical.sample(shape), self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()


def _one_hot(classes: Tensor, like: Tensor) -> Tensor:
    return _core.one_hot(classes, like.shape[-1]).to(like.dtype)


class Multinomial(OfCategorical):
    """How often each class comes in a number of draws.

    Args:
        total_count: the number of draws.
        probs: [..., n] weights; or
        logits: [..., n] their logarithms.
        validate_args: whether parameters are checked.

    Raises:
        ValueError: both or neither are given.

    Example:
        >>> sg.distributions.Multinomial(8, sg.ones(2)).sample().sum().item()
        8.0
    """

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

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return _one_hot(self._categorical.sample((self.total_count, *shape)), self.probs).sum(0)

    def log_prob(self, value: Tensor) -> Tensor:
        possible = where((value == 0) & (self.logits == -math.inf), 0.0, self.logits)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (possible * value).sum(-1)


# Up to this rate the sum of probabilities is followed; then Hörmann's method is used, which accepts 7 of 10 or more.
_LOW, _STEPS, _PROPOSALS = 10, 45, 24


def draw_poisson(rate: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Draws of Poisson variables: by inversion for low rates, else by Hörmann's transformed rejection (PTRS, 1993)."""
    full = tuple(rate.shape if shape is None else shape)
    low = rate < _LOW
    r = where(low, rate, 1.0)
    u, term = uniform(full, rate), exp(-r)
    total, count = term, uniform(full, rate) * 0
    for k in range(1, _STEPS):
        count = count + (u > total)
        term = term * r / k
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
        validate_args: whether parameters are checked.

    Example:
        >>> round(sg.distributions.Poisson(2.0).log_prob(sg.tensor(0.0)).item(), 4)
        -2.0
    """

    _parameters = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return draw_poisson(self.rate, self._extended(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return xlogy(value, self.rate) - self.rate - lgamma(value + 1)
