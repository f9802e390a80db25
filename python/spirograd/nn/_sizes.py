"""Sizes of layers and functions: one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Size = int | Sequence[int]


def check_counts(layer: object, **counts: Any) -> None:
    """Raises TypeError or ValueError unless all of these are integers of 0 or more."""
    for name, value in counts.items():
        if not hasattr(value, "__index__"):
            kind = type(value).__name__
            raise TypeError(f"{type(layer).__name__}: {name} is {value!r}, a {kind}; give a whole number")
        if value < 0:
            raise ValueError(f"{type(layer).__name__}: {name} is {value}; give 0 or more")


def for_each_dimension(op: str, what: str, size: Size, dims: int) -> tuple[int, ...]:
    """One number for each of dims dimensions; `what` is the name of the argument in errors."""
    each = (size,) if isinstance(size, int) else tuple(size)
    if len(each) not in (1, dims):
        raise ValueError(f"{op}: {what} {list(each)} for {dims} dimension(s); give one number, or one for each")
    return each if len(each) == dims else each * dims
