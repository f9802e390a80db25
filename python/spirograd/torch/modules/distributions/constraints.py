"""torch.distributions.constraints: the classes, under the names that other people's derive from."""

from ....distributions import constraints as ours

_CLASSES = ["Boolean", "Cat", "CorrCholesky", "Dependent", "GreaterThan", "GreaterThanEq", "HalfOpenInterval"]
_CLASSES += ["IntegerGreaterThan", "IntegerInterval", "IntegerLessThan", "Interval", "LessThan", "LowerCholesky"]
_CLASSES += ["LowerTriangular", "Multinomial", "OneHot", "PositiveDefinite", "PositiveSemidefinite", "Real", "Simplex"]
_CLASSES += ["Square", "Stack", "Symmetric"]
globals().update({f"_{name}": getattr(ours, name) for name in _CLASSES})
_IndependentConstraint, _DependentProperty = ours.IndependentConstraint, ours.dependent_property
__all__ = ["_DependentProperty", "_IndependentConstraint", *(f"_{name}" for name in _CLASSES)]
