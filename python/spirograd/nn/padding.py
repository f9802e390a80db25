"""Borders around what is pooled or convolved, as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .._core import Tensor, pad
from .module import TensorModule

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

Size = int | Sequence[int]


class _Pad(TensorModule):
    _shown = "{padding}"

    _dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Size) -> None:
        super().__init__()
        sizes = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        if len(sizes) != 2 * self._dims:
            raise ValueError(
                f"{type(self).__name__}: padding {list(sizes)} for {self._dims} dimension(s); "
                f"give one number, or {2 * self._dims}: before and behind, the last dimension first"
            )
        self.padding = sizes

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, mode=self.mode)


class _ConstantPad(_Pad):
    _shown = "padding value"

    mode = "constant"

    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, value=self.value)


class _CircularPad(_Pad):
    mode = "circular"


class _ReflectionPad(_Pad):
    mode = "reflect"


class _ReplicationPad(_Pad):
    mode = "replicate"


class CircularPad1d(_CircularPad):
    """A border that goes on at the other end: [n, channels, length] or without n.

    Args:
        padding: how many on each side; one number, or before and behind, the last dimension first; less than 0 cuts.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.CircularPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[3.0, 1.0, 2.0, 3.0]]
    """

    _dims = 1


class CircularPad2d(_CircularPad):
    """A border that goes on at the other end: [n, channels, height, width] or without n.

    Args:
        padding: see CircularPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.CircularPad2d(1)(sg.ones(1, 2, 3, 3)).shape
        (1, 2, 5, 5)
    """

    _dims = 2


class CircularPad3d(_CircularPad):
    """A border that goes on at the other end: [n, channels, depth, height, width] or without n.

    Args:
        padding: see CircularPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.CircularPad3d(1)(sg.ones(1, 2, 3, 3, 3)).shape
        (1, 2, 5, 5, 5)
    """

    _dims = 3


class ConstantPad1d(_ConstantPad):
    """A border of one value: [n, channels, length] or without n.

    Args:
        padding: how many on each side; one number, or before and behind, the last dimension first; less than 0 cuts.
        value: of the border.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ConstantPad1d((1, 0), 7.0)(sg.tensor([[1.0, 2.0]])).tolist()
        [[7.0, 1.0, 2.0]]
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """A border of one value: [n, channels, height, width] or without n.

    Args:
        padding: see ConstantPad1d.
        value: of the border.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ConstantPad2d(1, 7.0)(sg.ones(1, 2, 3, 3)).shape
        (1, 2, 5, 5)
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """A border of one value: [n, channels, depth, height, width] or without n.

    Args:
        padding: see ConstantPad1d.
        value: of the border.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ConstantPad3d(1, 7.0)(sg.ones(1, 2, 3, 3, 3)).shape
        (1, 2, 5, 5, 5)
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPad):
    """A border that mirrors what is behind the edge: [n, channels, length] or without n.

    Args:
        padding: how many on each side; one number, or before and behind, the last dimension first; less than 0 cuts.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReflectionPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 1.0, 2.0, 3.0]]
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPad):
    """A border that mirrors what is behind the edge: [n, channels, height, width] or without n.

    Args:
        padding: see ReflectionPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReflectionPad2d(1)(sg.ones(1, 2, 3, 3)).shape
        (1, 2, 5, 5)
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """A border that mirrors what is behind the edge: [n, channels, depth, height, width] or without n.

    Args:
        padding: see ReflectionPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReflectionPad3d(1)(sg.ones(1, 2, 3, 3, 3)).shape
        (1, 2, 5, 5, 5)
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPad):
    """A border that repeats the edge: [n, channels, length] or without n.

    Args:
        padding: how many on each side; one number, or before and behind, the last dimension first; less than 0 cuts.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReplicationPad1d((1, 0))(sg.tensor([[1.0, 2.0, 3.0]])).tolist()
        [[1.0, 1.0, 2.0, 3.0]]
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPad):
    """A border that repeats the edge: [n, channels, height, width] or without n.

    Args:
        padding: see ReplicationPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReplicationPad2d(1)(sg.ones(1, 2, 3, 3)).shape
        (1, 2, 5, 5)
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """A border that repeats the edge: [n, channels, depth, height, width] or without n.

    Args:
        padding: see ReplicationPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ReplicationPad3d(1)(sg.ones(1, 2, 3, 3, 3)).shape
        (1, 2, 5, 5, 5)
    """

    _dims = 3


class ZeroPad1d(_ConstantPad):
    """A border of zeros: [n, channels, length] or without n.

    Args:
        padding: how many on each side; one number, or before and behind, the last dimension first; less than 0 cuts.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ZeroPad1d((1, 0))(sg.tensor([[1.0, 2.0]])).tolist()
        [[0.0, 1.0, 2.0]]
    """

    _shown = "{padding}"

    _dims = 1

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)


class ZeroPad2d(_ConstantPad):
    """A border of zeros: [n, channels, height, width] or without n.

    Args:
        padding: see ZeroPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ZeroPad2d(1)(sg.ones(1, 2, 3, 3)).shape
        (1, 2, 5, 5)
    """

    _shown = "{padding}"

    _dims = 2

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(_ConstantPad):
    """A border of zeros: [n, channels, depth, height, width] or without n.

    Args:
        padding: see ZeroPad1d.

    Raises:
        ValueError: padding has another number of sizes; later: it does not fit the input.

    Example:
        >>> sg.nn.ZeroPad3d(1)(sg.ones(1, 2, 3, 3, 3)).shape
        (1, 2, 5, 5, 5)
    """

    _shown = "{padding}"

    _dims = 3

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)
