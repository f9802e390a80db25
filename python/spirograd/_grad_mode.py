"""Whether operations are recorded for gradients: context managers that are decorators too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from ._core import _set_grad_enabled, is_grad_enabled

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    _on: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(is_grad_enabled())
        _set_grad_enabled(self._on)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set_grad_enabled(self._before.pop())

    def __call__(self, function: F) -> F:
        # Not one mode for all calls: they may overlap in several threads.
        on = self._on

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = is_grad_enabled()
            _set_grad_enabled(on)
            try:
                return function(*args, **kwargs)
            finally:
                _set_grad_enabled(before)

        return wrapped  # type: ignore[return-value]


class no_grad(_Mode):
    """Records nothing for gradients inside a `with`, or in a decorated function; for this thread.

    Example:
        >>> with sg.no_grad():
        ...     y = sg.ones(2, requires_grad=True) * 2
        >>> y.requires_grad
        False
    """

    _on = False


class enable_grad(_Mode):
    """Records inside a `with` or a decorated function, also within no_grad().

    Example:
        >>> with sg.no_grad(), sg.enable_grad():
        ...     y = sg.ones(2, requires_grad=True) * 2
        >>> y.requires_grad
        True
    """

    _on = True


class set_grad_enabled(_Mode):
    """Switches recording on or off at once; as a context manager, until its end.

    Args:
        mode: whether to record.

    Example:
        >>> with sg.set_grad_enabled(False):
        ...     sg.is_grad_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._on = bool(mode)
        self._outside = is_grad_enabled()
        _set_grad_enabled(self._on)

    def __enter__(self) -> None:
        self._before.append(self._outside)
        _set_grad_enabled(self._on)

    def __call__(self, function: F) -> F:
        _set_grad_enabled(self._outside)
        return super().__call__(function)
