"""Distributions made of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor, exp, expm1, log
from . import constraints
from .constraints import Constraint
from .continuous import Normal
from .discrete import Bernoulli, Categorical, _OfCategorical
from .distribution import Distribution, formula, softplus, sum_rightmost, uniform
from .transforms import ComposeTransform, ExpTransform, SigmoidTransform, StickBreakingTransform, Transform

__all__ = ["Independent", "LogNormal", "LogisticNormal", "MixtureSameFamily", "RelaxedBernoulli"]
__all__ += ["RelaxedOneHotCategorical", "TransformedDistribution"]


class Independent(Distribution):
    """The last batch dimensions of a distribution as dimensions of one value: their log_prob is added.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: the number of these dimensions.
        validate_args: accepted.

    Raises:
        ValueError: the distribution has fewer batch dimensions.

    Example:
        >>> normal = sg.distributions.Normal(sg.zeros(3), sg.ones(3))
        >>> sg.distributions.Independent(normal, 1).log_prob(sg.zeros(3)).shape
        ()
    """

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, dims = base_distribution.batch_shape, reinterpreted_batch_ndims
        if dims > len(batch):
            raise ValueError(f"Independent: {dims} dimensions of a batch {list(batch)}; use {len(batch)} or fewer")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, dims
        cut = len(batch) - dims
        super().__init__(batch[:cut], (*batch[cut:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base has it."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the base has it, for a single dimension."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError(
                f"Independent: all combinations of {self.reinterpreted_batch_ndims} dimensions are too many to list; "
                "list the values of base_dist"
            )
        return self.base_dist.enumerate_support(expand)

    mean = formula(lambda self: self.base_dist.mean)
    mode = formula(lambda self: self.base_dist.mode)
    variance = formula(lambda self: self.base_dist.variance)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.base_dist._draw(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The values of a distribution, sent through transforms.

    Args:
        base_distribution: the distribution that the transforms are applied to.
        transforms: a transform, or a list of them in the order of their application.
        validate_args: accepted.

    Example:
        >>> base = sg.distributions.Uniform(0.0, 1.0)
        >>> exp = sg.distributions.transforms.ExpTransform()
        >>> round(sg.distributions.TransformedDistribution(base, [exp]).log_prob(sg.tensor(2.0)).item(), 4)
        -0.6931
    """

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return self._all.codomain if self.transforms else self.base_dist.support

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self._all = ComposeTransform(self.transforms)
        if self.transforms and self._all.codomain in (constraints.unit_interval, constraints.simplex):
            self._ends = (0, 1)
        shape = self._all.forward_shape((*base_distribution.batch_shape, *base_distribution.event_shape))
        ends = (self._all.domain.event_dim, self._all.codomain.event_dim)
        cut = len(shape) - max(ends[1], len(base_distribution.event_shape) + ends[1] - ends[0])
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base has it."""
        return self.base_dist.has_rsample

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._all(self.base_dist._draw(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._all._inv_call(value)
        ends = (self._all.domain.event_dim, self._all.codomain.event_dim)
        dims = len(self.event_shape) + ends[0] - ends[1]  # of x
        change = sum_rightmost(self._all.log_abs_det_jacobian(x, value), dims - ends[0])
        return sum_rightmost(self.base_dist.log_prob(x), dims - len(self.base_dist.event_shape)) - change

    def cdf(self, value: Tensor) -> Tensor:
        return self.base_dist.cdf(self._all._inv_call(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._all(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    """exp of a normal distribution.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm.
        validate_args: whether to check parameters and values, which reads them.

    Example:
        >>> round(sg.distributions.LogNormal(0.0, 1.0).mean.item(), 4)
        1.6487
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    _ends = (0,)
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    mean = formula(lambda self: exp(self.loc + self.scale**2 / 2))
    mode = formula(lambda self: exp(self.loc - self.scale**2))
    variance = formula(lambda self: expm1(self.scale**2) * exp(2 * self.loc + self.scale**2))

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Probabilities of n + 1 classes, made of n normal variables by breaking a stick.

    Args:
        loc: [..., n], the means.
        scale: the standard deviations.
        validate_args: whether to check parameters and values, which reads them.

    Example:
        >>> sg.distributions.LogisticNormal(sg.zeros(3), sg.ones(3)).sample().shape
        (4,)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "scale": constraints.independent(constraints.positive, 1),
    }
    base_dist: Independent

    def __init__(self, loc: Tensor, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            raise ValueError("LogisticNormal: loc is a number; give a vector")
        super().__init__(Independent(base, 1), StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        return self.base_dist.mean

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self.base_dist.stddev


class _LogitRelaxedBernoulli(Distribution):
    """The logit of a RelaxedBernoulli (Maddison, Mnih and Teh, 2017)."""

    has_rsample = True
    support = constraints.real

    def __init__(self, temperature: Any, bernoulli: Bernoulli) -> None:
        self.temperature, self.bernoulli = temperature, bernoulli
        super().__init__(bernoulli.batch_shape)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        u = uniform(self._extended(shape), self.bernoulli.logits)
        return (log(u) - (-u).log1p() + self.bernoulli.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        t = self.temperature
        difference = self.bernoulli.logits - value * t
        rate = log(t) if isinstance(t, Tensor) else log(_core.full_like(difference, t))
        return rate + difference - 2 * softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli distribution on (0, 1), whose draws have gradients.

    Args:
        temperature: near 0, draws are near 0 or 1.
        probs: the probability of 1; or
        logits: log(p / (1 - p)).
        validate_args: whether to check parameters and values, which reads them.

    Raises:
        ValueError: both or neither of probs and logits are given.

    Example:
        >>> sg.distributions.RelaxedBernoulli(0.5, probs=sg.tensor([0.5])).rsample().shape
        (1,)
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._bernoulli = Bernoulli(probs, logits, validate_args)
        super().__init__(_LogitRelaxedBernoulli(temperature, self._bernoulli), SigmoidTransform())
        self.temperature = temperature

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self._bernoulli.probs

    @property
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        return self._bernoulli.logits


class _ExpRelaxedCategorical(Distribution):
    """The logarithm of a RelaxedOneHotCategorical."""

    has_rsample = True
    support = constraints.real_vector

    def __init__(self, temperature: Any, categorical: Categorical) -> None:
        self.temperature, self.categorical = temperature, categorical
        super().__init__(categorical.batch_shape, categorical.param_shape[-1:])

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        logits = self.categorical.logits
        gumbel = -log(-log(uniform(self._extended(shape), logits)))
        scores = (logits + gumbel) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        n, t = self.categorical.param_shape[-1], self.temperature
        t = t if isinstance(t, Tensor) else _core.full((), t, dtype=value.dtype, device=value.device)
        scores = self.categorical.logits - value * t
        scores = (scores - scores.logsumexp(-1, keepdim=True)).sum(-1)
        factorial = _core.arange(1, n, dtype=value.dtype, device=value.device).log().sum()
        return factorial + (n - 1) * log(t) + scores


class RelaxedOneHotCategorical(_OfCategorical, TransformedDistribution):
    """A OneHotCategorical inside the simplex, whose draws have gradients (the Gumbel-softmax distribution).

    Args:
        temperature: near 0, draws are near a corner.
        validate_args: whether to check parameters and values, which reads them.

    Example:
        >>> round(sg.distributions.RelaxedOneHotCategorical(0.5, probs=sg.ones(3)).rsample().sum().item(), 4)
        1.0
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    _ends = (0, 1)

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(_ExpRelaxedCategorical(temperature, self._categorical), ExpTransform())
        self.temperature = temperature


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family.

    Args:
        mixture_distribution: a Categorical that draws the component.
        component_distribution: the components, along the last batch dimension.
        validate_args: accepted.

    Example:
        >>> d = sg.distributions
        >>> pair = d.Normal(sg.tensor([-1.0, 1.0]), sg.ones(2))
        >>> d.MixtureSameFamily(d.Categorical(sg.ones(2)), pair).mean.item()
        0.0
    """

    @property
    def support(self) -> Constraint:
        """Where values lie."""
        return self.component_distribution.support

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

    def _weights(self) -> Tensor:
        return self.mixture_distribution.probs.reshape(
            *self.mixture_distribution.param_shape, *(1,) * len(self.event_shape)
        )

    mean = formula(lambda self: (self._weights() * self.component_distribution.mean).sum(-1 - len(self.event_shape)))

    @property
    def variance(self) -> Tensor:
        dim, weights, parts = -1 - len(self.event_shape), self._weights(), self.component_distribution
        spread = (weights * (parts.mean - self.mean.unsqueeze(dim)) ** 2).sum(dim)
        return (weights * parts.variance).sum(dim) + spread

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        dim = -1 - len(self.event_shape)
        which = self.mixture_distribution.sample(shape)
        parts = self.component_distribution._draw(shape)
        index = which.reshape(*which.shape, *(1,) * (1 + len(self.event_shape)))
        index = index.expand(*which.shape, 1, *self.event_shape)
        return parts.gather(dim % parts.ndim, index).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        parts = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self.event_shape)))
        return (parts + self.mixture_distribution.logits).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        return (self._weights() * self.component_distribution.cdf(value.unsqueeze(-1))).sum(-1)
