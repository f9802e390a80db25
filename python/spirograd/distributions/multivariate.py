"""Distributions of vectors and matrices of real numbers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import _core, linalg
from .._core import Tensor, log, sqrt
from ..special import digamma, lgamma, multigammaln
from . import constraints
from .distribution import HALF_LOG_TWO_PI, Distribution, ExponentialFamily, formula, normal, together
from .gamma import Beta, standard_gamma

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


def _factor(
    op: str, covariance_matrix: Tensor | None, precision_matrix: Tensor | None, scale_tril: Tensor | None
) -> Tensor:
    """The Cholesky factor of a matrix that is given in one of three ways."""
    given = [x for x in (covariance_matrix, precision_matrix, scale_tril) if x is not None]
    if len(given) != 1:
        raise ValueError(
            f"{op}: {len(given)} of covariance_matrix, precision_matrix and scale_tril are given; give one"
        )
    if scale_tril is not None:
        return scale_tril
    return linalg.cholesky(linalg.inv(given[0]) if precision_matrix is not None else given[0])


class _OfCovariance(Distribution):
    """Base of those with a covariance, kept as its Cholesky factor."""

    arg_constraints: ClassVar = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    scale_tril: Tensor

    @property
    def covariance_matrix(self) -> Tensor:
        """[..., n, n]."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return linalg.inv(self.covariance_matrix)


class MultivariateNormal(_OfCovariance):
    """The normal distribution of vectors.

    Args:
        loc: [..., n], the mean.
        covariance_matrix: [..., n, n]; or
        precision_matrix: the inverse of the covariance; or
        scale_tril: the Cholesky factor of the covariance.

    Raises:
        ValueError: not exactly one of the three is given.

    Example:
        >>> d = sg.distributions.MultivariateNormal(sg.zeros(2), sg.eye(2))
        >>> round(d.log_prob(sg.zeros(2)).item(), 4)
        -1.8379
    """

    has_rsample = True
    arg_constraints: ClassVar = {"loc": constraints.real_vector, **_OfCovariance.arg_constraints}
    support = constraints.real_vector

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        scale_tril = _factor("MultivariateNormal", covariance_matrix, precision_matrix, scale_tril)
        batch = _core.broadcast_shapes(loc.shape[:-1], scale_tril.shape[:-2])
        n = loc.shape[-1]
        self.loc, self.scale_tril = loc.expand(*batch, n), scale_tril.expand(*batch, n, n)
        # What the methods read: classes with a covariance of another kind have this alone.
        self._unbroadcasted_scale_tril = self.scale_tril
        super().__init__(batch, (n,), validate_args)

    mean = formula(lambda self: self.loc)
    mode = mean
    variance = formula(lambda self: (self._unbroadcasted_scale_tril**2).sum(-1))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        z = normal(self._extended(shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = (value - self.loc).unsqueeze(-1)
        factor = self._unbroadcasted_scale_tril
        factor = factor.expand(*difference.shape[:-2], *factor.shape[-2:])
        z = linalg.solve(factor, difference).squeeze(-1)
        return -0.5 * (z * z).sum(-1) - self._half_log_det() - self.event_shape[0] * HALF_LOG_TWO_PI

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def entropy(self) -> Tensor:
        return self.event_shape[0] * (0.5 + HALF_LOG_TWO_PI) + self._half_log_det()


class LowRankMultivariateNormal(MultivariateNormal):
    """The normal distribution of vectors with the covariance cov_factor @ cov_factor.mT + diag(cov_diag).

    Args:
        loc: [..., n], the mean.
        cov_factor: [..., n, rank].
        cov_diag: [..., n], positive.

    Raises:
        LinAlgError: the covariance is not positive definite.

    Example:
        >>> d = sg.distributions.LowRankMultivariateNormal(sg.zeros(2), sg.ones(2, 1), sg.ones(2))
        >>> [round(v, 4) for v in d.variance.tolist()]
        [2.0, 2.0]
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        self.cov_factor, self.cov_diag = cov_factor, cov_diag
        super().__init__(loc, cov_factor @ cov_factor.mT + cov_diag.diag_embed(), validate_args=validate_args)


class LKJCholesky(Distribution):
    """The Cholesky factors of correlation matrices whose density is det(matrix)**(concentration - 1).

    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method"
    (2009).

    Args:
        dim: the number of rows of a matrix, 2 or more.
        concentration: 1 for equal densities; larger ones favour the unit matrix.

    Raises:
        ValueError: dim is less than 2.

    Example:
        >>> factor = sg.distributions.LKJCholesky(3, 0.5).sample()
        >>> [round(v, 4) for v in (factor @ factor.mT).diagonal().tolist()]
        [1.0, 1.0, 1.0]
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim is {dim}; use 2 or more")
        self.dim = dim
        (self.concentration,) = together(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        # The onion method: row i is a point inside the unit ball of i dimensions.
        a = self.concentration.unsqueeze(-1)
        row = _core.arange(1, self.dim, dtype=a.dtype, device=a.device)
        squares = Beta(row / 2 + 0 * a, a + 0.5 * (self.dim - 1 - row)).sample(shape)
        squares = _core.pad(squares, (1, 0))
        direction = normal(self._extended(shape), a).tril(-1)
        size = sqrt((direction**2).sum(-1))
        size = _core.where(size == 0, 1.0, size)
        below = direction * (sqrt(squares) / size).unsqueeze(-1)
        return below + sqrt(1 - squares).diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        n, a = self.dim - 1, self.concentration
        row = _core.arange(2, self.dim + 1, dtype=a.dtype, device=a.device)
        power = 2 * (a - 1).unsqueeze(-1) + self.dim - row
        density = (power * log(value.diagonal(0, -2, -1)[..., 1:])).sum(-1)
        alpha = a + 0.5 * n
        return density - 0.5 * n * math.log(math.pi) - multigammaln(alpha - 0.5, n) + lgamma(alpha) * n


class Wishart(_OfCovariance, ExponentialFamily):
    """The Wishart distribution: of df times the covariance of df normal vectors.

    Draws follow Bartlett (1933).

    Args:
        df: degrees of freedom, more than n - 1.
        covariance_matrix: [..., n, n]; or
        precision_matrix: the inverse of the covariance; or
        scale_tril: the Cholesky factor of the covariance.

    Raises:
        ValueError: not exactly one of the three is given.

    Example:
        >>> sg.distributions.Wishart(3.0, sg.eye(2)).mean.tolist()
        [[3.0, 0.0], [0.0, 3.0]]
    """

    has_rsample = True
    arg_constraints: ClassVar = {"df": constraints.dependent, **_OfCovariance.arg_constraints}
    support = constraints.positive_definite

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        factor = _factor("Wishart", covariance_matrix, precision_matrix, scale_tril)
        self.df, _ = together(df, factor[..., 0, 0])
        self.scale_tril = factor.expand(*self.df.shape, *factor.shape[-2:])
        super().__init__(self.df.shape, factor.shape[-2:], validate_args)

    def _check(self) -> None:
        super()._check()
        self._check_inside("df", self.df, constraints.greater_than(self.event_shape[0] - 1))

    mean = formula(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.event_shape[0] - 1
        return _core.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(0, -2, -1)
        return self.df[..., None, None] * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _halves(self) -> Tensor:
        """(df - i) / 2 for each row i."""
        n = self.event_shape[0]
        rows = _core.arange(n, dtype=self.df.dtype, device=self.df.device)
        return (self.df.unsqueeze(-1) - rows) / 2

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        full = self._extended(shape)
        chi = sqrt(2 * standard_gamma(self._halves(), full[:-1]))
        factor = self.scale_tril @ (normal(full, self.df).tril(-1) + chi.diag_embed())
        return factor @ factor.mT

    def _log_norm(self) -> Tensor:
        n, df = self.event_shape[0], self.df
        log_det = 2 * self.scale_tril.diagonal(0, -2, -1).log().sum(-1)
        return df * (n * math.log(2) + log_det) / 2 + multigammaln(df / 2, n)

    def log_prob(self, value: Tensor) -> Tensor:
        log_det = 2 * linalg.cholesky(value).diagonal(0, -2, -1).log().sum(-1)
        trace = (self.precision_matrix * value).sum((-2, -1))
        return (self.df - self.event_shape[0] - 1) / 2 * log_det - trace / 2 - self._log_norm()

    def entropy(self) -> Tensor:
        n, df = self.event_shape[0], self.df
        log_det = 2 * self.scale_tril.diagonal(0, -2, -1).log().sum(-1)
        mean = digamma(self._halves()).sum(-1) + n * math.log(2) + log_det  # of the logarithm of the determinant
        return self._log_norm() - (df - n - 1) / 2 * mean + df * n / 2
