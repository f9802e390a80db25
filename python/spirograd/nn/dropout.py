"""Dropout as modules: active in training, the input itself in evaluation."""

from __future__ import annotations

from .._core import Tensor
from . import functional as F
from .functional.dropout import _probability
from .module import TensorModule

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(TensorModule):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        _probability(type(self).__name__, p)
        self.p = p
        self.inplace = inplace


class Dropout(_Dropout):
    """Zeros instead of elements, with probability p; the others are divided by 1 - p.

    Args:
        p: the probability of a zero.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability.

    Example:
        >>> sg.nn.Dropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Dropout of whole channels: [n, channels, length] or [channels, length].

    Args:
        p: the probability that a channel is zero.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability; later: another shape.

    Example:
        >>> sg.nn.Dropout1d(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Dropout of whole channels: [n, channels, h, w] or [channels, h, w].

    Args:
        p: the probability that a channel is zero.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability; later: another shape.

    Example:
        >>> sg.nn.Dropout2d(0.5)(sg.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Dropout of whole channels: [n, channels, d, h, w] or [channels, d, h, w].

    Args:
        p: the probability that a channel is zero.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability; later: another shape.

    Example:
        >>> sg.nn.Dropout3d(0.5)(sg.ones(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout beside SELU: elements become SELU's lowest value, then mean 0 and variance 1 are kept.

    Args:
        p: the probability that an element is dropped.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability.

    Example:
        >>> sg.nn.AlphaDropout(0.5).eval()(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels: [n, channels, ...].

    Args:
        p: the probability that a channel is dropped.
        inplace: write into the input.

    Raises:
        ValueError: p is no probability.

    Example:
        >>> sg.nn.FeatureAlphaDropout(0.5)(sg.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
