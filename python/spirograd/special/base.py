"""What the special functions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Tensor, float32, float64

Table = tuple[Sequence[float], Sequence[float]]


def floating(x: Tensor) -> Tensor:
    """Integers as float32."""
    return x if x.is_floating_point() else x.float()


def poly(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """coefficients[0] + coefficients[1] x + ..., by Horner's rule."""
    total = x * 0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def interpolated(x: Tensor, table: Table) -> Tensor:
    """A polynomial of polynomials.py, with the coefficients for the type of x."""
    return poly(x, table[x.dtype == float64])


def in_full(formula: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The formula, and its derivatives, in float32 or float64: integers become float32; half types are rounded at the
    end."""
    x = floating(x)
    return formula(x) if x.dtype in (float32, float64) else formula(x.float()).to(x.dtype)
