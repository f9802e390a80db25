"""Where values may lie: `constraints.positive.check(x)`; transform_to() maps all numbers there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import linalg
from .._core import Tensor, full
from .._core import cat as _cat
from .._core import stack as _stack

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "corr_cholesky", "dependent", "dependent_property"]
__all__ += ["cat", "greater_than", "greater_than_eq", "is_dependent", "positive_semidefinite", "square"]
__all__ += ["stack", "symmetric"]
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
    """One that other parameters decide: nothing is checked. A call gives one that says more about itself.

    Args:
        is_discrete: whether the values are whole numbers, if that is known.
        event_dim: how many dimensions make one value, if that is known.
    """

    def __init__(self, *, is_discrete: Any = None, event_dim: Any = None) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is None:
            raise NotImplementedError(f"dependent.{name}: other parameters decide; ask the constraint of an object")
        return value

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the values are whole numbers."""
        return bool(self._known("is_discrete"))

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """How many dimensions make one value."""
        return int(self._known("event_dim"))

    def __call__(self, *, is_discrete: Any = None, event_dim: Any = None) -> Dependent:
        discrete = self._is_discrete if is_discrete is None else is_discrete
        return Dependent(is_discrete=discrete, event_dim=self._event_dim if event_dim is None else event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("dependent.check(): other parameters decide; ask for the constraint of a distribution")


class dependent_property(property, Dependent):
    """A property that is a constraint: of a class a dependent one, of an object the one that the function gives.

    Args:
        fn: the function, where this is used without brackets.
        is_discrete: whether the values are whole numbers, if the class knows.
        event_dim: how many dimensions make one value, if the class knows.
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = None, event_dim: Any = None) -> None:
        property.__init__(self, fn)
        Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether other parameters decide."""
    return isinstance(constraint, Dependent)


class Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value


class Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """Between bounds, of which there may be one."""

    lower_bound: Any = None
    upper_bound: Any = None
    _names: ClassVar[dict[Any, str]] = {}

    def _bounds(self) -> tuple[Any, ...]:
        return tuple(b for b in (self.lower_bound, self.upper_bound) if b is not None)

    def __repr__(self) -> str:
        bounds = self._bounds()
        plain = all(isinstance(b, (int, float)) for b in bounds)
        return (self._names.get(bounds) if plain else None) or f"{super().__repr__()}({', '.join(map(str, bounds))})"


class GreaterThan(_Bounded):
    """Above a bound."""

    _names: ClassVar = {(0,): "positive"}

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class GreaterThanEq(_Bounded):
    """A bound or above."""

    _names: ClassVar = {(0,): "nonnegative"}

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class LessThan(_Bounded):
    """Below a bound."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class Interval(_Bounded):
    """From one bound to another."""

    _names: ClassVar = {(0, 1): "unit_interval"}

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class HalfOpenInterval(_Bounded):
    """From a bound to below another."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class IntegerInterval(Interval):
    """Whole numbers from one bound to another."""

    is_discrete = True
    _names: ClassVar = {}

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value == value.floor())


class IntegerGreaterThan(_Bounded):
    """Whole numbers from a bound."""

    is_discrete = True
    _names: ClassVar = {(0,): "nonnegative_integer", (1,): "positive_integer"}

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value == value.floor())


class IntegerLessThan(_Bounded):
    """Whole numbers up to a bound."""

    is_discrete = True

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value <= self.upper_bound) & (value == value.floor())


class IndependentConstraint(Constraint):
    """The last dimensions as dimensions of one value, each element of which meets a constraint."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """That of the constraint."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """That of the constraint, and the dimensions."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        if inside.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"{self}.check(): a value of shape {tuple(value.shape)} has fewer than {self.event_dim} dimensions; "
                "give it more"
            )
        for _ in range(self.reinterpreted_batch_ndims):
            inside = inside.all(-1)
        return inside

    def __repr__(self) -> str:
        vector = isinstance(self.base_constraint, Real) and self.reinterpreted_batch_ndims == 1
        return "real_vector" if vector else f"independent({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """That of the components of a mixture, for its values.

    Args:
        base_constraint: of the components.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """That of the components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """That of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        for _ in range(inside.ndim - value.ndim + self.event_dim):
            inside = inside.all(-1)
        return inside


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


class Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype="bool", device=value.device)


class Symmetric(Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return value.isclose(value.mT, atol=1e-6).all(-1).all(-1)


class PositiveSemidefinite(Symmetric):
    def check(self, value: Tensor) -> Tensor:
        inside = super().check(value)
        return inside & (linalg.eigvalsh(value)[..., 0] >= 0) if inside.all() else inside


class PositiveDefinite(Symmetric):
    def check(self, value: Tensor) -> Tensor:
        inside = super().check(value)
        return inside & (linalg.eigvalsh(value)[..., 0] > 0) if inside.all() else inside


class _Several(Constraint):
    """A constraint for each part of a dimension."""

    cseq: list[Constraint]

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the values of a part are whole numbers."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The most that a part has."""
        return max(c.event_dim for c in self.cseq)


class Cat(_Several):
    """A constraint for each part of a dimension, as cat() joins them.

    Args:
        cseq: the constraints.
        dim: the dimension.
        lengths: the lengths of the parts, by default 1 each.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(
                f"cat: {len(self.cseq)} constraints and {len(self.lengths)} lengths; give a length to each"
            )

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return _cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class Stack(_Several):
    """A constraint for each slice along a dimension, as stack() joins them.

    Args:
        cseq: the constraints.
        dim: the dimension.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The most that a slice has, and the dimension if it is one of them."""
        most = super().event_dim
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        return _stack([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
independent, multinomial, cat, stack = IndependentConstraint, Multinomial, Cat, Stack
real: Constraint = Real()
real_vector: Constraint = IndependentConstraint(real, 1)
boolean: Constraint = Boolean()
positive: Constraint = GreaterThan(0.0)
nonnegative: Constraint = GreaterThanEq(0.0)
unit_interval: Constraint = Interval(0.0, 1.0)
nonnegative_integer: Constraint = IntegerGreaterThan(0)
positive_integer: Constraint = IntegerGreaterThan(1)
simplex: Constraint = Simplex()
one_hot: Constraint = OneHot()
lower_triangular: Constraint = LowerTriangular()
lower_cholesky: Constraint = LowerCholesky()
corr_cholesky: Constraint = CorrCholesky()
square: Constraint = Square()
symmetric: Constraint = Symmetric()
positive_semidefinite: Constraint = PositiveSemidefinite()
positive_definite: Constraint = PositiveDefinite()
dependent = Dependent()
