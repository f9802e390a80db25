"""Pooling over windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...._core import Tensor, arange, rand

__all__ = ["fractional_max_pool2d"]


def _pair(value: Any) -> tuple[Any, Any]:
    return (value, value) if isinstance(value, (int, float)) else tuple(value)


def _starts(samples: Tensor, size: int, kernel: int, out: int) -> Tensor:
    """Where windows begin, of a number in [0, 1) for each plane (Graham, 2014): [planes, out]."""
    if out == 1:
        return (samples * 0).long().unsqueeze(-1) + (size - kernel)
    step, u = (size - kernel) / (out - 1), samples.unsqueeze(-1)
    places = ((arange(out, device=samples.device) + u) * step).long() - (u * step).long()
    last = arange(out, device=samples.device) == out - 1
    return places * ~last + (size - kernel) * last


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows at random places that cover the image: [n, channels, rows, columns], n optional.

    Raises:
        ValueError: not exactly one of output_size and output_ratio is given.
    """
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional_max_pool2d: give one of output_size and output_ratio")
    x = input if input.ndim == 4 else input.unsqueeze(0)
    n, channels, height, width = x.shape
    kernel = _pair(kernel_size)
    if output_size is None:
        ratio = _pair(output_ratio)
        out = int(height * ratio[0]), int(width * ratio[1])
    else:
        out = _pair(output_size)
    samples = _random_samples if _random_samples is not None else rand((n, channels, 2), device=x.device)
    rows = _starts(samples[..., 1].reshape(-1), height, kernel[0], out[0]).reshape(n, channels, out[0], 1, 1, 1)
    columns = _starts(samples[..., 0].reshape(-1), width, kernel[1], out[1]).reshape(n, channels, 1, out[1], 1, 1)
    down = arange(kernel[0], device=x.device).reshape(-1, 1)
    places = ((rows + down) * width + columns + arange(kernel[1], device=x.device)).reshape(n, channels, *out, -1)
    values, which = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape).max(-1)
    indices = places.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    if input.ndim == 3:
        values, indices = values.squeeze(0), indices.squeeze(0)
    return (values, indices) if return_indices else values
