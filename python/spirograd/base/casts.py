"""autocast for functions written in Python. The rows of the core say what it does to the others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from .errors import name_called
from .keywords import propose_keyword

F = TypeVar("F", bound=Callable[..., Any])


def _marked(function: F, narrow: bool) -> F:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _core._autocast_arguments(args, kwargs, narrow)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            propose_keyword(error, function)
            raise
        except ValueError as error:
            name_called(error, function.__name__)
            raise

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
        try:
            if _core._autocast() == (None, None):
                return function(*args, **kwargs)
            with _core._Mode(kind=0), _core._Mode(kind=1):
                return function(*args, **kwargs)
        except TypeError as error:
            propose_keyword(error, function)
            raise

    return call  # type: ignore[return-value]
