"""What distributions with formulas of their own could be made of, as in PyTorch: `base_dist` and `transforms`."""

from __future__ import annotations

from typing import Any

from .continuous import Cauchy, Exponential, HalfNormal, Normal, Uniform
from .gamma import Gamma
from .inverted import Gumbel, HalfCauchy, Kumaraswamy, Pareto, Weibull
from .quotients import InverseGamma
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform

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
