"""Products with a trained weight, and layers that change shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._core import Tensor, empty
from ..base.types import DeviceLike, DTypeLike
from . import init
from ._arguments import described
from ._sizes import check_counts
from .functional import bilinear, linear
from .module import Module, TensorModule
from .parameter import Parameter

__all__ = ["Bilinear", "Flatten", "Identity", "Linear", "Unflatten"]


@described()
class Linear(TensorModule):
    """Computes input @ weight.T + bias. As in PyTorch, both start uniform in +-1 / sqrt(in_features).

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the result.
        bias: whether to add a trained bias.

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
        check_counts(self, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


@described(Linear)
class Bilinear(Module):
    """Computes input1 @ weight[k] @ input2 + bias[k] for each k: [..., in1], [..., in2] -> [..., out].

    Args:
        in1_features: size of the last dimension of the first input.
        in2_features: size of the last dimension of the second input.

    Example:
        >>> sg.nn.Bilinear(3, 4, 2)(sg.ones(5, 3), sg.ones(5, 4)).shape
        (5, 2)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features is {in1_features}; use 1 or more")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)


class Identity(TensorModule):
    """Returns the input.

    Args:
        args: ignored.
        kwargs: ignored.

    Example:
        >>> sg.nn.Identity()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(TensorModule):
    """Joins consecutive dimensions into one.

    Args:
        start_dim: the first dimension.
        end_dim: the last dimension.

    Example:
        >>> sg.nn.Flatten()(sg.zeros(2, 3, 4)).shape
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(TensorModule):
    """Splits a dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes of the new dimensions; one may be -1.

    Example:
        >>> sg.nn.Unflatten(1, (3, 4))(sg.zeros(2, 12)).shape
        (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
