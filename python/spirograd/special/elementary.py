"""Logarithms and sines that are exact at the edge of their range."""

from __future__ import annotations

import math

from .._core import Tensor, log, log1p, sigmoid, sin, where, xlogy


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
    x = input if eps is None else input.clamp(eps, 1 - eps)
    return log(x) - log1p(-x)


def entr(input: Tensor) -> Tensor:
    """-x log(x); 0 at 0, minus infinity below.

    Example:
        >>> sg.special.entr(sg.tensor([0.0, 1.0])).abs().tolist()
        [0.0, 0.0]
    """
    return where(input < 0, -math.inf, -xlogy(input, input))


def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """input * log1p(other); 0 where input is 0.

    Example:
        >>> sg.special.xlog1py(sg.tensor(0.0), sg.tensor(-1.0)).item()
        0.0
    """
    return where(input == 0, 0.0, input * log1p(where(input == 0, 0.0, other)))


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x); 1 at 0.

    Example:
        >>> sg.special.sinc(sg.tensor(0.0)).item()
        1.0
    """
    x = math.pi * where(input == 0, 1.0, input)
    return where(input == 0, 1.0, sin(x) / x)
