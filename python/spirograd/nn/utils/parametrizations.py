"""Parametrizations: weight normalisation, spectral normalisation, and orthogonal weights."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..._core import Tensor, cat, eye, pad, randn, where
from ...base.docstrings import described_by
from ...base.grad_mode import no_grad
from ...linalg import householder_product, matrix_exp, qr, solve, vector_norm
from ...linalg._lapack import lapack
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization, remove_parametrizations

M = TypeVar("M", bound=Module)

__all__ = ["orthogonal", "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


_ARGUMENTS = """
Args:
    module: the module of the weight.
    name: the name of the weight.

Returns:
    The module.
"""


def norm_of_slices(weight: Tensor, dim: int | None) -> Tensor:
    """The norm for each index of a dimension, which is kept, or of the whole weight."""
    if dim is None:
        return vector_norm(weight)
    return vector_norm(weight, 2, [i for i in range(weight.ndim) if i != dim % weight.ndim], keepdim=True)


class _WeightNorm(Module):
    _shown = ""

    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / norm_of_slices(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_of_slices(weight, self.dim), weight


class _SpectralNorm(Module):
    _shown = ""

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if n_power_iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations is {n_power_iterations}; use 1 or more")
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim % max(weight.ndim, 1), eps
        matrix = self._matrix(weight.detach())
        with no_grad():
            self.register_buffer("_u", normalize(matrix.new_empty(matrix.shape[:1]).normal_(), dim=0, eps=eps))
            self.register_buffer("_v", normalize(matrix.new_empty(matrix.shape[1:]).normal_(), dim=0, eps=eps))
            self._follow(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1) if weight.ndim > 1 else weight.unsqueeze(1)

    def _follow(self, matrix: Tensor, times: int) -> None:
        """Updates _u and _v, which approach the first singular vectors, by the power method."""
        for _ in range(times):
            self._u.copy_(normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.mT @ self._u, dim=0, eps=self.eps))

    _u: Tensor
    _v: Tensor

    def forward(self, weight: Tensor) -> Tensor:
        matrix = self._matrix(weight)
        if self.training:
            with no_grad():
                self._follow(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u @ (matrix @ v))


def _orthogonalised(x: Tensor) -> Tensor:
    """The Q of the QR decomposition whose R has a positive diagonal."""
    q, r = qr(x)
    sign: Tensor = where(r.diagonal(0, -2, -1) < 0, -1.0, 1.0)
    return q * sign.unsqueeze(-2)


class _Orthogonal(Module):
    _shown = ""

    base: Tensor  # the start of the map, [n, n], with use_trivialization

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.map, self._trivial = orthogonal_map, use_trivialization
        self._wide = weight.shape[-2] < weight.shape[-1]

    def forward(self, x: Tensor) -> Tensor:
        x = x.mT if self._wide else x
        n, k = x.shape[-2:]
        if self.map == "householder":
            below = x.tril(-1)
            q = householder_product(below, 2 / (1 + (below * below).sum(-2)))
            q = q * x.diagonal(0, -2, -1).detach().trunc().unsqueeze(-2)
        else:
            lower = pad(x.tril(), (0, n - k))
            skew = lower - lower.mT
            one = eye(n, dtype=x.dtype, device=x.device)
            q = matrix_exp(skew) if self.map == "matrix_exp" else solve(one - 0.5 * skew, one + 0.5 * skew)
            q = q[..., :k]
        made: Tensor = self.base @ q if self._trivial else q
        return made.mT if self._wide else made

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The original of this weight, or, with a base, the original that does not change it."""
        with no_grad():
            q = weight.mT if self._wide else weight
            n, k = q.shape[-2:]
            if self._trivial:
                if n != k:
                    q = cat([q, randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)], -1)
                self.register_buffer("base", _orthogonalised(q))
                return -eye(*weight.shape[-2:], dtype=q.dtype, device=q.device).expand(*weight.shape)
            if self.map != "householder":
                return weight
            raw, tau = lapack("orthogonal", "has no QR decomposition", lambda a: np.linalg.qr(a, mode="raw"), q)
            below = raw.mT
            sign = where(below.diagonal(0, -2, -1) < 0, -1.0, 1.0) * where(tau == 0, -1.0, 1.0)
            made = below.tril(-1) + pad(sign.diag_embed(), (0, 0, 0, n - k))
            return made.mT if self._wide else made


@described_by(_ARGUMENTS)
def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Keeps a weight orthogonal (Lezcano-Casado and Martinez-Rubio, 2019): its columns, or the rows of a wide one, are
    orthonormal.

    Args:
        name: the name of the weight, [..., n, k].
        orthogonal_map: the map from any matrix to an orthogonal one: "matrix_exp", "cayley" or "householder"; by
            default the first for square weights, else the last. Only "matrix_exp" does not need LAPACK.
        use_trivialization: whether training starts from the orthogonal matrix nearest to the weight, which is kept as
            the buffer `base`.

    Raises:
        ValueError: orthogonal_map is unknown, or the weight has fewer than two dimensions.

    Example:
        >>> layer = sg.nn.utils.parametrizations.orthogonal(sg.nn.Linear(3, 3))
        >>> ((layer.weight @ layer.weight.mT) - sg.eye(3)).abs().max().item() < 1e-5
        True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        raise ValueError(f"orthogonal: {type(module).__name__} has no matrix '{name}'; pass the name of one")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f"orthogonal: orthogonal_map '{orthogonal_map}' is unknown; use matrix_exp, cayley or householder"
        )
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization))
    return module


@described_by(_ARGUMENTS)
def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Splits a weight into its norm and its direction (Salimans and Kingma, 2016): weight = g v / norm(v).

    `module.parametrizations.NAME` has them as `original0` (g) and `original1` (v).

    Args:
        dim: the dimension that has one norm for each index; None for one norm of the whole weight.

    Example:
        >>> layer = sg.nn.utils.parametrizations.weight_norm(sg.nn.Linear(3, 2))
        >>> layer.parametrizations.weight.original0.shape
        (2, 1)
    """
    register_parametrization(module, name, _WeightNorm(dim))
    return module


@described_by(_ARGUMENTS)
def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides a weight by its largest singular value (Miyato et al., 2018), which the power method approximates.

    Args:
        n_power_iterations: the number of iterations, 1 or more, each time the weight is read in training.
        eps: the lower bound of divisors.
        dim: the dimension of the outputs, by default 0, or 1 for transposed convolutions.

    Raises:
        ValueError: n_power_iterations is less than 1.

    Example:
        >>> layer = sg.nn.utils.parametrizations.spectral_norm(sg.nn.Linear(3, 2))
        >>> layer.weight.shape
        (2, 3)
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    weight: Any = getattr(module, name)
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


@described_by(_ARGUMENTS)
def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes the weight an ordinary parameter again, with its current value."""
    remove_parametrizations(module, name)
    return module


remove_spectral_norm = remove_weight_norm
