"""torch.distributions.transforms: those that spirograd.distributions.transforms lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import _core
from ...._core import Tensor
from ....distributions import Distribution, biject_to, constraints, transform_to
from ....distributions.constraint_registry import ConstraintRegistry
from ....distributions.constraints import Constraint
from ....distributions.distribution import sum_rightmost
from ....distributions.transforms import (
    ComposeTransform,
    LowerCholeskyTransform,
    Transform,
    _InverseTransform,
)
from ....linalg import cholesky
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "IndependentTransform"]
__all__ += ["PositiveDefiniteTransform", "ReshapeTransform", "StackTransform", "_InverseTransform"]
__all__ += ["identity_transform"]

identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as parts of one value.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many dimensions.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Values of one shape as those of another.

    Args:
        in_shape: of x.
        out_shape: of the values.

    Raises:
        ValueError: the numbers of elements differ.
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if _core.empty(self.in_shape).numel() != _core.empty(self.out_shape).numel():
            raise ValueError(f"ReshapeTransform: {self.in_shape} and {self.out_shape} differ in number of elements")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _core.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._changed(tuple(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._changed(tuple(shape), self.out_shape, self.in_shape)

    def _changed(self, shape: tuple[int, ...], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
        cut = len(shape) - len(old)
        if cut < 0 or shape[cut:] != old:
            raise ValueError(f"ReshapeTransform: the shape {shape} does not end with {old}")
        return (*shape[:cut], *new)


class _Several(Transform):
    """A transform for each part of a tensor."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.bijective = all(t.bijective for t in self.transforms)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError(f"{type(self).__name__} has no _apart()")

    def _together(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _together()")

    def _each(self, name: str, *tensors: Tensor) -> Tensor:
        parts = [self._apart(t) for t in tensors]
        return self._together([getattr(t, name)(*some) for t, *some in zip(self.transforms, *parts, strict=True)])

    def _call(self, x: Tensor) -> Tensor:
        return self._each("_call", x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each("_inverse", y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._each("log_abs_det_jacobian", x, y)


class CatTransform(_Several):
    """A transform for each part of a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: how long each part is; None: one element.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        return x.split(self.lengths, self.dim)

    def _together(self, parts: list[Tensor]) -> Tensor:
        return _core.cat(parts, self.dim)


class StackTransform(_Several):
    """A transform for each slice along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        return x.unbind(self.dim)

    def _together(self, parts: list[Tensor]) -> Tensor:
        return _core.stack(parts, self.dim)


class CumulativeDistributionTransform(Transform):
    """The probability of less than x.

    Args:
        distribution: of one dimension, with cdf(), icdf() and log_prob().
    """

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        """Where the distribution has values."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


class PositiveDefiniteTransform(Transform):
    """A matrix [..., n, n] to a positive definite one."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor [..., n, n] of a correlation matrix: rows of length one."""

    bijective = True
    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        below = vec_to_tril_matrix(x.tanh(), -1)
        left = (1 - below * below).sqrt().cumprod(-1)  # what the elements before leave of a row's length
        eye = _core.eye(below.shape[-1], dtype=x.dtype, device=x.device)
        return (below + eye) * _core.pad(left[..., :-1], (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        before = _core.pad(left[..., :-1], (1, 0), value=1.0)
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(before, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        before = tril_matrix_to_vec(left, -2).log()
        softplus = _core.softplus(-2 * x)
        return 0.5 * before.sum(-1) - 2 * (x + softplus - 0.6931471805599453).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: {shape[-1]} numbers fill no triangle; check their number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _register(find: ConstraintRegistry) -> None:
    """Transforms that spirograd.distributions lacks."""

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


_register(biject_to)
_register(transform_to)
transform_to.register(constraints.positive_definite, lambda constraint: PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: PositiveDefiniteTransform())
