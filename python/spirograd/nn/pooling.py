"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._core import Tensor
from ..base.docstrings import argument_names
from . import functional as F
from ._arguments import OfDims
from ._of_function import OfFunction, TensorFunction
from ._sizes import Size, for_each_dimension
from .functional.pooling import ADAPTIVE, ADAPTIVE_MAX, ADAPTIVE_MEAN, MAX, MEAN, POWER, UNPOOL, WINDOWS

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"]
__all__ += ["AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d"]
__all__ += ["MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _Pool(OfDims, OfFunction):
    """The base of all pooling layers: each calls the function of its dimensions."""

    _pool: ClassVar[str]  # the name of the function, without the dimensions

    def __init_subclass__(cls, dims: int = 0, **kwargs: Any) -> None:
        super().__init_subclass__(dims=dims, **kwargs)
        if dims:
            cls._function = f"{cls._pool}{dims}d"
            cls._options = tuple(argument_names(cls))

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, **self._named_options())


class _MaxPool(_Pool):
    """
    Example:
        >>> sg.nn.MaxPool{dims}d(2)(sg.ones(2, 3, {8})).shape
        (2, 3, {4})
    """

    _pool = "max_pool"
    _sources = MAX, WINDOWS
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
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode


class MaxPool1d(_MaxPool, dims=1): ...


class MaxPool2d(_MaxPool, dims=2): ...


class MaxPool3d(_MaxPool, dims=3): ...


class _MaxUnpool(_Pool):
    """
    Example:
        >>> values, indices = sg.nn.MaxPool{dims}d(2, return_indices=True)(sg.ones(2, 3, {8}))
        >>> sg.nn.MaxUnpool{dims}d(2)(values, indices).shape
        (2, 3, {8})
    """

    _pool = "max_unpool"
    _sources = (UNPOOL,)

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = for_each_dimension(name, "kernel_size", kernel_size, self._dims)
        self.stride = self.kernel_size if stride is None else for_each_dimension(name, "stride", stride, self._dims)
        self.padding = for_each_dimension(name, "padding", padding, self._dims)

    def forward(  # type: ignore[override]
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Computes the result from elements, their indices, and the sizes of the result, if windows fit several."""
        unpool = getattr(F, self._function)
        result: Tensor = unpool(input, indices, **self._named_options(), output_size=output_size)
        return result


class MaxUnpool1d(_MaxUnpool, dims=1): ...


class MaxUnpool2d(_MaxUnpool, dims=2): ...


class MaxUnpool3d(_MaxUnpool, dims=3): ...


class _AvgPool(TensorFunction, _Pool):
    """
    Example:
        >>> sg.nn.AvgPool{dims}d(2)(sg.ones(2, 3, {8})).shape
        (2, 3, {4})
    """

    _pool = "avg_pool"
    _sources = MEAN, WINDOWS
    _shown = "kernel_size stride padding"

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override


class AvgPool1d(_AvgPool, dims=1):
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


class AvgPool2d(_AvgPool, dims=2): ...


class AvgPool3d(_AvgPool, dims=3): ...


class _AdaptiveAvgPool(TensorFunction, _Pool):
    """
    Example:
        >>> sg.nn.AdaptiveAvgPool{dims}d(3)(sg.ones(2, 3, {8})).shape
        (2, 3, {3})
    """

    _pool = "adaptive_avg_pool"
    _sources = ADAPTIVE_MEAN, ADAPTIVE

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvgPool, dims=1):
    def __init__(self, output_size: Size) -> None:
        super().__init__(output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPool, dims=2): ...


class AdaptiveAvgPool3d(_AdaptiveAvgPool, dims=3): ...


class _AdaptiveMaxPool(_Pool):
    """
    Example:
        >>> sg.nn.AdaptiveMaxPool{dims}d(3)(sg.ones(2, 3, {8})).shape
        (2, 3, {3})
    """

    _pool = "adaptive_max_pool"
    _sources = ADAPTIVE_MAX, ADAPTIVE
    _shown = "output_size"

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool, dims=1): ...


class AdaptiveMaxPool2d(_AdaptiveMaxPool, dims=2):
    """
    Example:
        >>> sg.nn.AdaptiveMaxPool2d((2, None))(sg.ones(2, 3, 8, 8)).shape
        (2, 3, 2, 8)
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPool, dims=3): ...


class _LPPool(TensorFunction, _Pool):
    """
    Example:
        >>> sg.nn.LPPool{dims}d(2, 2)(sg.ones(2, 3, {8})).shape
        (2, 3, {4})
    """

    _pool = "lp_pool"
    _sources = POWER, WINDOWS

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_LPPool, dims=1): ...


class LPPool2d(_LPPool, dims=2): ...


class LPPool3d(_LPPool, dims=3): ...
