"""Operations of a model that would be quantised; they compute in fractions, as before convert()."""

from __future__ import annotations

from .._core import Tensor, cat, relu
from .linear import Identity
from .module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Operations by name, whose results would be observed."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + y."""
        return x + y

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """x + y."""
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """x * y."""
        return x * y

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """x * y."""
        return x * y

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """x @ y."""
        return x @ y

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        """Tensors one behind the other."""
        return cat(x, dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """relu(x + y)."""
        return relu(x + y)
