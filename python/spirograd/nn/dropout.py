"""Dropout layers. They drop elements in training mode, and return the input in evaluation mode."""

from __future__ import annotations

from .._core import Tensor
from . import functional as F
from ._arguments import described
from .functional.dropout import _probability
from .module import TensorModule

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(TensorModule):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        _probability(type(self).__name__, p)
        self.p = p
        self.inplace = inplace


@described(F.dropout)
class Dropout(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


@described(F.dropout1d)
class Dropout1d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout1d(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


@described(F.dropout2d)
class Dropout2d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout2d(0.5)(sg.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


@described(F.dropout3d)
class Dropout3d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout3d(0.5)(sg.ones(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


@described(F.alpha_dropout)
class AlphaDropout(_Dropout):
    """
    Example:
        >>> sg.nn.AlphaDropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


@described(F.feature_alpha_dropout)
class FeatureAlphaDropout(_Dropout):
    """
    Example:
        >>> sg.nn.FeatureAlphaDropout(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
