"""What transforms are given, and the random numbers that they draw. Formulas are the same for arrays and tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from .._core import Tensor
from ..utils.data._worker import stream_of_thread
from ..utils.data.sampler import draw_seed

Images: TypeAlias = Any  # an array or a tensor, [n, channels, height, width]


def of(x: Any) -> Any:
    """The functions for x: NumPy's, or those of tensors."""
    return _core if isinstance(x, Tensor) else np


def as_array(op: str, image: Any) -> Any:
    """An image as a tensor or an array [..., channels, height, width]; a picture of Pillow becomes one of bytes."""
    if not isinstance(image, (Tensor, np.ndarray)):
        if not hasattr(image, "getbands"):
            raise TypeError(
                f"{op}: the image is a {type(image).__name__}; give an array, a tensor or a picture of Pillow"
            )
        image = np.asarray(image)
        image = np.ascontiguousarray(image.transpose(2, 0, 1)) if image.ndim == 3 else image
    if image.ndim < 2:
        raise ValueError(f"{op}: the image has shape {list(image.shape)}; give [..., channels, height, width]")
    return image[None] if image.ndim == 2 else image


def on_batch(op: str, function: Callable[[Images], Images], image: Any) -> Any:
    """The function, which is for [n, channels, height, width], on images with any number of leading dimensions."""
    x = as_array(op, image)
    out = function(x.reshape(-1, *x.shape[-3:]))
    return out.reshape(*x.shape[:-3], *out.shape[1:])


def floats(x: Any) -> Any:
    """x for arithmetic: integers and halves as float32."""
    if isinstance(x, Tensor):
        return x if x.dtype in (_core.float32, _core.float64) else x.float()
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)


def back(values: Any, x: Any) -> Any:
    """Values in the type of x, rounded if that has integers."""
    integers = not x.is_floating_point() if isinstance(x, Tensor) else x.dtype.kind in "iu"
    if integers:
        values = of(x).round(values).clip(*((0, 255) if x.itemsize == 1 else (None, None)))
    return values.to(x.dtype) if isinstance(x, Tensor) else values.astype(x.dtype, copy=False)


def largest(x: Any) -> int:
    """White: 255 in bytes, 1 in floating types."""
    return 255 if str(x.dtype).endswith("uint8") else 1


def indices(x: Any, count: int) -> Any:
    """0, 1 ... count - 1 where x is."""
    return _core.arange(count, device=x.device) if isinstance(x, Tensor) else np.arange(count)


def generator() -> np.random.Generator:
    """Random numbers for arrays: for each batch of a loader a stream of its own, elsewhere one that follows
    `manual_seed`."""
    stream = stream_of_thread()
    return np.random.default_rng(draw_seed(None)) if stream is None else stream.for_arrays()


def uniform(x: Images, low: float = 0.0, high: float = 1.0) -> Any:
    """A number in [low, high) for each image: [n, 1, 1, 1], where x is. For tensors it is drawn on their device."""
    shape = (len(x), 1, 1, 1)
    if isinstance(x, Tensor):
        return _core.rand(*shape, device=x.device) * (high - low) + low
    return generator().uniform(low, high, shape).astype(np.float32)


def integers(x: Images, count: int) -> Any:
    """A whole number below count for each image, [n, 1, 1, 1]."""
    shape = (len(x), 1, 1, 1)
    return (
        _core.randint(0, count, shape, device=x.device)
        if isinstance(x, Tensor)
        else generator().integers(count, size=shape)
    )
