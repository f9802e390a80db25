"""Convolution layers, and the layers Fold and Unfold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._core import Tensor, empty, pad
from ..base.types import DeviceLike, DTypeLike
from . import init
from ._arguments import OfDims
from ._of_function import TensorFunction, layer_of
from ._sizes import Size, check_counts, for_each_dimension
from .functional import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, fold, unfold
from .module import TensorModule
from .parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold", "Unfold"]


class _Convolution(OfDims, TensorModule):
    """The arguments, the weight and the bias of all convolutions.

    Args:
        in_channels: number of channels of the input.
        out_channels: number of channels of the result.
        kernel_size: size of the kernel: one number, or one for each dimension.
        groups: number of groups of channels; each is convolved separately.
        bias: whether to add a trained bias to each channel.
        dilation: distance between the elements of the kernel: one number, or one for each dimension.

    Raises:
        ValueError: groups does not divide both numbers of channels, or padding or padding_mode is unknown.
    """

    _shown = (
        "{in_channels} {out_channels} kernel_size stride padding? dilation? output_padding? groups? bias? padding_mode?"
    )

    padding: Any
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size,
        padding: Size | str,
        output_padding: Size,
        dilation: Size,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike | None,
        dtype: DTypeLike | None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        check_counts(self, in_channels=in_channels, out_channels=out_channels)
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: {in_channels} channels to {out_channels} in {groups} groups; use a divisor of both"
            )
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"{name}: padding_mode '{padding_mode}' is unknown; use {', '.join(modes)}")
        self.in_channels, self.out_channels = in_channels, out_channels

        def each(what: str, size: Size) -> tuple[int, ...]:
            return for_each_dimension(name, what, size, self._dims)

        self.kernel_size, self.stride = each("kernel_size", kernel_size), each("stride", stride)
        self.padding = padding if isinstance(padding, str) else each("padding", padding)
        self.output_padding, self.dilation = each("output_padding", output_padding), each("dilation", dilation)
        self.groups, self.padding_mode = groups, padding_mode
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding '{padding}' is unknown; use same, valid, or widths")
        if padding == "same" and max(self.stride) > 1:
            raise ValueError(f"{name}: padding 'same' with stride {self.stride}; use a stride of 1, or widths")
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        fan_in = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def _borders(self) -> list[int]:
        """The widths of the padding before and after the input, last dimension first."""
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        out = []
        for d in reversed(range(self._dims)):
            if isinstance(self.padding, str):
                every = self.dilation[d] * (self.kernel_size[d] - 1)
                out += [every // 2, every - every // 2]
            else:
                out += [self.padding[d]] * 2
        return out

    def _padded(self, x: Tensor) -> tuple[Tensor, tuple[int, ...] | str]:
        """The input, padded unless by zeros, and the zero padding that the convolution still has to add."""
        if self.padding_mode == "zeros":
            return x, self.padding
        return pad(x, self._borders(), mode=self.padding_mode), (0,) * self._dims


class _Conv(_Convolution):
    """Convolves [n, in_channels, {sizes}] to [n, out_channels, ...]; n may be missing.

    The weight is [out_channels, in_channels / groups, ...] and ends with kernel_size. As in PyTorch, it and the bias
    are drawn uniformly from +-1 / sqrt(n), where n is the product of all sizes of the weight but the first.

    Args:
        stride: step of the kernel: one number, or one for each dimension.
        padding: elements added on both sides: one number, or one for each dimension; "valid" adds none, "same" keeps
            the size.
        padding_mode: the added elements: "zeros", "reflect", "replicate" or "circular".

    Example:
        >>> sg.nn.Conv{dims}d(3, 8, 3, padding=1)(sg.ones(2, 3, {16})).shape
        (2, 8, {16})
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        convolve = (conv1d, conv2d, conv3d)[self._dims - 1]
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv, dims=1): ...


class Conv2d(_Conv, dims=2): ...


class Conv3d(_Conv, dims=3): ...


class _ConvTranspose(_Convolution):
    """Maps [n, in_channels, {sizes}] to [n, out_channels, ...] by a transposed convolution; n may be missing.

    It is the gradient of a convolution with respect to its input. The weight is [in_channels, out_channels / groups,
    ...] and ends with kernel_size. A call may pass output_size, the sizes of the result, in place of output_padding.

    Args:
        stride: step in the result for one step in the input: one number, or one for each dimension.
        padding: elements cut off the result on both sides: one number, or one for each dimension.
        output_padding: elements added to the end of the result: one number, or one for each dimension.
        padding_mode: "zeros".

    Example:
        >>> sg.nn.ConvTranspose{dims}d(4, 2, 2, stride=2)(sg.ones(1, 4, {5})).shape
        (1, 2, {10})
    """

    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, x: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        if output_size is None:
            return self.output_padding
        size, out = tuple(output_size)[-self._dims :], []
        for d, have in enumerate(x.shape[-self._dims :]):
            least = (have - 1) * self.stride[d] - 2 * self.padding[d]
            least += self.dilation[d] * (self.kernel_size[d] - 1) + 1
            if not 0 <= size[d] - least < max(self.stride[d], self.dilation[d]):
                raise ValueError(
                    f"{type(self).__name__}: output_size {list(size)} for input {list(x.shape)}; "
                    f"use {least} to {least + self.stride[d] - 1} for dimension {d}"
                )
            out.append(size[d] - least)
        return tuple(out)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        convolve = (conv_transpose1d, conv_transpose2d, conv_transpose3d)[self._dims - 1]
        more = self._output_padding(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose, dims=1): ...


class ConvTranspose2d(_ConvTranspose, dims=2): ...


class ConvTranspose3d(_ConvTranspose, dims=3): ...


@layer_of(unfold)
class Unfold(TensorFunction):
    """
    Example:
        >>> sg.nn.Unfold(2)(sg.ones(1, 3, 4, 4)).shape
        (1, 12, 9)
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride


@layer_of(fold)
class Fold(TensorFunction):
    """
    Example:
        >>> sg.nn.Fold(3, 2)(sg.ones(1, 4, 4)).shape
        (1, 1, 3, 3)
    """

    def __init__(
        self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding = output_size, kernel_size, dilation, padding
        self.stride = stride
