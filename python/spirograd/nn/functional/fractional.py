"""Pooling over windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Tensor, arange, rand
from .._arguments import in_dims

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]


_FRACTIONAL = """Takes the largest element of each window, at random places that cover the input (Graham, 2014):
[n, channels, {sizes}] -> [n, channels, ...].

Args:
    input: [n, channels, {sizes}], or without n.
    kernel_size: size of the windows: one number, or one for each dimension.
    output_size: the sizes of the result: one number, or one for each dimension.
    output_ratio: the sizes of the result as a fraction of those of the input, between 0 and 1, in place of output_size.
    return_indices: whether to return the indices of the elements as well.
    _random_samples: numbers in [0, 1) that place the windows, [n, channels, {dims}]; by default random ones.

Returns:
    The elements, or a tuple of them and their int64 indices, which count through the flattened [{sizes}].

Raises:
    ValueError: not exactly one of output_size and output_ratio is given; layers raise it when they are called.
"""


def _starts(samples: Tensor, size: int, kernel: int, out: int) -> Tensor:
    """Where windows begin, of a number in [0, 1) for each plane (Graham, 2014): [planes, out]."""
    if out == 1:
        return (samples * 0).long().unsqueeze(-1) + (size - kernel)
    step, u = (size - kernel) / (out - 1), samples.unsqueeze(-1)
    places = ((arange(out, device=samples.device) + u) * step).long() - (u * step).long()
    last = arange(out, device=samples.device) == out - 1
    return places * ~last + (size - kernel) * last


def _for_each(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, Sequence) else [value] * dims


def _pool(
    op: str, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None, dims: int
) -> tuple[Tensor, Tensor]:
    """Values and indices. Of two dimensions, the samples are those of columns and rows, of three in their order."""
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{op}: give one of output_size and output_ratio")
    x = input if input.ndim == dims + 2 else input.unsqueeze(0)
    n, channels, *sizes = x.shape
    kernel, out = _for_each(kernel_size, dims), _for_each(output_size, dims)
    if output_size is None:
        out = [int(size * ratio) for size, ratio in zip(sizes, _for_each(output_ratio, dims), strict=True)]
    drawn = samples if samples is not None else rand((n, channels, dims), device=x.device)
    places: Any = 0
    for d, size in enumerate(sizes):
        sample = drawn[..., dims - 1 - d if dims == 2 else d]
        starts = _starts(sample.reshape(-1), size, kernel[d], out[d])
        starts = starts.reshape(n, channels, *(out[d] if i == d else 1 for i in range(dims)), *(1,) * dims)
        inside = arange(kernel[d], device=x.device).reshape([-1 if i == d else 1 for i in range(dims)])
        places = places * size + starts + inside
    places = places.flatten(dims + 2)
    values, which = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape).max(-1)
    indices = places.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return (values, indices) if input.ndim == dims + 2 else (values.squeeze(0), indices.squeeze(0))


def _fractional_max_pool(
    dims: int,
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """
    Example:
        >>> sg.nn.functional.fractional_max_pool{dims}d(sg.ones(1, 1, {5}), 2, output_size=3).shape
        (1, 1, {3})
    """
    op = f"fractional_max_pool{dims}d"
    values, indices = _pool(op, input, kernel_size, output_size, output_ratio, _random_samples, dims)
    return (values, indices) if return_indices else values


fractional_max_pool2d = in_dims(_fractional_max_pool, 2, _FRACTIONAL)
fractional_max_pool3d = in_dims(
    _fractional_max_pool,
    3,
    _FRACTIONAL,
    example="""
    >>> sg.nn.functional.fractional_max_pool3d(sg.ones(1, 4, 4, 4), 2, output_ratio=0.5).shape
    (1, 2, 2, 2)""",
)
