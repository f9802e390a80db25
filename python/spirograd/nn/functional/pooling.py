"""Pooling: the largest element or the mean of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._core import (
    Tensor,
    arange,
    avg_pool1d,
    avg_pool2d,
    max_pool1d_with_indices,
    max_pool2d_with_indices,
    minimum,
)
from .._arguments import in_dims, of_dims
from .._sizes import Size, for_each_dimension
from ._neighbours import Neighbours, shrinking_first

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d"]
__all__ += ["adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d"]
__all__ += ["lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices"]
__all__ += ["max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d"]

WINDOWS = """
Args:
    input: [n, channels, {sizes}], or without n.
    kernel_size: size of the windows: one number, or one for each dimension.
    stride: step from window to window: one number, or one for each dimension; by default the size of the windows.
    padding: elements added on both sides, at most half the size of the windows.
    dilation: distance between the elements of a window.
    ceil_mode: whether windows may extend beyond the end of the input.
    return_indices: whether to return the indices of the elements as well.

Raises:
    ValueError: a window is larger than the input.
"""
MAX = """Takes the largest element of each window: [n, channels, {sizes}] -> [n, channels, ...].

Args:
    padding: elements added on both sides, at most half the size of the windows; they are never the largest.

Returns:
    The elements, or a tuple of them and their int64 indices, which count through the flattened [{sizes}]. The gradient
    goes to the first of equal elements.
"""
UNPOOL = """Puts elements back to the indices that max_pool{dims}d took them from, and zeros elsewhere.

Args:
    input: [n, channels, {sizes}], or without n.
    indices: the int64 indices that max_pool{dims}d returned, in the shape of input. Of two equal ones, either element
        stays.
    kernel_size: kernel_size of the pooling.
    stride: stride of the pooling.
    padding: padding of the pooling.
    output_size: the sizes of the result, for windows that fit several; by default the smallest.

Raises:
    ValueError: the shapes or sizes do not fit.
    IndexError: an index is out of range for the result; raised by the next read.
"""
MEAN = """Computes the mean of each window: [n, channels, {sizes}] -> [n, channels, ...].

Args:
    padding: zeros added on both sides, at most half the size of the windows.
    count_include_pad: whether the padding counts as elements of the windows.
    divisor_override: the number that sums are divided by, instead of the number of elements.
"""
ADAPTIVE = """
Args:
    input: [n, channels, {sizes}], or without n.
    output_size: sizes of the result: one number, or one for each dimension; None keeps a size of the input.
    return_indices: whether to return the indices of the elements as well, which count through the flattened [{sizes}].

Raises:
    ValueError: output_size is less than 1.
"""
ADAPTIVE_MEAN = """Computes the means of output_size windows that cover [n, channels, {sizes}] evenly."""
ADAPTIVE_MAX = """Takes the largest elements of output_size windows that cover [n, channels, {sizes}] evenly."""
POWER = """Computes (sum of x^p)^(1/p) over each window: [n, channels, {sizes}] -> [n, channels, ...].

Args:
    norm_type: p. 1 gives sums, 2 lengths, and a large p nearly the largest element.
    ceil_mode: whether windows may extend beyond the end of the input; the missing elements count as the mean.

Returns:
    A tensor. If p is even, its elements are lengths. Where the sum is 0, the gradient is 0.

Raises:
    ValueError: a window is larger than the input, or norm_type is 0.
"""


def _planes(op: str, input: Tensor) -> Tensor:
    """The input as [n * channels, depth, height, width]."""
    if input.ndim not in (4, 5):
        raise ValueError(
            f"{op}: input of shape {list(input.shape)}; give [channels, ...] or [n, channels, ...] with 3 more "
            "dimension(s)"
        )
    return input.reshape(math.prod(input.shape[:-3]), *input.shape[-3:])


def _across(x: Tensor) -> Tensor:
    """[n, depth, height, width] -> [n, 1, height * width, depth]: the depth becomes the last dimension."""
    return x.flatten(2).transpose(1, 2).unsqueeze(1)


def _max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    op = "max_pool3d"
    k = for_each_dimension(op, "kernel_size", kernel_size, 3)
    s = k if stride is None else for_each_dimension(op, "stride", stride, 3)
    p, d = for_each_dimension(op, "padding", padding, 3), for_each_dimension(op, "dilation", dilation, 3)
    x = _planes(op, input)
    # First the largest elements of the windows of each plane, then the largest of these along the depth.
    flat, indices = max_pool2d_with_indices(x, k[1:], s[1:], p[1:], d[1:], ceil_mode)
    rows, columns = flat.shape[2:]
    values, at = max_pool2d_with_indices(_across(flat), (1, k[0]), (1, s[0]), (0, p[0]), (1, d[0]), ceil_mode)
    depth = at.squeeze(1).shape[-1]

    def back(y: Tensor) -> Tensor:
        return y.transpose(1, 2).reshape(*input.shape[:-3], depth, rows, columns)

    out = back(values.squeeze(1))
    if not return_indices:
        return out
    plane = at.squeeze(1) % x.shape[1]
    inside = indices.flatten(2).transpose(1, 2).gather(2, plane)
    return out, back(plane * (x.shape[2] * x.shape[3]) + inside)


def _max_pool(
    dims: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """
    Example:
        >>> sg.nn.functional.max_pool{dims}d(sg.ones(2, 3, {8}), 2).shape
        (2, 3, {4})
    """
    if dims == 3:
        return _max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    pool = (max_pool1d_with_indices, max_pool2d_with_indices)[dims - 1]
    values, indices = pool(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


max_pool1d = in_dims(
    _max_pool,
    1,
    MAX,
    WINDOWS,
    example="""
    >>> sg.nn.functional.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[3.0, 2.0]]""",
)
max_pool2d = in_dims(_max_pool, 2, MAX, WINDOWS)
max_pool3d = in_dims(_max_pool, 3, MAX, WINDOWS)


def _max_unpool(
    dims: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """
    Example:
        >>> values, indices = sg.nn.functional.max_pool{dims}d(sg.ones(1, 1, {5}), 2, return_indices=True)
        >>> sg.nn.functional.max_unpool{dims}d(values, indices, 2, output_size=[{5}]).shape
        (1, 1, {5})
    """
    op = f"max_unpool{dims}d"
    if input.ndim not in (dims + 1, dims + 2) or input.shape != indices.shape:
        raise ValueError(
            f"{op}: input {list(input.shape)}, indices {list(indices.shape)}; give two of [n, channels, ...] with "
            f"{dims} more dimension(s)"
        )
    k = for_each_dimension(op, "kernel_size", kernel_size, dims)
    s = k if stride is None else for_each_dimension(op, "stride", stride, dims)
    p = for_each_dimension(op, "padding", padding, dims)
    sizes = [(n - 1) * s[d] - 2 * p[d] + k[d] for d, n in enumerate(input.shape[-dims:])]
    if output_size is not None:
        wanted = list(output_size)[-dims:]
        if len(wanted) != dims or any(abs(w - n) >= s[d] for d, (w, n) in enumerate(zip(wanted, sizes, strict=True))):
            raise ValueError(
                f"{op}: output_size is {list(output_size)}, the windows make {sizes}; stay within less than a stride"
            )
        sizes = wanted
    if min(sizes) < 0:
        raise ValueError(f"{op}: the result would have sizes {sizes}; use less padding")
    out = input.new_zeros((*input.shape[:-dims], math.prod(sizes)))
    return out.scatter(-1, indices.flatten(-dims), input.flatten(-dims)).unflatten(-1, sizes)


max_unpool1d = in_dims(
    _max_unpool,
    1,
    UNPOOL,
    example="""
    >>> values, indices = sg.nn.functional.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> sg.nn.functional.max_unpool1d(values, indices, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]""",
)
max_unpool2d = in_dims(_max_unpool, 2, UNPOOL)
max_unpool3d = in_dims(_max_unpool, 3, UNPOOL)


@of_dims(3, MEAN, WINDOWS)
def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """
    Raises:
        ValueError: a window is larger than the input, or divisor_override is 0.

    Example:
        >>> sg.nn.functional.avg_pool3d(sg.ones(2, 3, 4, 8, 8), 2).shape
        (2, 3, 2, 4, 4)
    """
    op = "avg_pool3d"
    k = for_each_dimension(op, "kernel_size", kernel_size, 3)
    s = k if stride is None else for_each_dimension(op, "stride", stride, 3)
    p = for_each_dimension(op, "padding", padding, 3)
    one = None if divisor_override is None else 1
    # First the means of the windows of each plane, then the means of these along the depth.
    flat = avg_pool2d(_planes(op, input), k[1:], s[1:], p[1:], ceil_mode, count_include_pad, one)
    options = (ceil_mode, count_include_pad, divisor_override)
    out = avg_pool2d(_across(flat), (1, k[0]), (1, s[0]), (0, p[0]), *options).squeeze(1)
    return out.transpose(1, 2).reshape(*input.shape[:-3], out.shape[-1], *flat.shape[2:])


def _windows(size: int, count: int, device: Any) -> tuple[Tensor, Tensor, int]:
    """Describes `count` windows that cover `size` elements evenly.

    Returns:
        The index of the first element of each window, that after its last element, and the size of the widest window.
    """
    number = arange(count, device=device)
    widest = (size + 2 * (count - math.gcd(size, count))) // count
    return number * size // count, -(-(number + 1) * size // count), widest


def _means(input: Tensor, dim: int, count: int) -> Tensor:
    """The means of `count` windows that cover a dimension evenly."""
    size = int(input.shape[dim])
    if count == size:
        return input
    first, end, widest = _windows(size, count, input.device)
    # Which windows read an element: windows over the windows.
    readers, _, most = _windows(count, size, input.device)
    start = first.clamp(max=size - widest)
    index = start.unsqueeze(1) + arange(widest, device=input.device)
    inside = (index >= first.unsqueeze(1)) & (index < end.unsqueeze(1))
    weights = inside.to(input.dtype) / (end - first).to(input.dtype).unsqueeze(1)
    return Neighbours(start, weights, readers.clamp(max=count - most), most).sums(input, dim)


def _sizes(op: str, input: Tensor, output_size: Any, dims: int) -> list[int]:
    each = [output_size] * dims if output_size is None or isinstance(output_size, int) else list(output_size)
    if input.dim() not in (dims + 1, dims + 2) or len(each) != dims:
        raise ValueError(
            f"{op}: input of shape {list(input.shape)} and output_size {output_size}; give [n, channels, ...] with "
            f"{dims} more dimension(s), and a size for each"
        )
    sizes = [int(input.shape[d - dims]) if size is None else size for d, size in enumerate(each)]
    if min(sizes) < 1 or min(input.shape[-dims:]) < 1:
        raise ValueError(f"{op}: output_size {sizes} for input {list(input.shape)}; use sizes of 1 or more")
    return sizes


def adaptive_means(op: str, input: Tensor, output_size: Any, dims: int) -> Tensor:
    """The means of windows that cover the last `dims` dimensions evenly; `op` is the name for errors."""
    sizes = _sizes(op, input, output_size, dims)
    before = [int(n) for n in input.shape[-dims:]]
    if all(size == 1 for size in sizes):
        return input.mean(tuple(range(-dims, 0)), keepdim=True)
    if all(n % size == 0 for n, size in zip(before, sizes, strict=True)):
        kernel = [n // size for n, size in zip(before, sizes, strict=True)]
        return (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1](input, kernel)
    whole = input if input.is_floating_point() and input.itemsize > 2 else input.float()
    for d in shrinking_first(before, sizes):
        whole = _means(whole, d + input.ndim - dims, sizes[d])
    return whole.to(input.dtype) if input.is_floating_point() else whole


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """
    Example:
        >>> sg.nn.functional.adaptive_avg_pool{dims}d(sg.ones(2, 3, {6}), 4).shape
        (2, 3, {4})
    """
    return adaptive_means(f"adaptive_avg_pool{dims}d", input, output_size, dims)


adaptive_avg_pool1d = in_dims(
    _adaptive_avg_pool,
    1,
    ADAPTIVE_MEAN,
    ADAPTIVE,
    example="""
    >>> sg.nn.functional.adaptive_avg_pool1d(sg.tensor([[1.0, 2.0, 3.0]]), 2).tolist()
    [[1.5, 2.5]]""",
)
adaptive_avg_pool2d = in_dims(_adaptive_avg_pool, 2, ADAPTIVE_MEAN, ADAPTIVE)
adaptive_avg_pool3d = in_dims(_adaptive_avg_pool, 3, ADAPTIVE_MEAN, ADAPTIVE)


def _spread(input: Tensor, dim: int, count: int) -> tuple[Tensor, int, Tensor]:
    """Lays windows that cover a dimension evenly side by side, all of one size: elements in several windows are
    repeated, and a shorter window repeats its last element.

    Returns:
        The tensor, the size of the windows, and the index that each element had.
    """
    first, end, widest = _windows(int(input.shape[dim]), count, input.device)
    index = minimum(first.unsqueeze(1) + arange(widest, device=input.device), end.unsqueeze(1) - 1).flatten()
    return input.index_select(dim, index), widest, index


def _adaptive_max_pool(
    dims: int, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """
    Example:
        >>> sg.nn.functional.adaptive_max_pool{dims}d(sg.ones(2, 3, {6}), 4).shape
        (2, 3, {4})
    """
    sizes = _sizes(f"adaptive_max_pool{dims}d", input, output_size, dims)
    kernel, origins = [], []
    x = input
    for d, size in enumerate(sizes):
        x, widest, origin = _spread(x, d - dims, size)
        kernel.append(widest)
        origins.append(origin)
    pool = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]
    if not return_indices:
        return pool(x, kernel)
    values, indices = pool(x, kernel, return_indices=True)
    index_in_input: Any = 0
    step = 1
    for d in range(-1, -dims - 1, -1):
        index_in_input = index_in_input + origins[d].take(indices % x.shape[d]) * step
        indices, step = indices // x.shape[d], step * input.shape[d]
    return values, index_in_input


adaptive_max_pool1d = in_dims(
    _adaptive_max_pool,
    1,
    ADAPTIVE_MAX,
    ADAPTIVE,
    example="""
    >>> sg.nn.functional.adaptive_max_pool1d(sg.tensor([[1.0, 2.0, 3.0]]), 2).tolist()
    [[2.0, 3.0]]""",
)
adaptive_max_pool2d = in_dims(_adaptive_max_pool, 2, ADAPTIVE_MAX, ADAPTIVE)
adaptive_max_pool3d = in_dims(_adaptive_max_pool, 3, ADAPTIVE_MAX, ADAPTIVE)


def _lp_pool(
    dims: int, input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """
    Example:
        >>> sg.nn.functional.lp_pool{dims}d(sg.ones(2, 3, {8}), 2, 2).shape
        (2, 3, {4})
    """
    if norm_type == 0:
        raise ValueError(f"lp_pool{dims}d: norm_type=0; give another exponent")
    kernel = for_each_dimension(f"lp_pool{dims}d", "kernel_size", kernel_size, dims)
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1](input**norm_type, kernel, stride, 0, ceil_mode)
    # The root has no gradient at 0: relu returns 0 there.
    return (mean.sign() * mean.abs().relu() * math.prod(kernel)) ** (1 / norm_type)


lp_pool1d = in_dims(
    _lp_pool,
    1,
    POWER,
    WINDOWS,
    example="""
    >>> sg.nn.functional.lp_pool1d(sg.tensor([[3.0, 4.0, 0.0, 2.0]]), 2, 2).tolist()
    [[5.0, 2.0]]""",
)
lp_pool2d = in_dims(_lp_pool, 2, POWER, WINDOWS)
lp_pool3d = in_dims(_lp_pool, 3, POWER, WINDOWS)
