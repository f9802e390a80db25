"""The Kullback-Leibler divergence, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import linalg
from .._core import Tensor, exp, log, where, xlogy
from ..special import digamma, lgamma
from .composed import Independent, LogNormal
from .continuous import Exponential, Laplace, Normal, Uniform
from .discrete import Bernoulli, Categorical, OneHotCategorical, Poisson
from .distribution import Distribution, sum_rightmost
from .gamma import Beta, Dirichlet, Gamma
from .multivariate import MultivariateNormal

__all__ = ["kl_divergence", "register_kl"]

_formulas: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[[Any, Any], Tensor]], Callable[[Any, Any], Tensor]]:
    """A decorator: the function gives the divergence of these two types.

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


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


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
    return p.rate * (log(p.rate) - log(q.rate)) - (p.rate - q.rate)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    a, b = p.probs, q.probs
    same = xlogy(a, a) - xlogy(a, b)
    other = xlogy(1 - a, 1 - a) - xlogy(1 - a, 1 - b)
    return where(a == 0, 0.0, same) + where(a == 1, 0.0, other)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where(q.probs == 0, math.inf, terms)
    return where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b, rate = p.concentration, q.concentration, p.rate
    return b * log(rate / q.rate) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) + (q.rate - rate) * (a / rate)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    norms = lgamma(c) + lgamma(d) - lgamma(c + d) + lgamma(a + b) - lgamma(a) - lgamma(b)
    return norms + (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = lgamma(total) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms + ((a - b) * (digamma(a) - digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    spread = linalg.solve(q.scale_tril, p.scale_tril)
    shift = linalg.solve(q.scale_tril, (q.loc - p.loc).unsqueeze(-1))
    squares = (spread**2).sum((-2, -1)) + (shift**2).sum((-2, -1)) - p.event_shape[0]
    return 0.5 * squares + q._half_log_det() - p._half_log_det()


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
