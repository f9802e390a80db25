"""The Kullback-Leibler divergence of distributions of two kinds."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor, broadcast_shapes, exp, full, log, where, xlogy
from ..special import digamma, lgamma
from ..special.gamma import digamma_rise, log_beta
from .continuous import Exponential, Laplace, Normal, Uniform
from .continuous_bernoulli import ContinuousBernoulli
from .counts import Binomial, Poisson
from .discrete import Bernoulli
from .gamma import Beta, Gamma
from .inverted import Gumbel, Pareto
from .kl import register_kl

# Where the first has values, the second has none.
_APART: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Tensor:
    return full(broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, device=p._device() or q._device())


for _p, _others in _APART.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


def _beta_norm(q: Beta) -> Tensor:
    return log_beta(q.concentration1, q.concentration0)


def _mean_log(p: Uniform) -> Tensor:
    """The mean of log(x)."""
    size = p.high - p.low
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low) - size) / size


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    mirrored = Uniform(1 - p.high, 1 - p.low)
    found = _beta_norm(q) - log(p.high - p.low)
    found = found - (q.concentration1 - 1) * _mean_log(p) - (q.concentration0 - 1) * _mean_log(mirrored)
    return where((p.high > 1) | (p.low < 0), math.inf, found)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    found = lgamma(q.concentration) - q.concentration * log(q.rate) - log(p.high - p.low)
    found = found + (1 - q.concentration) * _mean_log(p) + q.rate * (p.high + p.low) / 2
    return where(p.low < 0, math.inf, found)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return log(ratio) + 0.5 * (high + low) - ratio * (exp(-high) - exp(-low))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    size = p.high - p.low
    found = _mean_log(p) * (q.alpha + 1) - log(q.alpha) - q.alpha * log(q.scale) - log(size)
    return where(p.low < q.scale, math.inf, found)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    a, both = p.concentration1, p.concentration1 + p.concentration0
    found = lgamma(q.concentration) - q.concentration * log(q.rate) - p.entropy()
    return found + (q.concentration - 1) * digamma_rise(a, p.concentration0) + q.rate * a / both


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    return where((q.low > 0) | (q.high < 1), math.inf, log(q.high - q.low) - p.entropy())


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - q._mean_log_prob(p.mean)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    found = (p.concentration - 1) * digamma(p.concentration) - lgamma(p.concentration) - p.concentration
    found = found + log(product) + p.concentration / product
    return found + exp(ratio) * (1 + 1 / product) ** -p.concentration - ratio


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return log(product) - 1 - ratio + exp(ratio) * product / (product + 1) + 1 / product


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean_log = log(p.scale) + 1 / p.alpha
    found = log(p.alpha) - mean_log - 1 + lgamma(q.concentration) - q.concentration * log(q.rate)
    found = found + (1 - q.concentration) * mean_log
    return where(p.alpha <= 1, math.inf, found + q.rate * p.alpha * p.scale / (p.alpha - 1))


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return q.rate * p.mean - p.entropy() - log(q.rate)


@register_kl(ContinuousBernoulli, Normal)
def _continuous_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    far = (p.variance + p.mean**2 - 2 * q.loc * p.mean + q.loc**2) / (2 * q.scale**2)
    return far + 0.5 * math.log(2 * math.pi) + log(q.scale) - p.entropy()
