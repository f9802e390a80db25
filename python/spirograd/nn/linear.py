"""Products with a weight, and reshaping around them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._core import Tensor, rand
from .._grad_mode import no_grad
from .functional import linear
from .module import Parameter, TensorModule

if TYPE_CHECKING:
    from .._types import DeviceLike, DTypeLike


def _uniform(shape: tuple[int, ...], bound: float, device: DeviceLike | None, dtype: DTypeLike | None) -> Parameter:
    with no_grad():
        return Parameter(rand(shape, device=device, dtype=dtype) * (2 * bound) - bound)


class Linear(TensorModule):
    """x @ weight.T + bias, with PyTorch's initial values: uniform in +-1 / sqrt(in_features).

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the output.
        bias: whether something is added.
        device: where the parameters are.
        dtype: their type.

    Example:
        >>> sg.nn.Linear(3, 2)(sg.ones(5, 3)).shape
        (5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0.0
        self.weight = _uniform((out_features, in_features), bound, device, dtype)
        self.bias = _uniform((out_features,), bound, device, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Flatten(TensorModule):
    """Joins dimensions into one.

    Args:
        start_dim: the first of them.
        end_dim: the last of them.

    Example:
        >>> sg.nn.Flatten()(sg.zeros(2, 3, 4)).shape
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
