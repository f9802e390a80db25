"""Sizes as layers and functions take them: one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Sequence

Size = int | Sequence[int]


def for_each_dimension(op: str, what: str, size: Size, dims: int) -> tuple[int, ...]:
    """One number for each of dims dimensions; `what` is its name in the error."""
    each = (size,) if isinstance(size, int) else tuple(size)
    if len(each) not in (1, dims):
        raise ValueError(f"{op}: {what} {list(each)} for {dims} dimension(s); give one number, or one for each")
    return each if len(each) == dims else each * dims
