"""einops with these tensors: its functions take them, on every device and with gradients, whichever of the two packages
is imported first. Its layers for `sg.nn` are here.

`import spirograd` does not import einops. Programs that `python -m spirograd run` starts need nothing of this: there,
einops sees PyTorch.

Example:
    >>> import einops
    >>> einops.rearrange(sg.arange(6).reshape(2, 3), "a b -> (b a)").tolist()
    [0, 3, 1, 4, 2, 5]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Tensor
from .nn import Module, Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EinMix", "Rearrange", "Reduce"]


def _part(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise ImportError(
            "spirograd.einops: the package einops is not installed; pip install einops", name=e.name
        ) from e


_AbstractBackend: Any = _part("einops._backends").AbstractBackend
_Rearrange: Any = _part("einops.layers").RearrangeMixin
_Reduce: Any = _part("einops.layers").ReduceMixin
_EinMix: Any = _part("einops.layers._einmix")._EinmixMixin


class _Backend(_AbstractBackend):  # type: ignore[misc]
    """What einops finds for a tensor: it looks at the subclasses of its class, and whether the framework is loaded."""

    framework_name = "spirograd"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return _core.tensor(x)

    def to_numpy(self, x: Tensor) -> Any:
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return _core.arange(start, stop)

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        if operation in ("any", "all", "prod"):
            for axis in sorted(axes, reverse=True):
                x = getattr(x, operation)(dim=axis)
            return x
        name = {"min": "amin", "max": "amax"}.get(operation, operation)
        return getattr(x, name)(dim=tuple(axes)) if axes else x

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(*axes)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Tensor]) -> Tensor:
        return _core.stack(list(tensors))

    def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
        sizes = [-1] * n_axes
        for at, size in pos2len.items():
            x, sizes[at] = x.unsqueeze(at), size
        return x.expand(*sizes)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        return x.repeat(*repeats)

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return _core.cat(list(tensors), axis)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x.unsqueeze(new_position)

    def is_float_type(self, x: Tensor) -> bool:
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return _core.einsum(pattern, *x)


class Rearrange(_Rearrange, Module):  # type: ignore[misc]
    """einops.rearrange as a module.

    Args:
        pattern: as in `rearrange`.
        axes_lengths: sizes by name.

    Example:
        >>> import spirograd.einops
        >>> spirograd.einops.Rearrange("b c h w -> b (c h w)")(sg.zeros(2, 3, 4, 5)).shape
        (2, 60)
    """

    def forward(self, input: Tensor) -> Tensor:
        """The tensor in the other order."""
        return self._apply_recipe(input)  # type: ignore[no-any-return]


class Reduce(_Reduce, Module):  # type: ignore[misc]
    """einops.reduce as a module.

    Args:
        pattern: as in `reduce`.
        reduction: "min", "max", "sum", "mean", "prod", "any" or "all".
        axes_lengths: sizes by name.

    Example:
        >>> import spirograd.einops
        >>> spirograd.einops.Reduce("b c h w -> b c", "mean")(sg.zeros(2, 3, 4, 5)).shape
        (2, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        """The reduced tensor."""
        return self._apply_recipe(input)  # type: ignore[no-any-return]


class EinMix(_EinMix, Module):  # type: ignore[misc]
    """einops' linear layer by a pattern.

    Args:
        pattern: from the axes of the input to those of the result.
        weight_shape: the axes of the weight.
        bias_shape: those of the bias; None: no bias.
        axes_lengths: sizes by name.

    Example:
        >>> import spirograd.einops
        >>> layer = spirograd.einops.EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=3, d=5)
        >>> layer(sg.zeros(2, 4, 3)).shape
        (2, 4, 5)
    """

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float) -> None:
        self.weight = Parameter(_core.empty(*weight_shape).uniform_(-weight_bound, weight_bound))
        self.bias = (
            None if bias_shape is None else Parameter(_core.empty(*bias_shape).uniform_(-bias_bound, bias_bound))
        )

    def _create_rearrange_layers(self, before: Any, before_sizes: Any, after: Any, after_sizes: Any) -> None:
        make: Any = Rearrange
        self.before = None if before is None else make(before, **before_sizes)
        self.after = None if after is None else make(after, **after_sizes)

    def forward(self, input: Tensor) -> Tensor:
        """The product, with the bias."""
        x = input if self.before is None else self.before(input)
        x = _core.einsum(self.einsum_pattern, x, self.weight)
        x = x if self.bias is None else x + self.bias
        return x if self.after is None else self.after(x)
