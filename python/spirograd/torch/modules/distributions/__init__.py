"""torch.distributions: the names that spirograd.distributions lacks."""

from typing import Any

from ....distributions import (
    Bernoulli,
    Categorical,
    Cauchy,
    Exponential,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    Normal,
    Pareto,
    Uniform,
    Weibull,
)
from ....distributions.composed import _ExpRelaxedCategorical, _LogitRelaxedBernoulli
from ....distributions.transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform
from .transforms import (
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    StackTransform,
)

__all__ = ["CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "IndependentTransform"]
__all__ += ["PositiveDefiniteTransform", "ReshapeTransform", "StackTransform"]
__all__ += ["ExpRelaxedCategorical", "LogitRelaxedBernoulli"]


class LogitRelaxedBernoulli(_LogitRelaxedBernoulli):
    """The logit of a RelaxedBernoulli.

    Args:
        temperature: near 0, draws are far from 0.
        probs: the probability of 1; or
        logits: log(p / (1 - p)).
        validate_args: whether parameters are checked.
    """

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(temperature, Bernoulli(probs, logits, validate_args=validate_args))


class ExpRelaxedCategorical(_ExpRelaxedCategorical):
    """The logarithm of a RelaxedOneHotCategorical.

    Args:
        temperature: near 0, draws are near those of a corner.
        probs: [..., n] weights; or
        logits: [..., n] their logarithms.
        validate_args: whether parameters are checked.
    """

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(temperature, Categorical(probs, logits, validate_args=validate_args))


# What PyTorch makes these distributions of, whose own formulas they have here.
_MADE: dict[Any, Any] = {
    HalfCauchy: lambda d: (Cauchy(d.scale * 0, d.scale), [AbsTransform()]),
    HalfNormal: lambda d: (Normal(d.scale * 0, d.scale), [AbsTransform()]),
    Gumbel: lambda d: (
        Uniform(d.loc * 0, d.loc * 0 + 1),
        [ExpTransform().inv, AffineTransform(0, -1), ExpTransform().inv, AffineTransform(d.loc, -d.scale)],
    ),
    InverseGamma: lambda d: (Gamma(d.concentration, d.rate), [PowerTransform(d.rate * 0 - 1)]),
    Kumaraswamy: lambda d: (
        Uniform(d.concentration0 * 0, d.concentration0 * 0 + 1),
        [PowerTransform(1 / d.concentration0), AffineTransform(1, -1), PowerTransform(1 / d.concentration1)],
    ),
    Pareto: lambda d: (Exponential(d.alpha), [ExpTransform(), AffineTransform(0, d.scale)]),
    Weibull: lambda d: (
        Exponential(d.scale * 0 + 1),
        [PowerTransform(1 / d.concentration), AffineTransform(0, d.scale)],
    ),
}


def _part(parts: Any, number: int, doc: str) -> property:
    return property(lambda self: parts(self)[number], doc=doc)


for _kind, _parts in _MADE.items():
    _kind.base_dist = _part(_parts, 0, "The distribution that it is made from.")
    _kind.transforms = _part(_parts, 1, "What is applied to that, in order.")
