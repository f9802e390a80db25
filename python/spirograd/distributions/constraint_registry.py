"""Which transform maps all numbers to those that meet a constraint."""

from __future__ import annotations

from . import constraints
from .constraints import Constraint
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

__all__ = ["biject_to", "transform_to"]


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
    return SoftmaxTransform() if isinstance(constraint, constraints.Simplex) else biject_to(constraint)


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
    if isinstance(constraint, constraints.Independent):
        return biject_to(constraint.base_constraint)
    if isinstance(constraint, constraints.Real):
        return ComposeTransform([])
    if isinstance(constraint, constraints.Interval) and not constraint.is_discrete:
        return _to_interval(constraint)
    if isinstance(constraint, constraints.Simplex):
        return StickBreakingTransform()
    if type(constraint) is constraints.LowerCholesky:
        return LowerCholeskyTransform()
    raise NotImplementedError(f"transform_to: there is no transform to {constraint}; write a Transform")


def _to_interval(constraint: constraints.Interval) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if high is None:
        parts: list[Transform] = [ExpTransform(), AffineTransform(low, 1.0)]
    elif low is None:
        parts = [ExpTransform(), AffineTransform(high, -1.0)]
    else:
        parts = [SigmoidTransform(), AffineTransform(low, high - low)]
    plain = isinstance(low, (int, float)) and low == 0 and (high is None or high == 1)
    return parts[0] if plain else ComposeTransform(parts)
