"""Invertible functions between the values of distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, exp, log, softplus
from . import constraints
from .constraints import Constraint
from .distribution import sum_rightmost

__all__ = ["AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "LowerCholeskyTransform"]
__all__ += ["PowerTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform"]
__all__ += ["TanhTransform", "Transform"]


class Transform:
    """A function with an inverse and the logarithm of its derivative.

    Args:
        cache_size: accepted; the inverse is computed.

    Attributes:
        event_dim: how many dimensions make one value.
        grows: by how many elements the last dimension grows.
        domain: where x may lie, a constraint.
        codomain: where the values lie.
    """

    bijective = True
    event_dim = 0
    grows = 0
    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        self.cache_size = cache_size

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no __call__()")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the size of the derivative at x, where y is the value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian()")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _Inverse(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, of: Transform) -> None:
        super().__init__()
        self.of, self.event_dim, self.grows = of, of.event_dim, -of.grows
        self.domain, self.codomain = of.codomain, of.domain

    def __call__(self, x: Tensor) -> Tensor:
        return self.of._inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.of.log_abs_det_jacobian(y, x)

    @property
    def inv(self) -> Transform:
        return self.of


class ExpTransform(Transform):
    """exp(x).

    Example:
        >>> sg.distributions.transforms.ExpTransform()(sg.tensor(0.0)).item()
        1.0
    """

    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)).

    Example:
        >>> sg.distributions.transforms.SigmoidTransform()(sg.tensor(0.0)).item()
        0.5
    """

    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y) - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """tanh(x).

    Example:
        >>> sg.distributions.transforms.TanhTransform().inv(sg.tensor(0.0)).item()
        0.0
    """

    codomain = constraints.interval(-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
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
        event_dim: how many dimensions make one value.
        cache_size: accepted.

    Example:
        >>> sg.distributions.transforms.AffineTransform(1.0, 2.0)(sg.tensor(3.0)).item()
        7.0
    """

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        if event_dim:
            self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    def __call__(self, x: Tensor) -> Tensor:
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
        exponent: not 0.
        cache_size: accepted.

    Example:
        >>> sg.distributions.transforms.PowerTransform(sg.tensor(2.0))(sg.tensor(3.0)).item()
        9.0
    """

    domain = codomain = constraints.positive

    def __init__(self, exponent: Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def __call__(self, x: Tensor) -> Tensor:
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

    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return softplus(x)

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

    bijective, codomain = False, constraints.nonnegative

    def __call__(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class SoftmaxTransform(Transform):
    """softmax of the last dimension: probabilities. The inverse is one of many.

    Example:
        >>> sg.distributions.transforms.SoftmaxTransform()(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    bijective, event_dim = False, 1
    domain, codomain = constraints.real_vector, constraints.simplex

    def __call__(self, x: Tensor) -> Tensor:
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

    event_dim, grows = 1, 1
    domain, codomain = constraints.real_vector, constraints.simplex

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """The logarithms of how many follow."""
        return log(_core.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device))

    def __call__(self, x: Tensor) -> Tensor:
        z = x - self._offset(x)
        share = _core.pad(z.sigmoid(), (0, 1), value=1.0)
        return share * _core.pad((-z).sigmoid().cumprod(-1), (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        taken, after = y[..., :-1], y.flip(-1).cumsum(-1).flip(-1)[..., 1:]
        return log(taken) - log(after) + self._offset(taken)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - self._offset(x)
        return (log(y[..., :-1]) - softplus(z)).sum(-1)


class LowerCholeskyTransform(Transform):
    """A matrix [..., n, n] to a lower triangular one whose diagonal is positive.

    Example:
        >>> sg.distributions.transforms.LowerCholeskyTransform()(sg.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    event_dim = 2
    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def __call__(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class ComposeTransform(Transform):
    """Several, the first one first.

    Args:
        parts: the transforms.
        cache_size: accepted.

    Example:
        >>> t = sg.distributions.transforms
        >>> t.ComposeTransform([t.ExpTransform(), t.AffineTransform(1.0, 2.0)])(sg.tensor(0.0)).item()
        3.0
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.event_dim = max((part.event_dim for part in self.parts), default=0)
        self.grows = sum(part.grows for part in self.parts)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = 0
        for part in self.parts:
            after = part(x)
            term = part.log_abs_det_jacobian(x, after)
            total, x = total + sum_rightmost(term, self.event_dim - part.event_dim), after
        return total
