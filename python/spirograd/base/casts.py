"""autocast for functions written in Python. The rows of the core say what it does to the others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from .._core import Tensor

F = TypeVar("F", bound=Callable[..., Any])

used = False  # whether autocast was ever used; if not, nothing is checked


def _converted(x: Any, to_half: bool) -> Any:
    """A tensor, or those in a list or tuple, in the type of the open autocast or in float32."""
    if isinstance(x, (list, tuple)):
        return type(x)(_converted(item, to_half) for item in x)
    return _core._autocast_to(x, to_half) if isinstance(x, Tensor) else x


def _marked(function: F, to_half: bool) -> F:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not used:
            return function(*args, **kwargs)
        args = tuple(_converted(x, to_half) for x in args)
        return function(*args, **{k: _converted(x, to_half) for k, x in kwargs.items()})

    return call  # type: ignore[return-value]


def wide(function: F) -> F:
    """Under autocast, the function gets its half tensors as float32: for losses and norms."""
    return _marked(function, False)


def narrow(function: F) -> F:
    """Under autocast, the function gets its tensors in the half type: for products written in Python."""
    return _marked(function, True)


def exact(function: F) -> F:
    """The function runs without autocast: where half products would not do."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not used or (before := _core._autocast()) == (None, None):
            return function(*args, **kwargs)
        try:
            _core._set_autocast(None, None)
            return function(*args, **kwargs)
        finally:
            _core._set_autocast(*before)

    return call  # type: ignore[return-value]
