"""weight_norm and spectral_norm as PyTorch's first versions: parameters beside the weight, which is made before each
call.

Programs write into `weight_g`, and files of weights have these names. nn.utils.parametrizations has the newer forms.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ..._core import Tensor
from ...base.docstrings import described_by
from ...base.grad_mode import no_grad
from ..functional import normalize
from ..module import Module
from ..parameter import Parameter
from . import parametrizations
from .parametrizations import norm_of_slices

__all__ = ["SpectralNorm", "WeightNorm", "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm:
    """What weight_norm() calls before forward().

    Attributes:
        name: of the weight.
        dim: one size for each index of this dimension; -1: one size.
    """

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight of the size and the direction of now."""
        size, direction = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return direction * (size / norm_of_slices(direction, None if self.dim == -1 else self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Splits the weight and registers the call."""
        if any(isinstance(h, WeightNorm) and h.name == name for h in module._forward_pre_hooks.values()):  # type: ignore[attr-defined]
            raise RuntimeError(f"weight_norm: {name!r} has one already; call remove_weight_norm() first")
        made = WeightNorm(name, -1 if dim is None else dim)
        weight: Any = getattr(module, name)
        delattr(module, name)
        with no_grad():
            size = norm_of_slices(weight.detach(), dim)
        module.register_parameter(f"{name}_g", Parameter(size))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again, with its value of now."""
        weight = self.compute_weight(module)
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm:
    """What spectral_norm() calls before forward().

    Attributes:
        name: of the weight.
        dim: the dimension of the outputs.
        n_power_iterations: of each call in training.
        eps: the least length that is divided by.
    """

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations is {n_power_iterations}; use 1 or more")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """[outputs, all else]."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight over its largest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.mT @ u, dim=0, eps=self.eps))
                    u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))
        u, v = u.clone(), v.clone()
        return weight / (u @ (matrix @ v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Puts the weight aside and registers the call."""
        if any(isinstance(h, SpectralNorm) and h.name == name for h in module._forward_pre_hooks.values()):  # type: ignore[attr-defined]
            raise RuntimeError(f"spectral_norm: {name!r} has one already; call remove_spectral_norm() first")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = getattr(module, name)
        with no_grad():
            matrix = made.reshape_weight_to_matrix(weight.detach())
            u, v = (normalize(matrix.new_empty((size,)).normal_(), dim=0, eps=eps) for size in matrix.shape)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again, with its value of now."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


@described_by(parametrizations.weight_norm)
def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Splits a weight into its size, `weight_g`, and its direction, `weight_v`.

    Args:
        dim: one size for each index of this dimension; None: one size.
    """
    WeightNorm.apply(module, name, dim)
    return module


@described_by(parametrizations.spectral_norm)
def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides a weight, which is kept as `weight_orig`, by its largest singular value.

    Args:
        n_power_iterations: of the power method, in each call in training; 1 or more.
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def _remove(op: str, module: M, name: str, kind: type[WeightNorm] | type[SpectralNorm]) -> M:
    hooks = module._forward_pre_hooks  # type: ignore[attr-defined]
    for number, hook in list(hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del hooks[number]
            return module
    raise ValueError(f"{op}: {type(module).__name__} has none of {name!r}; name the weight that has it")


@described_by(parametrizations.remove_weight_norm)
def remove_weight_norm(module: M, name: str = "weight") -> M:
    """
    Raises:
        ValueError: the weight has none.
    """
    return _remove("remove_weight_norm", module, name, WeightNorm)


@described_by(parametrizations.remove_spectral_norm)
def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """
    Raises:
        ValueError: the weight has none.
    """
    return _remove("remove_spectral_norm", module, name, SpectralNorm)
