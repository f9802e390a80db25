"""Where values may lie: `constraints.positive.check(x)`; transform_to() maps all numbers there."""

from __future__ import annotations

import re
from typing import Any

from .._core import Tensor
from .transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    LowerCholeskyTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    Transform,
)

__all__ = ["Constraint", "biject_to", "boolean", "greater_than", "greater_than_eq", "half_open_interval"]
__all__ += ["integer_interval", "interval", "less_than", "lower_cholesky", "nonnegative", "nonnegative_integer"]
__all__ += ["positive", "positive_integer", "real", "real_vector", "simplex", "transform_to", "unit_interval"]


class Constraint:
    """Base of constraints.

    Attributes:
        is_discrete: whether the values are whole numbers.
        event_dim: how many dimensions make one value.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Which values are inside: bool, without the dimensions of one value."""
        raise NotImplementedError(f"{type(self).__name__} has no check()")

    def transform(self) -> Transform:
        """A transform from all numbers to the values inside.

        Raises:
            NotImplementedError: there is none.
        """
        raise NotImplementedError(f"transform_to: there is no transform to {self}; write a Transform")

    def bijection(self) -> Transform:
        """The same, one to one.

        Raises:
            NotImplementedError: there is none.
        """
        return self.transform()

    def __repr__(self) -> str:
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(self).__name__.strip("_")).lower()


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value

    def transform(self) -> Transform:
        return ComposeTransform([])


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Interval(Constraint):
    """Between two bounds, with which of them inside; a bound may be None."""

    def __init__(self, low: Any, high: Any, name: str, closed: tuple[bool, bool] = (True, True)) -> None:
        self.lower_bound, self.upper_bound, self._name, self._closed = low, high, name, closed

    def check(self, value: Tensor) -> Tensor:
        (low, high), (with_low, with_high) = (self.lower_bound, self.upper_bound), self._closed
        inside = value == value
        if low is not None:
            inside = inside & (value >= low if with_low else value > low)
        if high is not None:
            inside = inside & (value <= high if with_high else value < high)
        return inside & (value == value.floor()) if self.is_discrete else inside

    def transform(self) -> Transform:
        low, high = self.lower_bound, self.upper_bound
        if self.is_discrete:
            return super().transform()
        if high is None:
            parts: list[Transform] = [ExpTransform(), AffineTransform(low, 1.0)]
        elif low is None:
            parts = [ExpTransform(), AffineTransform(high, -1.0)]
        else:
            parts = [SigmoidTransform(), AffineTransform(low, high - low)]
        plain = isinstance(low, (int, float)) and low == 0 and (high is None or high == 1)
        return parts[0] if plain else ComposeTransform(parts)

    def __repr__(self) -> str:
        return self._name


class _Whole(_Interval):
    is_discrete = True


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)

    def transform(self) -> Transform:
        return SoftmaxTransform()

    def bijection(self) -> Transform:
        return StickBreakingTransform()


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)

    def transform(self) -> Transform:
        return LowerCholeskyTransform()


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From one bound to another."""
    return _Interval(lower_bound, upper_bound, f"interval({lower_bound}, {upper_bound})")


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From a bound to below another."""
    name = f"half_open_interval({lower_bound}, {upper_bound})"
    return _Interval(lower_bound, upper_bound, name, (True, False))


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return _Interval(lower_bound, None, f"greater_than({lower_bound})", (False, True))


def greater_than_eq(lower_bound: Any) -> Constraint:
    """A bound or above."""
    return _Interval(lower_bound, None, f"greater_than_eq({lower_bound})")


def less_than(upper_bound: Any) -> Constraint:
    """Below a bound."""
    return _Interval(None, upper_bound, f"less_than({upper_bound})", (True, False))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from one bound to another."""
    return _Whole(lower_bound, upper_bound, f"integer_interval({lower_bound}, {upper_bound})")


real: Constraint = _Real()
real_vector: Constraint = _Real()
boolean: Constraint = _Boolean()
positive: Constraint = _Interval(0, None, "positive", (False, True))
nonnegative: Constraint = _Interval(0, None, "nonnegative")
unit_interval: Constraint = _Interval(0, 1, "unit_interval")
nonnegative_integer: Constraint = _Whole(0, None, "nonnegative_integer")
positive_integer: Constraint = _Whole(1, None, "positive_integer")
simplex: Constraint = _Simplex()
lower_cholesky: Constraint = _LowerCholesky()


def transform_to(constraint: Constraint) -> Transform:
    """A transform from all numbers to those that meet a constraint.

    Args:
        constraint: one of spirograd.distributions.constraints.

    Raises:
        NotImplementedError: there is none.

    Example:
        >>> constraints = sg.distributions.constraints
        >>> sg.distributions.transform_to(constraints.positive)(sg.tensor(0.0)).item()
        1.0
    """
    return constraint.transform()


def biject_to(constraint: Constraint) -> Transform:
    """The same, where the transform has an inverse.

    Args:
        constraint: one of spirograd.distributions.constraints.

    Raises:
        NotImplementedError: there is no transform.

    Example:
        >>> constraints = sg.distributions.constraints
        >>> sg.distributions.biject_to(constraints.unit_interval).inv(sg.tensor(0.5)).item()
        0.0
    """
    return constraint.bijection()
