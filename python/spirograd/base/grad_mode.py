"""Whether operations are recorded for gradients: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar, overload

from .._core import _is_inferring, _Mode, _set_grad_enabled, is_grad_enabled

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound="_PlainMode")


def is_inference_mode_enabled() -> bool:
    """Whether an inference_mode() is open in this thread."""
    return _is_inferring()


class _Decorator(_Mode):
    """A mode that a `with` switches on and back; as a decorator, in each call of the function."""

    def _fresh(self) -> _Decorator:
        # A new mode for each call, because calls may overlap in several threads.
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                made = function(*args, **kwargs)
                sent: Any = None
                try:
                    while True:
                        with self._fresh():
                            item = made.send(sent)
                        sent = yield item
                except StopIteration as end:
                    return end.value
                finally:
                    made.close()

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class _PlainMode(_Decorator):
    """A mode without arguments: may be written @no_grad as well as @no_grad()."""

    @overload
    def __new__(cls: type[M]) -> M: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else cls()(function)


class no_grad(_PlainMode):
    """Records nothing for gradients inside a `with`, or in a decorated function; for this thread.

    Example:
        >>> with sg.no_grad():
        ...     y = sg.ones(2, requires_grad=True) * 2
        >>> y.requires_grad
        False
    """

    def __init__(self) -> None:
        super().__init__(grad=False)


class enable_grad(_PlainMode):
    """Records inside a `with` or a decorated function, also within no_grad().

    Example:
        >>> with sg.no_grad(), sg.enable_grad():
        ...     y = sg.ones(2, requires_grad=True) * 2
        >>> y.requires_grad
        True
    """

    def __init__(self) -> None:
        super().__init__(grad=True)


class set_grad_enabled(_Decorator):
    """Switches recording on or off at once; as a context manager, until its end.

    Args:
        mode: whether to record.

    Example:
        >>> with sg.set_grad_enabled(False):
        ...     sg.is_grad_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self._on, self._outside = bool(mode), is_grad_enabled()
        super().__init__(grad=self._on, from_here=True)

    def _fresh(self) -> _Decorator:
        return set_grad_enabled(self._on)

    def __call__(self, function: F) -> F:
        _set_grad_enabled(self._outside)
        return super().__call__(function)


class inference_mode(_Decorator):
    """no_grad() that says so: is_inference_mode_enabled() is true inside, and is_inference() of tensors made inside.

    Unlike PyTorch's, such tensors are ordinary ones: they may take part in gradients later.

    Args:
        mode: False leaves it, so that the inside of a `with` is recorded again.

    Example:
        >>> with sg.inference_mode():
        ...     (sg.ones(2, requires_grad=True) * 2).requires_grad, sg.is_inference_mode_enabled()
        (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self._on = bool(mode)
        super().__init__(grad=not self._on, inference=self._on)

    def _fresh(self) -> _Decorator:
        return inference_mode(self._on)
