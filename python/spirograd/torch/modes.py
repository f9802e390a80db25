"""Modes: contexts that see each call of a function of tensors, whatever its arguments are."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..nn.module import call_of_module
from .answering import NoAnswer, answering, known

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "modes"]


class TorchFunctionMode:
    """A context whose `__torch_function__` sees the calls of functions, methods, operators and attributes of tensors.

    What it gives is the result of the call. It is off while it runs: there, `func(*args, **kwargs)` is the function
    itself, or what an outer mode makes of it.

    Example:
        >>> class Count(torch.overrides.TorchFunctionMode):  # doctest: +SKIP
        ...     calls = 0
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         self.calls += 1
        ...         return func(*args, **(kwargs or {}))
        >>> with Count() as count:  # doctest: +SKIP
        ...     torch.ones(2) + 1
        >>> count.calls  # doctest: +SKIP
        2
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call gives; to be written by subclasses.

        Args:
            func: the function, as programs know it.
            types: the classes of arguments that answer for functions, which plain tensors do not.
            args, kwargs: the arguments of the call.
        """
        raise NotImplementedError

    def _intercept(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function is call_of_module:  # what it calls is seen
            with _core._Mode(interceptor=self._intercept):
                return function.__wrapped__(*args, **kwargs)
        shown, args = known(function, args)
        if shown is None:
            return function(*args, **kwargs)
        types = tuple(map(type, answering((*args, *kwargs.values()))))
        result = self.__torch_function__(shown, types, args, kwargs)
        if result is NotImplemented:
            raise NoAnswer(f"{getattr(shown, '__name__', shown)}: {type(self).__name__} gives NotImplemented")
        return result

    def __enter__(self) -> Any:
        mode = _core._Mode(interceptor=self._intercept)
        vars(self).setdefault("_open", []).append(mode)
        mode.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        vars(self)["_open"].pop().__exit__(*args)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's own result."""
        return func(*args, **(kwargs or {}))


def modes() -> list[TorchFunctionMode]:
    """The modes that are on in this thread, the innermost last."""
    owners = (getattr(interceptor, "__self__", None) for interceptor in _core._Mode.interceptors())
    return [owner for owner in owners if isinstance(owner, TorchFunctionMode)]
