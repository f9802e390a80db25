"""The normal distribution of several dimensions."""

from __future__ import annotations

from .. import _core, linalg
from .._core import Tensor
from .distribution import HALF_LOG_TWO_PI, Distribution, normal

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: [..., n], the mean.
        covariance_matrix: [..., n, n]; or
        precision_matrix: its inverse; or
        scale_tril: its Cholesky factor.
        validate_args: whether parameters are checked.

    Raises:
        ValueError: not exactly one of the three is given.

    Example:
        >>> d = sg.distributions.MultivariateNormal(sg.zeros(2), sg.eye(2))
        >>> round(d.log_prob(sg.zeros(2)).item(), 4)
        -1.8379
    """

    has_rsample = True
    _parameters = ("loc", "covariance_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = [x for x in (covariance_matrix, precision_matrix, scale_tril) if x is not None]
        if len(given) != 1:
            raise ValueError(
                f"MultivariateNormal: {len(given)} of covariance_matrix, precision_matrix and scale_tril are given; "
                "give one"
            )
        if scale_tril is None:
            covariance = linalg.inv(precision_matrix) if precision_matrix is not None else covariance_matrix
            assert covariance is not None
            scale_tril = linalg.cholesky(covariance)
        batch = _core.broadcast_shapes(loc.shape[:-1], scale_tril.shape[:-2])
        n = loc.shape[-1]
        self.loc, self.scale_tril = loc.expand(*batch, n), scale_tril.expand(*batch, n, n)
        super().__init__(batch, (n,), validate_args)

    @property
    def covariance_matrix(self) -> Tensor:
        """[..., n, n]."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return linalg.inv(self.covariance_matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        return (self.scale_tril**2).sum(-1)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        z = normal(self._extended(shape), self.loc)
        return self.loc + (self.scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = (value - self.loc).unsqueeze(-1)
        factor = self.scale_tril.expand(*difference.shape[:-2], *self.scale_tril.shape[-2:])
        z = linalg.solve(factor, difference).squeeze(-1)
        return -0.5 * (z * z).sum(-1) - self._half_log_det() - self.event_shape[0] * HALF_LOG_TWO_PI

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def entropy(self) -> Tensor:
        return self.event_shape[0] * (0.5 + HALF_LOG_TWO_PI) + self._half_log_det()
