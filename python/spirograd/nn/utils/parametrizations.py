"""Weights of a norm of their own, and weights whose largest singular value is 1."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._core import Tensor
from ...base.grad_mode import no_grad
from ...linalg import vector_norm
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization, remove_parametrizations

M = TypeVar("M", bound=Module)

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


def _norm(weight: Tensor, dim: int | None) -> Tensor:
    if dim is None:
        return vector_norm(weight)
    return vector_norm(weight, 2, [i for i in range(weight.ndim) if i != dim % weight.ndim], keepdim=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / _norm(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm(weight, self.dim), weight


class _SpectralNorm(Module):
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
        """The power method: _u and _v become the first singular vectors."""
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


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Splits a weight into its size and its direction (Salimans and Kingma, 2016): weight = g v / norm(v).

    `module.parametrizations.NAME` has them as `original0` (g) and `original1` (v).

    Args:
        module: whose weight it is.
        name: its name.
        dim: one size for each index of this dimension; None: one size.

    Returns:
        The module.

    Example:
        >>> layer = sg.nn.utils.parametrizations.weight_norm(sg.nn.Linear(3, 2))
        >>> layer.parametrizations.weight.original0.shape
        (2, 1)
    """
    register_parametrization(module, name, _WeightNorm(dim))
    return module


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides a weight by its largest singular value (Miyato et al., 2018), which the power method follows: so many
    iterations each time the weight is read in training.

    Args:
        module: whose weight it is.
        name: its name.
        n_power_iterations: 1 or more.
        eps: the least length that is divided by.
        dim: the dimension of the outputs; None: 0, but 1 for transposed convolutions.

    Returns:
        The module.

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


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes the weight an ordinary parameter again, with its value of now."""
    remove_parametrizations(module, name)
    return module


remove_spectral_norm = remove_weight_norm
