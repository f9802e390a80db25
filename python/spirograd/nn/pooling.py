"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor, avg_pool1d, avg_pool2d
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


class MaxPool1d(_MaxPool):
    """The largest element of each window: [n, channels, length] -> [n, channels, result].

    Args:
        kernel_size: of the window.
        stride: from window to window; None: their size.
        padding: on both sides, at most half of the window.
        dilation: from element to element of a window.
        return_indices: whether the places of the elements come too.
        ceil_mode: whether windows may reach beyond the end.

    Example:
        >>> sg.nn.MaxPool1d(2)(sg.ones(2, 3, 8)).shape
        (2, 3, 4)
    """

    def forward(self, input: Tensor) -> Any:
        return max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(_MaxPool):
    """The largest element of each window: [n, channels, height, width] -> [n, channels, ...].

    Args:
        kernel_size, stride, padding, dilation, return_indices, ceil_mode: see MaxPool1d; one number, or one for each
            dimension.

    Example:
        >>> sg.nn.MaxPool2d(2)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Any:
        return max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(_MaxPool):
    """The largest element of each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        kernel_size, stride, padding, dilation, return_indices, ceil_mode: see MaxPool1d; one number, or one for each
            dimension.

    Example:
        >>> sg.nn.MaxPool3d(2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    def forward(self, input: Tensor) -> Any:
        return max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class _MaxUnpool(Module):
    _dims: int

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = for_each_dimension(name, "kernel_size", kernel_size, self._dims)
        self.stride = self.kernel_size if stride is None else for_each_dimension(name, "stride", stride, self._dims)
        self.padding = for_each_dimension(name, "padding", padding, self._dims)


class MaxUnpool1d(_MaxUnpool):
    """Elements at the places that MaxPool1d took them from: [n, channels, length] -> [n, channels, ...].

    The call takes the elements, their places, and output_size where windows of several sizes fit.

    Args:
        kernel_size, stride, padding: of the pooling.

    Example:
        >>> values, places = sg.nn.MaxPool1d(2, return_indices=True)(sg.ones(2, 3, 8))
        >>> sg.nn.MaxUnpool1d(2)(values, places).shape
        (2, 3, 8)
    """

    _dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Elements at the places that MaxPool2d took them from: [n, channels, height, width] -> [n, channels, ...].

    The call takes the elements, their places, and output_size where windows of several sizes fit.

    Args:
        kernel_size, stride, padding: of the pooling; one number, or one for each dimension.

    Example:
        >>> values, places = sg.nn.MaxPool2d(2, return_indices=True)(sg.ones(2, 3, 8, 8))
        >>> sg.nn.MaxUnpool2d(2)(values, places).shape
        (2, 3, 8, 8)
    """

    _dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Elements at the places that MaxPool3d took them from: [n, channels, depth, height, width] -> [n, channels, ...].

    The call takes the elements, their places, and output_size where windows of several sizes fit.

    Args:
        kernel_size, stride, padding: of the pooling; one number, or one for each dimension.

    Example:
        >>> values, places = sg.nn.MaxPool3d(2, return_indices=True)(sg.ones(2, 3, 4, 8, 8))
        >>> sg.nn.MaxUnpool3d(2)(values, places).shape
        (2, 3, 4, 8, 8)
    """

    _dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


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


class AvgPool1d(_AvgPool):
    """The mean of each window: [n, channels, length] -> [n, channels, result].

    Args:
        kernel_size: of the window.
        stride: from window to window; None: their size.
        padding: zeros on both sides, at most half of the window.
        ceil_mode: whether windows may reach beyond the end.
        count_include_pad: whether padding counts.

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


class AvgPool2d(_AvgPool):
    """The mean of each window: [n, channels, height, width] -> [n, channels, ...].

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: see AvgPool1d; one number, or one for each
            dimension.
        divisor_override: what sums are divided by.

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


class AvgPool3d(AvgPool2d):
    """The mean of each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: see AvgPool2d.

    Example:
        >>> sg.nn.AvgPool3d(2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AdaptiveAvgPool1d(TensorModule):
    """The means of as many windows as are wanted: [n, channels, length] -> [n, channels, output_size].

    Args:
        output_size: how many.

    Example:
        >>> sg.nn.AdaptiveAvgPool1d(3)(sg.ones(2, 3, 8)).shape
        (2, 3, 3)
    """

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(TensorModule):
    """The means of as many windows as are wanted: [n, channels, height, width] -> [n, channels, rows, columns].

    Args:
        output_size: rows and columns of the result; None keeps the input's.

    Example:
        >>> sg.nn.AdaptiveAvgPool2d(1)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 1, 1)
    """

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(TensorModule):
    """The means of as many windows as are wanted: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        output_size: sizes of the result; None keeps the input's.

    Example:
        >>> sg.nn.AdaptiveAvgPool3d(1)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 1, 1, 1)
    """

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPool(Module):
    _shown = "output_size"

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of as many windows as are wanted: [n, channels, length] -> [n, channels, output_size].

    Args:
        output_size: how many.
        return_indices: whether the places of the elements come too.

    Example:
        >>> sg.nn.AdaptiveMaxPool1d(3)(sg.ones(2, 3, 8)).shape
        (2, 3, 3)
    """

    def forward(self, input: Tensor) -> Any:
        return adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of as many windows as are wanted: [n, channels, height, width] -> [n, channels, rows,
    columns].

    Args:
        output_size: rows and columns of the result; None keeps the input's.
        return_indices: whether the places of the elements come too.

    Example:
        >>> sg.nn.AdaptiveMaxPool2d((2, None))(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 2, 8)
    """

    def forward(self, input: Tensor) -> Any:
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of as many windows as are wanted: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        output_size: sizes of the result; None keeps the input's.
        return_indices: whether the places of the elements come too.

    Example:
        >>> sg.nn.AdaptiveMaxPool3d((2, None, 1))(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 8, 1)
    """

    def forward(self, input: Tensor) -> Any:
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPool(TensorModule):
    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode


class LPPool1d(_LPPool):
    """(sum of x^p)^(1/p) over each window: [n, channels, length] -> [n, channels, result].

    Args:
        norm_type: p.
        kernel_size: of the window.
        stride: from window to window; None: their size.
        ceil_mode: whether windows may reach beyond the end.

    Example:
        >>> sg.nn.LPPool1d(2, 3)(sg.ones(2, 3, 9)).shape
        (2, 3, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        return lp_pool1d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """(sum of x^p)^(1/p) over each window: [n, channels, height, width] -> [n, channels, ...].

    Args:
        norm_type, kernel_size, stride, ceil_mode: see LPPool1d.

    Example:
        >>> sg.nn.LPPool2d(2, 2)(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return lp_pool2d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPool):
    """(sum of x^p)^(1/p) over each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        norm_type, kernel_size, stride, ceil_mode: see LPPool1d.

    Example:
        >>> sg.nn.LPPool3d(2, 2)(sg.ones(2, 3, 4, 8, 8)).shape
        (2, 3, 2, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return lp_pool3d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
