"""Which transform maps all numbers to those that meet a constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints
from .constraints import Constraint
from .transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    Transform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Finds the transform to a constraint, by the constraint's class.

    Example:
        >>> constraints, finds = sg.distributions.constraints, sg.distributions.transform_to
        >>> finds(constraints.positive)(sg.tensor(0.0)).item()
        1.0
        >>> sg.distributions.biject_to(constraints.unit_interval).inv(sg.tensor(0.5)).item()
        0.0
    """

    def __init__(self, name: str = "ConstraintRegistry", text: str = "") -> None:
        self._name = name
        self._registry: dict[type, Factory] = {}
        self.__doc__ = text or type(self).__doc__

    def register(self, constraint: Constraint | type, factory: Factory | None = None) -> Any:
        """Says how to make the transform for a class of constraints; without a factory, a decorator.

        Args:
            constraint: the class, or an object of it.
            factory: gives the transform for a constraint.

        Raises:
            TypeError: it is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, Constraint):
            raise TypeError(f"register: a constraint or a class of them is needed, got {constraint!r}; pass one")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        if type(constraint) not in self._registry:
            raise NotImplementedError(
                f"{self._name}: there is no transform to {constraint}; write a Transform, and register() it"
            )
        return self._registry[type(constraint)](constraint)


transform_to = ConstraintRegistry(
    "transform_to", "A transform from all numbers to those that meet a constraint; register() adds one."
)
biject_to = ConstraintRegistry("biject_to", "The same, where the transform has an inverse.")


def _register(constraint: Any, factory: Factory) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, (int, float)) for bound in (low, high)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _to_lower(constraint: Any) -> Transform:
    low = constraint.lower_bound
    if isinstance(low, (int, float)) and low == 0:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(low, 1.0)])


_register(constraints.greater_than, _to_lower)
_register(constraints.greater_than_eq, _to_lower)
_register(constraints.interval, _to_interval)
_register(constraints.half_open_interval, _to_interval)
_register(constraints.real, lambda constraint: ComposeTransform([]))
_register(constraints.less_than, lambda c: ComposeTransform([ExpTransform(), AffineTransform(c.upper_bound, -1.0)]))
_register(constraints.lower_cholesky, lambda constraint: LowerCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: SoftmaxTransform())
transform_to.register(constraints.positive_definite, lambda constraint: PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: PositiveDefiniteTransform())


def _register_composed(find: ConstraintRegistry) -> None:
    def independent(c: Any) -> Transform:
        return IndependentTransform(find(c.base_constraint), c.reinterpreted_batch_ndims)

    def cat(c: Any) -> Transform:
        return CatTransform([find(part) for part in c.cseq], c.dim, c.lengths)

    def stack(c: Any) -> Transform:
        return StackTransform([find(part) for part in c.cseq], c.dim)

    find.register(constraints.independent, independent)
    find.register(constraints.cat, cat)
    find.register(constraints.stack, stack)
    find.register(constraints.corr_cholesky, lambda constraint: CorrCholeskyTransform())


_register_composed(biject_to)
_register_composed(transform_to)
