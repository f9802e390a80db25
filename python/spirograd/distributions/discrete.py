"""Distributions of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor, log, log1p, where
from ..base.dtypes import finfo
from ..nn import functional as F
from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily, formula, once, together, uniform

__all__ = ["Bernoulli", "Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


def one_of(op: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError(f"{op}: {'neither' if probs is None else 'both'} of probs and logits given; give one of them")


class Trials(Distribution):
    """Distributions with a probability of success.

    Args:
        probs: the probability of a success; or
        logits: log(p / (1 - p)).

    Raises:
        ValueError: both or neither of probs and logits are given.
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(type(self).__name__, probs, logits)
        if probs is not None:
            (self.probs,) = together(probs)
        else:
            (self.logits,) = together(logits)
        super().__init__((self.probs if probs is not None else self.logits).shape, (), validate_args)

    @once
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.logits.sigmoid()

    @once
    def logits(self) -> Tensor:
        """log(p / (1 - p)), finite for the p that the type can tell from 0 and 1."""
        eps = 2.0**-52 if self.probs.dtype == _core.float64 else 2.0**-23
        p = self.probs.clamp(eps, 1 - eps)
        return log(p) - log1p(-p)

    # Both sides, exact for what was given: where p rounds to 1, 1 - p keeps its digits.

    @property
    def _by_logits(self) -> bool:
        return "logits" in vars(self) and "logits" not in self._computed

    @property
    def _misses(self) -> Tensor:
        """1 - probs."""
        return (-self.logits).sigmoid() if self._by_logits else 1 - self.probs

    @property
    def _log_hits(self) -> Tensor:
        return F.logsigmoid(self.logits) if self._by_logits else _log(self.probs)

    @property
    def _log_misses(self) -> Tensor:
        return F.logsigmoid(-self.logits) if self._by_logits else _log(1 - self.probs, log1p, -self.probs)

    def _cross_entropy(self, q: Trials) -> Tensor:
        """The mean of -log(q) of one trial; 0 log(0) is 0, also in gradients."""
        return -times_log(self.probs, q._log_hits) - times_log(self._misses, q._log_misses)


def _log(x: Tensor, function: Callable[[Tensor], Tensor] = log, of: Tensor | None = None) -> Tensor:
    """log(x), by a function of another form of x; at 0 without the infinite slope, which times 0 would be NaN."""
    none = x == 0
    return where(none, -math.inf, function(where(none, 0.5, x if of is None else of)))


def times_log(count: Tensor, logarithm: Tensor) -> Tensor:
    """The product; 0 where count is 0, whatever the logarithm."""
    none = count == 0
    return where(none, 0.0, count * where(none, 0.0, logarithm))


class Bernoulli(Trials, ExponentialFamily):
    """1 with a probability, else 0.

    Args:
        probs: the probability of 1; or
        logits: log(p / (1 - p)).

    Example:
        >>> round(sg.distributions.Bernoulli(probs=sg.tensor(0.5)).entropy().item(), 4)
        0.6931
    """

    support = constraints.boolean
    has_enumerate_support = True

    mean = formula(lambda self: self.probs)
    mode = formula(lambda self: where(self.probs == 0.5, math.nan, (self.probs > 0.5).to(self.probs.dtype)))
    variance = formula(lambda self: self.probs * self._misses)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        p = self.probs
        return (uniform(self._extended(shape), p) < p).to(p.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = _core.broadcast_tensors(self.logits, value.to(self.logits.dtype))
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return self._cross_entropy(self)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._listed(_core.arange(2, dtype=self.probs.dtype, device=self.probs.device), expand)


class Categorical(Distribution):
    """A class from 0 to n - 1.

    Args:
        probs: [..., n] weights, which need not add up to 1; or
        logits: [..., n] their logarithms.

    Raises:
        ValueError: both or neither are given, or they are numbers.

    Example:
        >>> sg.distributions.Categorical(sg.tensor([1.0, 3.0])).probs.tolist()
        [0.25, 0.75]
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.integer_interval(0, self._num_events - 1)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        one_of("Categorical", probs, logits)
        given = probs if probs is not None else logits
        assert given is not None
        if given.ndim < 1:
            raise ValueError("Categorical: one number is given; give one for each class")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], (), validate_args)

    @once
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self.logits.softmax(-1)

    @once
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

    mode = formula(lambda self: self.probs.argmax(-1))

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
        return -(self.probs * self.logits.clamp(min=finfo(self.logits.dtype).min)).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._listed(_core.arange(self._num_events, device=self.probs.device), expand)


class _OfCategorical(Distribution):
    """The base of distributions whose classes a Categorical draws.

    Args:
        probs: [..., n] weights, which need not add up to 1; or
        logits: [..., n] their logarithms.

    Raises:
        ValueError: both or neither of probs and logits are given.
    """

    _categorical: Categorical

    @property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits


class OneHotCategorical(_OfCategorical):
    """A class as a vector with a single 1.

    Example:
        >>> sg.distributions.OneHotCategorical(sg.tensor([0.0, 1.0])).sample().tolist()
        [0.0, 1.0]
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    mean = formula(lambda self: self.probs)
    mode = formula(lambda self: one_hot(self.probs.argmax(-1), self.probs))
    variance = formula(lambda self: self.probs * (1 - self.probs))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return one_hot(self._categorical.sample(shape), self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        return self._listed(_core.eye(n, dtype=self.probs.dtype, device=self.probs.device), expand)

    def entropy(self) -> Tensor:
        return self._categorical.entropy()


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose draws have the gradient of their probabilities (Bengio et al., 2013).

    Example:
        >>> weights = sg.ones(3, requires_grad=True)
        >>> sg.distributions.OneHotCategoricalStraightThrough(weights).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """A draw with the gradient of probs."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


def one_hot(classes: Tensor, like: Tensor) -> Tensor:
    return _core.one_hot(classes, like.shape[-1]).to(like.dtype)
