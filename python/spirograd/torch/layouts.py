"""Shapes, and the words for how memory is laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

from .._core import Tensor

__all__ = ["Size", "channels_last", "channels_last_3d", "contiguous_format", "jagged", "layout"]
__all__ += ["legacy_contiguous_format", "memory_format", "preserve_format", "sparse_bsc", "sparse_bsr", "sparse_coo"]
__all__ += ["sparse_csc", "sparse_csr", "strided"]


class Size(tuple[int, ...]):
    """A shape that prints as PyTorch's does.

    Example:
        >>> spirograd.torch.layouts.Size([2, 3]).numel()  # doctest: +SKIP
        6
    """

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        return super().__new__(cls, sizes)

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> Size: ...

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(super().__add__(tuple(other)))


class _Word:
    """A constant that prints as its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(_Word):
    """How elements are kept: strided, but for nested tensors, which are jagged."""


class memory_format(_Word):
    """The order of dimensions in memory. Kernels read any, and write new tensors in C order."""


strided, jagged = layout("strided"), layout("jagged")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
legacy_contiguous_format = contiguous_format
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
_DIMS = {channels_last: 4, channels_last_3d: 5}


def arranged(x: Tensor, memory_format: memory_format | None) -> Tensor:
    """An image or a volume with its channels last in memory, if the format says so; others as they are."""
    if memory_format is None or x.ndim != _DIMS.get(memory_format):
        return x
    return x.movedim(1, -1).contiguous().movedim(-1, 1)
