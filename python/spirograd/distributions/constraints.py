"""Where values may lie: `constraints.positive.check(x)`; transform_to() maps all numbers there."""

from __future__ import annotations

import re
from typing import Any

from .. import linalg
from .._core import Tensor

__all__ = ["Constraint", "boolean", "corr_cholesky", "dependent", "greater_than", "greater_than_eq"]
__all__ += ["half_open_interval", "independent", "integer_interval", "interval", "less_than", "lower_cholesky"]
__all__ += ["lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive"]
__all__ += ["positive_definite", "positive_integer", "real", "real_vector", "simplex", "unit_interval"]


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

    def __repr__(self) -> str:
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


class Dependent(Constraint):
    """One that other parameters decide: nothing is checked."""

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("dependent.check(): other parameters decide; ask for the constraint of a distribution")


class Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value


class Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class Interval(Constraint):
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

    def __repr__(self) -> str:
        return self._name


class Whole(Interval):
    is_discrete = True


class Independent(Constraint):
    """Values of several dimensions, each element of which meets a constraint."""

    def __init__(self, base_constraint: Constraint, dims: int, name: str) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims, self._name = base_constraint, dims, name
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim + dims

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        for _ in range(self.reinterpreted_batch_ndims):
            inside = inside.all(-1)
        return inside

    def __repr__(self) -> str:
        return self._name


class Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Multinomial(Constraint):
    """Counts that add up to a number of draws."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return ((value >= 0) & (value == value.floor())).all(-1) & (value.sum(-1) == self.upper_bound)


class LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class LowerCholesky(LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class CorrCholesky(LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (((value * value).sum(-1) - 1).abs() < 1e-4).all(-1)


class PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        symmetric = ((value - value.mT).abs() < 1e-6).all(-1).all(-1)
        return symmetric & (linalg.eigvalsh(value)[..., 0] > 0)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From one bound to another."""
    return Interval(lower_bound, upper_bound, f"interval({lower_bound}, {upper_bound})")


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From a bound to below another."""
    name = f"half_open_interval({lower_bound}, {upper_bound})"
    return Interval(lower_bound, upper_bound, name, (True, False))


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return Interval(lower_bound, None, f"greater_than({lower_bound})", (False, True))


def greater_than_eq(lower_bound: Any) -> Constraint:
    """A bound or above."""
    return Interval(lower_bound, None, f"greater_than_eq({lower_bound})")


def less_than(upper_bound: Any) -> Constraint:
    """Below a bound."""
    return Interval(None, upper_bound, f"less_than({upper_bound})", (True, False))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from one bound to another."""
    return Whole(lower_bound, upper_bound, f"integer_interval({lower_bound}, {upper_bound})")


def independent(base_constraint: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """The last dimensions as dimensions of one value, each element of which meets a constraint."""
    dims = reinterpreted_batch_ndims
    return Independent(base_constraint, dims, f"independent({base_constraint}, {dims})")


def multinomial(upper_bound: Any) -> Constraint:
    """Counts of the last dimension that add up to a number of draws."""
    return Multinomial(upper_bound)


real: Constraint = Real()
real_vector: Constraint = Independent(real, 1, "real_vector")
boolean: Constraint = Boolean()
positive: Constraint = Interval(0, None, "positive", (False, True))
nonnegative: Constraint = Interval(0, None, "nonnegative")
unit_interval: Constraint = Interval(0, 1, "unit_interval")
nonnegative_integer: Constraint = Whole(0, None, "nonnegative_integer")
positive_integer: Constraint = Whole(1, None, "positive_integer")
simplex: Constraint = Simplex()
one_hot: Constraint = OneHot()
lower_triangular: Constraint = LowerTriangular()
lower_cholesky: Constraint = LowerCholesky()
corr_cholesky: Constraint = CorrCholesky()
positive_definite: Constraint = PositiveDefinite()
dependent: Constraint = Dependent()
