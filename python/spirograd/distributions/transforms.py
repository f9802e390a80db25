"""Invertible functions between the values of distributions."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, exp, log
from ..base.docstrings import described_by
from ..linalg import cholesky
from . import constraints
from .constraints import Constraint
from .distribution import Distribution, inner_ends, softplus, sum_rightmost
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "LowerCholeskyTransform"]
__all__ += ["PowerTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform"]
__all__ += ["CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "TanhTransform", "Transform"]
__all__ += ["IndependentTransform", "PositiveDefiniteTransform", "ReshapeTransform", "StackTransform"]


class Transform:
    """A function with an inverse and the logarithm of its derivative.

    A class of your own has _call(x), and _inverse(y) and log_abs_det_jacobian(x, y) where there are such.

    Args:
        cache_size: 1 to keep the last x and its value, so that neither is computed from the other; 0 to keep neither.

    Raises:
        ValueError: cache_size is neither 0 nor 1.

    Attributes:
        bijective: whether each value comes from one x.
        domain: where x may lie, a constraint.
        codomain: where the values lie.
    """

    bijective = False
    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real

    _cache_size = 0
    _cached_x_y: tuple[Any, Any] = (None, None)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            described_by(*(base for base in cls.__mro__[1:] if issubclass(base, Transform)))(cls)

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size is {cache_size}; use 0 or 1")
        self._cache_size = cache_size
        super().__init__()

    @property
    def event_dim(self) -> int:
        """How many dimensions make one x."""
        return self.domain.event_dim

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if self._cached_x_y[0] is not x:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        """The inverse, as it is called."""
        if self._cache_size == 0:
            return self._inverse(y)
        if self._cached_x_y[1] is not y:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _call()")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the size of the derivative at x, where y is the value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian()")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _InverseTransform(self)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of values of x of that shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of x whose values have that shape."""
        return tuple(shape)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache_size."""
        if self._cache_size == cache_size:
            return self
        made = copy.copy(self)
        made._cache_size, made._cached_x_y = cache_size, (None, None)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, of: Transform) -> None:
        super().__init__()
        self._inv, self.bijective = of, of.bijective
        self.domain, self.codomain = of.codomain, of.domain

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._inv.forward_shape(shape)

    def _call(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    @property
    def inv(self) -> Transform:
        return self._inv


class ExpTransform(Transform):
    """exp(x).

    Example:
        >>> sg.distributions.transforms.ExpTransform()(sg.tensor(0.0)).item()
        1.0
    """

    bijective = True
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def _sigmoid(x: Tensor) -> Tensor:
    """sigmoid, without its ends: their logits are infinite."""
    return x.sigmoid().clamp(*inner_ends(x.dtype))


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)), which does not reach 0 and 1.

    Example:
        >>> sg.distributions.transforms.SigmoidTransform()(sg.tensor(0.0)).item()
        0.5
    """

    bijective = True
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y.clamp(*inner_ends(y.dtype))
        return log(y) - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """tanh(x).

    Example:
        >>> sg.distributions.transforms.TanhTransform().inv(sg.tensor(0.0)).item()
        0.0
    """

    bijective = True
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AffineTransform(Transform):
    """loc + scale * x.

    Args:
        loc: the location.
        scale: the factor.
        event_dim: the number of dimensions of one value.

    Example:
        >>> sg.distributions.transforms.AffineTransform(1.0, 2.0)(sg.tensor(3.0)).item()
        7.0
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        if event_dim:
            self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        size = log(scale.abs()) if isinstance(scale, Tensor) else math.log(abs(scale))
        return sum_rightmost(_core.zeros_like(x) + size, self.event_dim)


class PowerTransform(Transform):
    """x**exponent, for positive x.

    Args:
        exponent: the exponent, which is not 0.

    Example:
        >>> sg.distributions.transforms.PowerTransform(sg.tensor(2.0))(sg.tensor(3.0)).item()
        9.0
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log((self.exponent * y / x).abs())


class SoftplusTransform(Transform):
    """log(1 + exp(x)).

    Example:
        >>> round(sg.distributions.transforms.SoftplusTransform()(sg.tensor(0.0)).item(), 4)
        0.6931
    """

    bijective = True
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return _core.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + log(-_core.expm1(-y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class AbsTransform(Transform):
    """abs(x); the inverse gives the positive one.

    Example:
        >>> sg.distributions.transforms.AbsTransform()(sg.tensor(-2.0)).item()
        2.0
    """

    codomain = constraints.nonnegative

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class SoftmaxTransform(Transform):
    """softmax of the last dimension: probabilities. The inverse is one of many.

    Example:
        >>> sg.distributions.transforms.SoftmaxTransform()(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y)


class StickBreakingTransform(Transform):
    """n numbers to n + 1 probabilities: each takes a share of what those before it left; zeros give equal ones.

    Example:
        >>> y = sg.distributions.transforms.StickBreakingTransform()(sg.zeros(3))
        >>> [round(v, 4) for v in y.tolist()]
        [0.25, 0.25, 0.25, 0.25]
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """The logarithms of how many follow."""
        return log(_core.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device))

    def _call(self, x: Tensor) -> Tensor:
        z = x - self._offset(x)
        share = _core.pad(_sigmoid(z), (0, 1), value=1.0)
        return share * _core.pad(_sigmoid(-z).cumprod(-1), (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        least, _ = inner_ends(y.dtype)
        taken, after = y[..., :-1].clamp(min=least), y.flip(-1).cumsum(-1).flip(-1)[..., 1:].clamp(min=least)
        return log(taken) - log(after) + self._offset(taken)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - self._offset(x)
        return (log(y[..., :-1].clamp(min=inner_ends(y.dtype)[0])) - softplus(z)).sum(-1)


class LowerCholeskyTransform(Transform):
    """A matrix [..., n, n] to a lower triangular one whose diagonal is positive.

    Example:
        >>> sg.distributions.transforms.LowerCholeskyTransform()(sg.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class ComposeTransform(Transform):
    """Applies several transforms, the first one first.

    Args:
        parts: the transforms.

    Example:
        >>> t = sg.distributions.transforms
        >>> t.ComposeTransform([t.ExpTransform(), t.AffineTransform(1.0, 2.0)])(sg.tensor(0.0)).item()
        3.0
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            self.domain = _widened(self.parts[0].domain, [(p.domain, p.codomain) for p in reversed(self.parts)])
            self.codomain = _widened(self.parts[-1].codomain, [(p.codomain, p.domain) for p in self.parts])

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = _core.zeros_like(x) if not self.parts else 0
        dims = self.domain.event_dim
        for part in self.parts:
            after = part(x)
            term = part.log_abs_det_jacobian(x, after)
            total, x = total + sum_rightmost(term, dims - part.domain.event_dim), after
            dims += part.codomain.event_dim - part.domain.event_dim
        return total


def _widened(end: Constraint, parts: Sequence[tuple[Constraint, Constraint]]) -> Constraint:
    """The constraint at one end of several transforms, over all dimensions that any of them makes one value of."""
    dims = parts[0][1].event_dim
    for near, far in parts:
        dims = max(dims + near.event_dim - far.event_dim, near.event_dim)
    return constraints.independent(end, dims - end.event_dim) if dims > end.event_dim else end


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as parts of one value.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: the number of these dimensions.

    Example:
        >>> t, x = sg.distributions.transforms, sg.zeros(2, 3)
        >>> both = t.IndependentTransform(t.ExpTransform(), 1)
        >>> both.log_abs_det_jacobian(x, both(x)).shape
        (2,)
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
        in_shape: the shape of x.
        out_shape: the shape of the result.

    Raises:
        ValueError: the numbers of elements differ.

    Example:
        >>> sg.distributions.transforms.ReshapeTransform((4,), (2, 2))(sg.zeros(3, 4)).shape
        (3, 2, 2)
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
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
        lengths: the lengths of the parts, by default 1 each.

    Example:
        >>> t = sg.distributions.transforms
        >>> t.CatTransform([t.ExpTransform(), t.AffineTransform(1.0, 2.0)])(sg.tensor([0.0, 3.0])).tolist()
        [1.0, 7.0]
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

    Example:
        >>> half = sg.distributions.transforms.CumulativeDistributionTransform(sg.distributions.Normal(0.0, 1.0))
        >>> half(sg.tensor(0.0)).item()
        0.5
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
    """A matrix to a positive definite one: [..., n, n] -> [..., n, n].

    Example:
        >>> sg.distributions.transforms.PositiveDefiniteTransform()(sg.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """Numbers to the Cholesky factor of a correlation matrix, in rows of length 1: [..., n (n - 1) / 2] -> [..., n, n].

    Example:
        >>> sg.distributions.transforms.CorrCholeskyTransform()(sg.zeros(1)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

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
        return 0.5 * before.sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: {shape[-1]} numbers fill no triangle; check their number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)
