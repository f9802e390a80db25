"""Dropout layers. They drop elements in training mode, and return the input in evaluation mode."""

from __future__ import annotations

from . import functional as F
from ._of_function import TensorFunction, layer_of
from .functional.dropout import _probability

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(TensorFunction):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        _probability(type(self).__name__, p)
        self.p, self.inplace = p, inplace


@layer_of(F.dropout, also=("training",))
class Dropout(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """


@layer_of(F.dropout1d, also=("training",))
class Dropout1d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout1d(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """


@layer_of(F.dropout2d, also=("training",))
class Dropout2d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout2d(0.5)(sg.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """


@layer_of(F.dropout3d, also=("training",))
class Dropout3d(_Dropout):
    """
    Example:
        >>> sg.nn.Dropout3d(0.5)(sg.ones(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """


@layer_of(F.alpha_dropout, also=("training",))
class AlphaDropout(_Dropout):
    """
    Example:
        >>> sg.nn.AlphaDropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """


@layer_of(F.feature_alpha_dropout, also=("training",))
class FeatureAlphaDropout(_Dropout):
    """
    Example:
        >>> sg.nn.FeatureAlphaDropout(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """
