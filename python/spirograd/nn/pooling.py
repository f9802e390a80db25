"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._core import Tensor, avg_pool1d, avg_pool2d
from ._arguments import described, of_dims
from ._sizes import Size, for_each_dimension
from .functional import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from .functional.pooling import MEAN, WINDOWS
from .module import Module, TensorModule

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPool(Module):
    _dims: ClassVar[int]
    _shown = "kernel_size stride padding dilation ceil_mode"

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = (max_pool1d, max_pool2d, max_pool3d)[self._dims - 1]
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


@described(max_pool1d)
class MaxPool1d(_MaxPool):
    """
    Example:
        >>> sg.nn.MaxPool1d(2)(sg.ones(2, 3, 8)).shape
        (2, 3, 4)
    """

    _dims = 1


@described(max_pool2d)
class MaxPool2d(_MaxPool):
    """
    Example:
        >>> sg.nn.MaxPool2d(2)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 4, 4)
    """

    _dims = 2


@described(max_pool3d)
class MaxPool3d(_MaxPool):
    """
    Example:
        >>> sg.nn.MaxPool3d(2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    _dims = 3


class _MaxUnpool(Module):
    _dims: ClassVar[int]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = for_each_dimension(name, "kernel_size", kernel_size, self._dims)
        self.stride = self.kernel_size if stride is None else for_each_dimension(name, "stride", stride, self._dims)
        self.padding = for_each_dimension(name, "padding", padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Computes the result from elements, their indices, and the sizes of the result, if windows fit several."""
        unpool = (max_unpool1d, max_unpool2d, max_unpool3d)[self._dims - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@described(max_unpool1d)
class MaxUnpool1d(_MaxUnpool):
    """
    Example:
        >>> values, indices = sg.nn.MaxPool1d(2, return_indices=True)(sg.ones(2, 3, 8))
        >>> sg.nn.MaxUnpool1d(2)(values, indices).shape
        (2, 3, 8)
    """

    _dims = 1


@described(max_unpool2d)
class MaxUnpool2d(_MaxUnpool):
    """
    Example:
        >>> values, indices = sg.nn.MaxPool2d(2, return_indices=True)(sg.ones(2, 3, 8, 8))
        >>> sg.nn.MaxUnpool2d(2)(values, indices).shape
        (2, 3, 8, 8)
    """

    _dims = 2


@described(max_unpool3d)
class MaxUnpool3d(_MaxUnpool):
    """
    Example:
        >>> values, indices = sg.nn.MaxPool3d(2, return_indices=True)(sg.ones(2, 3, 4, 8, 8))
        >>> sg.nn.MaxUnpool3d(2)(values, indices).shape
        (2, 3, 4, 8, 8)
    """

    _dims = 3


class _AvgPool(TensorModule):
    _shown = "kernel_size stride padding"

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad


@of_dims(1, MEAN, WINDOWS)
class AvgPool1d(_AvgPool):
    """
    Example:
        >>> sg.nn.AvgPool1d(2)(sg.ones(2, 3, 8)).shape
        (2, 3, 4)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        def single(what: str, size: Size) -> tuple[int, ...]:
            return for_each_dimension("AvgPool1d", what, size, 1)

        kernel = single("kernel_size", kernel_size)
        stride = kernel if stride is None else single("stride", stride)
        super().__init__(kernel, stride, single("padding", padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


@of_dims(2, MEAN, WINDOWS)
class AvgPool2d(_AvgPool):
    """
    Example:
        >>> sg.nn.AvgPool2d(2)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


@of_dims(3, MEAN, WINDOWS)
class AvgPool3d(AvgPool2d):
    """
    Example:
        >>> sg.nn.AvgPool3d(2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class _AdaptiveAvgPool(TensorModule):
    _dims: ClassVar[int]

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        pool: Any = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[self._dims - 1]
        out: Tensor = pool(input, self.output_size)
        return out


@described(adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """
    Example:
        >>> sg.nn.AdaptiveAvgPool1d(3)(sg.ones(2, 3, 8)).shape
        (2, 3, 3)
    """

    _dims = 1

    def __init__(self, output_size: Size) -> None:
        super().__init__(output_size)


@described(adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """
    Example:
        >>> sg.nn.AdaptiveAvgPool2d(1)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 1, 1)
    """

    _dims = 2


@described(adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """
    Example:
        >>> sg.nn.AdaptiveAvgPool3d(1)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 1, 1, 1)
    """

    _dims = 3


class _AdaptiveMaxPool(Module):
    _dims: ClassVar[int]
    _shown = "output_size"

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        pool = (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)[self._dims - 1]
        return pool(input, self.output_size, self.return_indices)


@described(adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """
    Example:
        >>> sg.nn.AdaptiveMaxPool1d(3)(sg.ones(2, 3, 8)).shape
        (2, 3, 3)
    """

    _dims = 1


@described(adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """
    Example:
        >>> sg.nn.AdaptiveMaxPool2d((2, None))(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 2, 8)
    """

    _dims = 2


@described(adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """
    Example:
        >>> sg.nn.AdaptiveMaxPool3d((2, None, 1))(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 8, 1)
    """

    _dims = 3


class _LPPool(TensorModule):
    _dims: ClassVar[int]

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = (lp_pool1d, lp_pool2d, lp_pool3d)[self._dims - 1]
        return pool(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


@described(lp_pool1d)
class LPPool1d(_LPPool):
    """
    Example:
        >>> sg.nn.LPPool1d(2, 3)(sg.ones(2, 3, 9)).shape
        (2, 3, 3)
    """

    _dims = 1


@described(lp_pool2d)
class LPPool2d(_LPPool):
    """
    Example:
        >>> sg.nn.LPPool2d(2, 2)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 4, 4)
    """

    _dims = 2


@described(lp_pool3d)
class LPPool3d(_LPPool):
    """
    Example:
        >>> sg.nn.LPPool3d(2, 2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    _dims = 3
