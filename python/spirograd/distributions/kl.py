"""The Kullback-Leibler divergence, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import linalg
from .._core import Tensor, erf, exp, log, where, xlogy
from ..special import digamma, lgamma
from ..special.gamma import digamma_rise, log_beta
from .composed import Independent, TransformedDistribution
from .continuous import Cauchy, Exponential, HalfNormal, Laplace, Normal, Uniform
from .continuous_bernoulli import ContinuousBernoulli
from .counts import Binomial, Geometric, Poisson
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .distribution import Distribution, sum_rightmost
from .gamma import Beta, Dirichlet, Gamma
from .inverted import EULER, Gumbel, Pareto
from .multivariate import MultivariateNormal
from .quotients import InverseGamma
from .transforms import Transform
from .von_mises import VonMises

__all__ = ["kl_divergence", "register_kl"]

_formulas: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[[Any, Any], Tensor]], Callable[[Any, Any], Tensor]]:
    """Makes a decorator for a function that computes the divergence of two types.

    Args:
        type_p: the class of the first distribution.
        type_q: the class of the second one.

    Example:
        >>> @sg.distributions.register_kl(sg.distributions.Cauchy, sg.distributions.Normal)
        ... def infinite(p, q):
        ...     return p.loc * float("inf")
    """

    def add(formula: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
        _formulas[type_p, type_q] = formula
        return formula

    return add


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p - log q, in nats: batch_shape.

    Args:
        p: where values come from.
        q: what they are compared with.

    Raises:
        NotImplementedError: there is no formula for these types; register_kl() adds one.

    Example:
        >>> normal = sg.distributions.Normal
        >>> sg.distributions.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0)).item()
        0.5
    """
    place = p._device() if p.batch_shape or p.event_shape else q._device()
    if place is not None:
        p, q = p._beside(place), q._beside(place)
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _formulas:
                return _formulas[kind_p, kind_q](p, q)
    names = f"{type(p).__name__} and {type(q).__name__}"
    raise NotImplementedError(f"kl_divergence: there is no formula for {names}; add one with register_kl()")


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - log(ratio))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc).abs()
    return log(q.scale / p.scale) + (distance + p.scale * exp(-distance / p.scale)) / q.scale - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return where(outside, math.inf, log((q.high - q.low) / (p.high - p.low)))


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - log(ratio) - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return xlogy(p.rate, p.rate) - xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    return p._cross_entropy(q) - p.entropy()


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where(q.probs == 0, math.inf, terms)
    return where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma | InverseGamma, q: Gamma | InverseGamma) -> Tensor:
    a, b, rate = p.concentration, q.concentration, p.rate
    return b * log(rate / q.rate) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) + (q.rate - rate) * (a / rate)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    norms = log_beta(c, d) - log_beta(a, b)
    return norms - (a - c) * digamma_rise(a, b) - (b - d) * digamma_rise(b, a)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = lgamma(total) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms - ((a - b) * digamma_rise(a, total.unsqueeze(-1) - a)).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    spread = linalg.solve(q.scale_tril, p.scale_tril)
    shift = linalg.solve(q.scale_tril, (q.loc - p.loc).unsqueeze(-1))
    squares = (spread**2).sum((-2, -1)) + (shift**2).sum((-2, -1)) - p.event_shape[0]
    return 0.5 * squares + q._half_log_det() - p._half_log_det()


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _same(a: Any, b: Any) -> bool:
    """Whether transforms, or lists or values in them, are equal."""
    if isinstance(a, Transform):
        return type(a) is type(b) and _same(list(vars(a).values()), list(vars(b).values()))
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a is b or (a.shape == b.shape and bool((a == b).all()))
    return bool(a == b)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if not _same(p.transforms, q.transforms) or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: the transforms of the two differ; give both the same")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - log(ratio))


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # Chyzak and Nielsen (2019).
    square = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return log(square) - log(4 * p.scale * q.scale)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return exp(shift + lgamma(1 + ratio)) - log(ratio) - shift + ratio * EULER - (1 + EULER)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    value = q.alpha * log(p.scale / q.scale) - log(ratio) + ratio - 1
    return where(p.scale < q.scale, math.inf, value)


@register_kl(InverseGamma, InverseGamma)
def _inverse_gamma(p: InverseGamma, q: InverseGamma) -> Tensor:
    return _gamma(p, q)


@register_kl(VonMises, VonMises)
def _von_mises(p: VonMises, q: VonMises) -> Tensor:
    return -p.entropy() + q._log_norm() + q.concentration * (1 - p._length() * (p.loc - q.loc).cos())


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return p._cross_entropy(q) / p.probs - p.entropy()


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    value = p.total_count * (p._cross_entropy(q) - p._cross_entropy(p))
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("kl_divergence: the first Binomial has fewer trials; there is a formula for as many")
    return where(p.total_count > q.total_count, math.inf, value)


# ---- two families ----------------------------------------------------------------------------------------------------
# The mean under p of -log q, by the moments of p, less the entropy of p.


def _to_normal(p: Distribution, q: Normal) -> Tensor:
    spread = p.variance + (p.mean - q.loc) ** 2
    return 0.5 * math.log(2 * math.pi) + log(q.scale) + spread / (2 * q.scale**2) - p.entropy()


def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return q.rate * p.mean - log(q.rate) - p.entropy()


for _kind in (Beta, Exponential, Gamma, Gumbel, HalfNormal, Laplace, Pareto, Uniform):
    _formulas[_kind, Normal] = _to_normal
for _kind in (Beta, Gamma, HalfNormal, Pareto):
    _formulas[_kind, Exponential] = _to_exponential


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    a = q.concentration
    mean_log = -EULER - log(p.rate)
    return q.rate / p.rate + lgamma(a) - a * log(q.rate) - (a - 1) * mean_log - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * exp(-0.5 * z * z) + z * erf(z * math.sqrt(0.5)))
    return log(2 * q.scale) + distance / q.scale - p.entropy()


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    shift, ratio = (p.loc - q.loc) / q.scale, p.scale / q.scale
    return log(q.scale) + shift + exp(-shift + 0.5 * ratio * ratio) - p.entropy()


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return where(p.low < 0, math.inf, _to_exponential(p, q))


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - q._mean_log_prob(p.mean)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * log(q.rate) - q.rate)
