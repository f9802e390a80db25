"""Views that are copies, and a copy with a view written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import Tensor

_NAMES = ["as_strided", "detach", "diagonal", "expand", "narrow", "permute", "split", "split_with_sizes", "squeeze"]
_NAMES += ["t", "transpose", "unbind", "unfold", "unsqueeze", "view"]


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


_COPIES = [alias_copy, select_copy, slice_copy, *map(_copy_of, _NAMES)]
globals().update({function.__name__: function for function in _COPIES})
__all__ = [function.__name__ for function in _COPIES]
