"""Functions and methods that PyTorch has and spirograd does not, made of spirograd's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import algebra, elementwise, in_place, statistics

__all__ = ["FUNCTIONS", "METHODS"]

_FILES = (algebra, elementwise, statistics)
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(file, name) for file in _FILES for name in file.__all__}
_NOT_METHODS = {"cartesian", "column_stack", "combinations", "range", "row_stack", "scalar_tensor", "vander"}
METHODS: dict[str, Callable[..., Any]] = {
    **{name: f for name, f in FUNCTIONS.items() if name not in _NOT_METHODS},
    **in_place.METHODS,
}
