"""Logarithms and sines that are exact at the edge of their range."""

from __future__ import annotations

import math

from .._core import (
    Tensor,
    float32,
    full,
    get_default_dtype,
    log,
    log1p,
    promote_types,
    result_type,
    sigmoid,
    sin,
    where,
    xlogy,
)
from .base import floating


def expit(input: Tensor) -> Tensor:
    """sigmoid by another name."""
    return sigmoid(input)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)).

    Args:
        input: probabilities of any shape.
        eps: the input is kept within [eps, 1 - eps] if given.

    Example:
        >>> sg.special.logit(sg.tensor(0.5)).item()
        0.0
    """
    x = floating(input) if eps is None else floating(input).clamp(eps, 1 - eps)
    return log(x) - log1p(-x)


def entr(input: Tensor) -> Tensor:
    """-x log(x); 0 at 0, minus infinity below.

    Example:
        >>> sg.special.entr(sg.tensor([0.0, 1.0])).abs().tolist()
        [0.0, 0.0]
    """
    return where(input < 0, -math.inf, -xlogy(input, input))


def xlog1py(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * log1p(other); 0 where input is 0 and other is no NaN.

    Args:
        input: any shape, or a number.
        other: the same; one of them is a tensor.

    Example:
        >>> sg.special.xlog1py(sg.tensor(0.0), sg.tensor(-1.0)).item()
        0.0
    """
    kind = result_type(input, other)
    kind = kind if kind.is_floating_point else get_default_dtype()
    wide = promote_types(kind, float32)
    device = input.device if isinstance(input, Tensor) else other.device  # type: ignore[union-attr]
    x, y = (v.to(wide) if isinstance(v, Tensor) else full((), v, dtype=wide, device=device) for v in (input, other))
    nothing = (x == 0) & (y == y)
    return where(nothing, 0.0, x * log1p(where(nothing, 0.0, y))).to(kind)


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x); 1 at 0.

    Example:
        >>> sg.special.sinc(sg.tensor(0.0)).item()
        1.0
    """
    x = math.pi * where(input == 0, 1.0, input)
    return where(input == 0, 1.0, sin(x) / x)
