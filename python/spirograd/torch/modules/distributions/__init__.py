"""torch.distributions: the names that spirograd.distributions lacks."""

from typing import Any

from ....distributions import Bernoulli, Categorical
from ....distributions.composed import _ExpRelaxedCategorical, _LogitRelaxedBernoulli

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli"]


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
