"""Activations as modules."""

from __future__ import annotations

from .._core import Tensor
from .module import TensorModule


class ReLU(TensorModule):
    """max(x, 0).

    Example:
        >>> sg.nn.ReLU()(sg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class Tanh(TensorModule):
    """The hyperbolic tangent.

    Example:
        >>> sg.nn.Tanh()(sg.zeros(1)).tolist()
        [0.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()


class Sigmoid(TensorModule):
    """1 / (1 + exp(-x)).

    Example:
        >>> sg.nn.Sigmoid()(sg.zeros(1)).tolist()
        [0.5]
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid()
