"""torch.overrides: classes and modes that answer for functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ... import _core
from ..._core import Tensor
from ..answering import MODULES, answering, asked
from ..modes import BaseTorchFunctionMode, TorchFunctionMode, modes
from ..subclasses import as_it_is

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "_get_current_function_mode"]
__all__ += ["_get_current_function_mode_stack", "get_default_nowrap_functions", "get_ignored_functions"]
__all__ += ["get_overridable_functions"]
__all__ += ["handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"]
__all__ += ["is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function"]

get_default_nowrap_functions = as_it_is


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode that is on; None without one."""
    return modes()[-1] if modes() else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes that are on, the innermost last."""
    return list(modes())


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or the class of an argument answers for functions."""
    return bool(modes() or answering(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """Whether a mode is on, or the class of an object answers for functions."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether a mode is on, or the class of an argument answers for functions."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the innermost mode, or the first class that answers, makes of a call of a function.

    Args:
        public_api: the function, as its users know it.
        relevant_args: the arguments to ask.
        args, kwargs: all arguments.

    Raises:
        TypeError: none of the classes answers.
    """
    if modes():
        return _core._Mode.intercept(public_api, args, kwargs)
    return asked(public_api, answering(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function asks the classes of the arguments that the dispatcher gives of all arguments."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if not has_torch_function(relevant):
                return func(*args, **kwargs)
            return handle_torch_function(call, relevant, *args, **kwargs)

        return call

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or its class answers for functions of tensors."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function that a class is asked about is a method or an attribute of tensors."""
    return func in _of_tensors() or getattr(func, "__name__", "") == "__get__"


@functools.cache
def _of_tensors() -> set[Callable[..., Any]]:
    return {f for name in dir(Tensor) if callable(f := getattr(Tensor, name)) and not isinstance(f, type)}


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which programs know a function: "torch.Tensor.add"; None for others."""
    owner = getattr(f, "__self__", None)
    if getattr(f, "__name__", "") in ("__get__", "__set__"):
        return next((f"torch.Tensor.{n}.{f.__name__}" for n, v in vars(Tensor).items() if v is owner), None)
    if is_tensor_method_or_property(f):
        return f"torch.Tensor.{f.__name__}"
    import sys

    for module in MODULES:
        if module in sys.modules and getattr(sys.modules[module], getattr(f, "__name__", "__doc__"), None) is f:
            return f"{module}.{f.__name__}"
    return None


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The methods of tensors that ask: functions are not listed."""
    return {Tensor: sorted(_of_tensors(), key=lambda f: f.__name__)}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """None are listed."""
    return set()
