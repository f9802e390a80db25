"""Padding layers."""

from __future__ import annotations

from typing import ClassVar

from .._core import Tensor, pad
from ._arguments import OfDims
from ._sizes import Size
from .module import TensorModule

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d"]
__all__ += ["ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d"]
__all__ += ["ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(OfDims, TensorModule):
    """
    Args:
        padding: number of elements to add on each side: one number, or the numbers before and after each dimension, the
            last dimension first. Negative numbers cut elements off.

    Raises:
        ValueError: padding does not have that many numbers; from the call: it does not fit the input.
    """

    _shown = "{padding}"
    mode: ClassVar[str]

    def __init__(self, padding: Size) -> None:
        super().__init__()
        sizes = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        if len(sizes) != 2 * self._dims:
            raise ValueError(
                f"{type(self).__name__}: padding {list(sizes)} for {self._dims} dimension(s); "
                f"give one number, or {2 * self._dims}: before and after, the last dimension first"
            )
        self.padding = sizes

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, mode=self.mode)


class _CircularPad(_Pad):
    """Pads [n, channels, {sizes}], or without n, with elements from the opposite end.

    Example:
        >>> sg.nn.CircularPad{dims}d(1)(sg.ones(1, 2, {3})).shape
        (1, 2, {5})
    """

    mode = "circular"


class _ConstantPad(_Pad):
    """Pads [n, channels, {sizes}], or without n, with one value.

    Args:
        value: the value of the padding.

    Example:
        >>> sg.nn.ConstantPad{dims}d(1, 7.0)(sg.ones(1, 2, {3})).shape
        (1, 2, {5})
    """

    _shown = "padding value"
    mode = "constant"

    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, value=self.value)


class _ReflectionPad(_Pad):
    """Pads [n, channels, {sizes}], or without n, with the mirror image of the elements beyond the edge.

    Example:
        >>> sg.nn.ReflectionPad{dims}d(1)(sg.ones(1, 2, {3})).shape
        (1, 2, {5})
    """

    mode = "reflect"


class _ReplicationPad(_Pad):
    """Pads [n, channels, {sizes}], or without n, with copies of the edge.

    Example:
        >>> sg.nn.ReplicationPad{dims}d(1)(sg.ones(1, 2, {3})).shape
        (1, 2, {5})
    """

    mode = "replicate"


class _ZeroPad(_ConstantPad):
    """Pads [n, channels, {sizes}], or without n, with zeros.

    Example:
        >>> sg.nn.ZeroPad{dims}d(1)(sg.ones(1, 2, {3})).shape
        (1, 2, {5})
    """

    _shown = "{padding}"

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)


class CircularPad1d(_CircularPad, dims=1):
    """
    Example:
        >>> sg.nn.CircularPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[3.0, 1.0, 2.0, 3.0]]
    """


class CircularPad2d(_CircularPad, dims=2): ...


class CircularPad3d(_CircularPad, dims=3): ...


class ConstantPad1d(_ConstantPad, dims=1):
    """
    Example:
        >>> sg.nn.ConstantPad1d((1, 0), 7.0)(sg.tensor([[1.0, 2.0]])).tolist()
        [[7.0, 1.0, 2.0]]
    """


class ConstantPad2d(_ConstantPad, dims=2): ...


class ConstantPad3d(_ConstantPad, dims=3): ...


class ReflectionPad1d(_ReflectionPad, dims=1):
    """
    Example:
        >>> sg.nn.ReflectionPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 1.0, 2.0, 3.0]]
    """


class ReflectionPad2d(_ReflectionPad, dims=2): ...


class ReflectionPad3d(_ReflectionPad, dims=3): ...


class ReplicationPad1d(_ReplicationPad, dims=1):
    """
    Example:
        >>> sg.nn.ReplicationPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[1.0, 1.0, 2.0, 3.0]]
    """


class ReplicationPad2d(_ReplicationPad, dims=2): ...


class ReplicationPad3d(_ReplicationPad, dims=3): ...


class ZeroPad1d(_ZeroPad, dims=1):
    """
    Example:
        >>> sg.nn.ZeroPad1d((1, 0))(sg.tensor([[1.0, 2.0]])).tolist()
        [[0.0, 1.0, 2.0]]
    """


class ZeroPad2d(_ZeroPad, dims=2): ...


class ZeroPad3d(_ZeroPad, dims=3): ...
