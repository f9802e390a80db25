"""Views that are copies, and a copy with a view written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor

__all__ = ["as_strided_scatter"]

_NAMES = [
    "as_strided",
    "detach",
    "diagonal",
    "expand",
    "narrow",
    "permute",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
]


def _copy_of(name: str) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        view = getattr(input, "split" if name == "split_with_sizes" else name)(*args, **kwargs)
        return view.clone() if isinstance(view, Tensor) else tuple(part.clone() for part in view)

    call.__name__ = call.__qualname__ = f"{name}_copy"
    call.__doc__ = f"What {name}() gives, with memory of its own."
    return call


def alias_copy(input: Tensor) -> Tensor:
    """clone() by another name."""
    return input.clone()


def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """What select() gives, with memory of its own."""
    return input.select(dim, index).clone()


def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A slice of a dimension, with memory of its own."""
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)].clone()


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """input with src written where as_strided(size, stride, storage_offset) would read it.

    Args:
        input: a tensor.
        src: a tensor of this size.
        size, stride: of the view.
        storage_offset: where it begins; None: 0.

    Raises:
        ValueError: the view leaves the input's memory, or src does not fit.

    Example:
        >>> torch.as_strided_scatter(torch.zeros(3), torch.ones(2), (2,), (2,)).tolist()  # doctest: +SKIP
        [1.0, 0.0, 1.0]
    """
    places = _core.arange(input.numel(), device=input.device).as_strided(size, stride, storage_offset or 0)
    flat = input.reshape(-1).index_copy(0, places.reshape(-1), src.expand(places.shape).reshape(-1))
    return flat.reshape(input.shape)


_COPIES = [alias_copy, select_copy, slice_copy, *map(_copy_of, _NAMES)]
globals().update({function.__name__: function for function in _COPIES})
__all__ += [function.__name__ for function in _COPIES]
