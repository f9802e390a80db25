"""Pooling: the largest or the mean of what a window sees."""

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
from .._sizes import Size, for_each_dimension
from ._neighbours import Neighbours, shrinking_first

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window: [n, channels, length] -> [n, channels, result].

    Args:
        input: [n, channels, length] or without n.
        kernel_size: of the window.
        stride: from window to window; None: their size.
        padding: on both sides, at most half of the window; never the largest.
        dilation: from element to element of a window.
        ceil_mode: whether windows may reach beyond the end.
        return_indices: whether the places of the elements come too.

    Returns:
        The elements, or a tuple of them and their int64 places. The gradient goes to the first of equal ones.

    Raises:
        ValueError: a window larger than the input.

    Example:
        >>> sg.nn.functional.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
        [[3.0, 2.0]]
    """
    values, indices = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window: [n, channels, height, width] -> [n, channels, ...].

    Args:
        input: [n, channels, height, width] or without n.
        kernel_size, stride, padding, dilation, ceil_mode, return_indices: see max_pool1d; places count through the
            image as if it were flat.

    Raises:
        ValueError: a window larger than the input.

    Example:
        >>> sg.nn.functional.max_pool2d(sg.ones(2, 3, 8, 8), 2).shape
        (2, 3, 4, 4)
    """
    values, indices = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def _planes(op: str, input: Tensor) -> Tensor:
    """[n * channels, depth, height, width]."""
    if input.ndim not in (4, 5):
        raise ValueError(
            f"{op}: input of shape {list(input.shape)}; give [channels, ...] or [n, channels, ...] with 3 more "
            "dimension(s)"
        )
    return input.reshape(math.prod(input.shape[:-3]), *input.shape[-3:])


def _across(x: Tensor) -> Tensor:
    """[n, depth, height, width] -> [n, 1, height * width, depth]."""
    return x.flatten(2).transpose(1, 2).unsqueeze(1)


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        input: [n, channels, depth, height, width] or without n.
        kernel_size, stride, padding, dilation, ceil_mode, return_indices: see max_pool1d; places count through the
            volume as if it were flat.

    Raises:
        ValueError: a window larger than the input.

    Example:
        >>> sg.nn.functional.max_pool3d(sg.ones(2, 3, 4, 8, 8), 2).shape
        (2, 3, 2, 4, 4)
    """
    op = "max_pool3d"
    k = for_each_dimension(op, "kernel_size", kernel_size, 3)
    s = k if stride is None else for_each_dimension(op, "stride", stride, 3)
    p, d = for_each_dimension(op, "padding", padding, 3), for_each_dimension(op, "dilation", dilation, 3)
    x = _planes(op, input)
    # The largest of each plane's windows, then of these along the depth.
    flat, places = max_pool2d_with_indices(x, k[1:], s[1:], p[1:], d[1:], ceil_mode)
    rows, columns = flat.shape[2:]
    values, at = max_pool2d_with_indices(_across(flat), (1, k[0]), (1, s[0]), (0, p[0]), (1, d[0]), ceil_mode)
    depth = at.squeeze(1).shape[-1]

    def back(y: Tensor) -> Tensor:
        return y.transpose(1, 2).reshape(*input.shape[:-3], depth, rows, columns)

    out = back(values.squeeze(1))
    if not return_indices:
        return out
    plane = at.squeeze(1) % x.shape[1]
    inside = places.flatten(2).transpose(1, 2).gather(2, plane)
    return out, back(plane * (x.shape[2] * x.shape[3]) + inside)


def _unpool(
    dims: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    output_size: Sequence[int] | None,
) -> Tensor:
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


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Elements at the places that max_pool1d took them from, and zeros elsewhere.

    Args:
        input: [n, channels, length] or without n.
        indices: their places, int64, of the same shape. Of two with one place, either stays.
        kernel_size, stride, padding: of the pooling.
        output_size: the size of its input, where windows of several sizes fit; None: the smallest such size.

    Raises:
        ValueError: shapes or sizes do not fit.
        IndexError: at the next read, for a place beyond the result.

    Example:
        >>> values, places = sg.nn.functional.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        >>> sg.nn.functional.max_unpool1d(values, places, 2).tolist()
        [[0.0, 3.0, 2.0, 0.0]]
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Elements at the places that max_pool2d took them from, and zeros elsewhere: see max_unpool1d.

    Example:
        >>> values, places = sg.nn.functional.max_pool2d(sg.ones(1, 1, 5, 4), 2, return_indices=True)
        >>> sg.nn.functional.max_unpool2d(values, places, 2, output_size=(5, 4)).shape
        (1, 1, 5, 4)
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Elements at the places that max_pool3d took them from, and zeros elsewhere: see max_unpool1d.

    Example:
        >>> values, places = sg.nn.functional.max_pool3d(sg.ones(1, 1, 2, 4, 4), 2, return_indices=True)
        >>> sg.nn.functional.max_unpool3d(values, places, 2).shape
        (1, 1, 2, 4, 4)
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        input: [n, channels, depth, height, width] or without n.
        kernel_size: of the window.
        stride: from window to window; None: their size.
        padding: zeros on both sides, at most half of the window.
        ceil_mode: whether windows may reach beyond the end.
        count_include_pad: whether padding counts.
        divisor_override: what sums are divided by.

    Raises:
        ValueError: a window larger than the input, or a divisor of 0.

    Example:
        >>> sg.nn.functional.avg_pool3d(sg.ones(2, 3, 4, 8, 8), 2).shape
        (2, 3, 2, 4, 4)
    """
    op = "avg_pool3d"
    k = for_each_dimension(op, "kernel_size", kernel_size, 3)
    s = k if stride is None else for_each_dimension(op, "stride", stride, 3)
    p = for_each_dimension(op, "padding", padding, 3)
    one = None if divisor_override is None else 1
    # Means of each plane's windows, then of these along the depth.
    flat = avg_pool2d(_planes(op, input), k[1:], s[1:], p[1:], ceil_mode, count_include_pad, one)
    options = (ceil_mode, count_include_pad, divisor_override)
    out = avg_pool2d(_across(flat), (1, k[0]), (1, s[0]), (0, p[0]), *options).squeeze(1)
    return out.transpose(1, 2).reshape(*input.shape[:-3], out.shape[-1], *flat.shape[2:])


def _windows(size: int, count: int, device: Any) -> tuple[Tensor, Tensor, int]:
    """Of `count` windows that cover `size` elements evenly: their first elements, those behind their last, and the size
    of the widest, which begins latest in an element."""
    number = arange(count, device=device)
    widest = (size + 2 * (count - math.gcd(size, count))) // count
    return number * size // count, -(-(number + 1) * size // count), widest


def _means(input: Tensor, dim: int, count: int) -> Tensor:
    """The means of windows that cover a dimension evenly."""
    size = int(input.shape[dim])
    if count == size:
        return input
    first, end, widest = _windows(size, count, input.device)
    # Windows on the windows: an element is read by those that cover it.
    readers, _, most = _windows(count, size, input.device)
    start = first.clamp(max=size - widest)
    place = start.unsqueeze(1) + arange(widest, device=input.device)
    inside = (place >= first.unsqueeze(1)) & (place < end.unsqueeze(1))
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
    """The means of windows that cover the last `dims` dimensions evenly, for `op`."""
    sizes = _sizes(op, input, output_size, dims)
    places = [int(n) for n in input.shape[-dims:]]
    if all(size == 1 for size in sizes):
        return input.mean(tuple(range(-dims, 0)), keepdim=True)
    if all(n % size == 0 for n, size in zip(places, sizes, strict=True)):
        kernel = [n // size for n, size in zip(places, sizes, strict=True)]
        return (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1](input, kernel)
    whole = input if input.is_floating_point() and input.itemsize > 2 else input.float()
    for d in shrinking_first(places, sizes):
        whole = _means(whole, d + input.ndim - dims, sizes[d])
    return whole.to(input.dtype) if input.is_floating_point() else whole


def adaptive_avg_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """The means of as many windows as are wanted, which cover the input evenly.

    Args:
        input: [n, channels, length] or without n.
        output_size: how many.

    Returns:
        [n, channels, output_size].

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_avg_pool1d(sg.tensor([[1.0, 2.0, 3.0]]), 2).tolist()
        [[1.5, 2.5]]
    """
    return adaptive_means("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of as many windows as are wanted, which cover the image evenly.

    Args:
        input: [n, channels, height, width] or without n.
        output_size: rows and columns of the result; None keeps the input's.

    Returns:
        [n, channels, rows, columns].

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_avg_pool2d(sg.ones(2, 3, 8, 6), (1, 4)).shape
        (2, 3, 1, 4)
    """
    return adaptive_means("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of as many windows as are wanted, which cover the volume evenly.

    Args:
        input: [n, channels, depth, height, width] or without n.
        output_size: of the result; None keeps the input's.

    Returns:
        [n, channels, ...].

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_avg_pool3d(sg.ones(2, 3, 4, 8, 6), (2, 1, 4)).shape
        (2, 3, 2, 1, 4)
    """
    return adaptive_means("adaptive_avg_pool3d", input, output_size, 3)


def _spread(input: Tensor, dim: int, count: int) -> tuple[Tensor, int, Tensor]:
    """Windows that cover a dimension evenly, side by side and of one size: elements are there twice where they overlap,
    and the last again where a window is short. With their size, and where each element comes from."""
    first, end, widest = _windows(int(input.shape[dim]), count, input.device)
    place = minimum(first.unsqueeze(1) + arange(widest, device=input.device), end.unsqueeze(1) - 1).flatten()
    return input.index_select(dim, place), widest, place


def _adaptive_max(op: str, input: Tensor, output_size: Any, dims: int, return_indices: bool) -> Any:
    sizes = _sizes(op, input, output_size, dims)
    kernel, places = [], []
    x = input
    for d, size in enumerate(sizes):
        x, widest, place = _spread(x, d - dims, size)
        kernel.append(widest)
        places.append(place)
    pool = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]
    if not return_indices:
        return pool(x, kernel)
    values, indices = pool(x, kernel, return_indices=True)
    place_in_input: Any = 0
    step = 1
    for d in range(-1, -dims - 1, -1):
        place_in_input = place_in_input + places[d].take(indices % x.shape[d]) * step
        indices, step = indices // x.shape[d], step * input.shape[d]
    return values, place_in_input


def adaptive_max_pool1d(input: Tensor, output_size: Size, return_indices: bool = False) -> Any:
    """The largest elements of as many windows as are wanted, which cover the input evenly.

    Args:
        input: [n, channels, length] or without n.
        output_size: how many.
        return_indices: whether the places of the elements come too.

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_max_pool1d(sg.tensor([[1.0, 2.0, 3.0]]), 2).tolist()
        [[2.0, 3.0]]
    """
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The largest elements of as many windows as are wanted, which cover the image evenly.

    Args:
        input: [n, channels, height, width] or without n.
        output_size: rows and columns of the result; None keeps the input's.
        return_indices: whether the places of the elements, in the image as if it were flat, come too.

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_max_pool2d(sg.ones(2, 3, 8, 6), (1, 4)).shape
        (2, 3, 1, 4)
    """
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The largest elements of as many windows as are wanted, which cover the volume evenly.

    Args:
        input: [n, channels, depth, height, width] or without n.
        output_size: of the result; None keeps the input's.
        return_indices: whether the places of the elements, in the volume as if it were flat, come too.

    Raises:
        ValueError: output_size below 1.

    Example:
        >>> sg.nn.functional.adaptive_max_pool3d(sg.ones(2, 3, 4, 8, 6), (2, 1, 4)).shape
        (2, 3, 2, 1, 4)
    """
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


def _lp(op: str, input: Tensor, norm_type: float, kernel_size: Size, stride: Any, ceil_mode: bool, dims: int) -> Tensor:
    if norm_type == 0:
        raise ValueError(f"{op}: norm_type=0; give another exponent")
    kernel = for_each_dimension(op, "kernel_size", kernel_size, dims)
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1](input**norm_type, kernel, stride, 0, ceil_mode)
    # The root of 0 has no gradient: relu gives none there.
    return (mean.sign() * mean.abs().relu() * math.prod(kernel)) ** (1 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window: [n, channels, length] -> [n, channels, result].

    Args:
        input: [n, channels, length] or without n.
        norm_type: p. 1 gives sums, 2 lengths, and large ones come near to the largest element.
        kernel_size: of the window.
        stride: from window to window; None: their size.
        ceil_mode: whether windows may reach beyond the end; those count as if they were full of their mean.

    Returns:
        Elements with an even p are lengths of windows. Where the sum is 0 the gradient is 0.

    Raises:
        ValueError: a window larger than the input, or norm_type 0.

    Example:
        >>> sg.nn.functional.lp_pool1d(sg.tensor([[3.0, 4.0, 0.0, 2.0]]), 2, 2).tolist()
        [[5.0, 2.0]]
    """
    return _lp("lp_pool1d", input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window: [n, channels, height, width] -> [n, channels, ...].

    Args:
        input: [n, channels, height, width] or without n.
        norm_type, kernel_size, stride, ceil_mode: see lp_pool1d.

    Raises:
        ValueError: a window larger than the input, or norm_type 0.

    Example:
        >>> sg.nn.functional.lp_pool2d(sg.ones(2, 3, 8, 8), 2, (2, 4)).shape
        (2, 3, 4, 2)
    """
    return _lp("lp_pool2d", input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window: [n, channels, depth, height, width] -> [n, channels, ...].

    Args:
        input: [n, channels, depth, height, width] or without n.
        norm_type, kernel_size, stride, ceil_mode: see lp_pool1d.

    Raises:
        ValueError: a window larger than the input, or norm_type 0.

    Example:
        >>> sg.nn.functional.lp_pool3d(sg.ones(2, 3, 4, 8, 8), 2, 2).shape
        (2, 3, 2, 4, 4)
    """
    return _lp("lp_pool3d", input, norm_type, kernel_size, stride, ceil_mode, 3)
