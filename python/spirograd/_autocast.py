"""autocast for functions that are written in Python; rows of the core have it by their name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._core import Tensor

F = TypeVar("F", bound=Callable[..., Any])

used = False  # whether there ever was an autocast: the quick way out


def half_on(device: _core.Device) -> _core.dtype | None:
    """The half type of products on a device, in this thread; None outside of autocast."""
    return _core._autocast()[device.kind == "gpu"]


def _wide(x: Any) -> Any:
    if isinstance(x, Tensor) and x.is_floating_point() and x.element_size() < 4 and half_on(x.device) is not None:
        return x.float()
    return x


def wide(function: F) -> F:
    """Under autocast, the function gets its half tensors as float32: for losses and norms."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not used:
            return function(*args, **kwargs)
        return function(*(_wide(x) for x in args), **{k: _wide(x) for k, x in kwargs.items()})

    return call  # type: ignore[return-value]
