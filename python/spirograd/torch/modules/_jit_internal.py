"""torch._jit_internal: annotations and marks for a compiler; Python stays Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, TypeVar, Union  # noqa: UP035  its names are these

F = TypeVar("F", bound=Callable[..., Any])
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "List", "Optional", "Tuple"]
__all__ += ["Union", "_copy_to_script_wrapper", "_overload", "_overload_method", "boolean_dispatch", "export", "ignore"]
__all__ += ["unused"]


def _overload(func: F) -> F:
    """The function itself."""
    return func


_overload_method = _copy_to_script_wrapper = export = ignore = unused = _overload


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """One of two functions, by one of the arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if len(args) > arg_index else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    call.__name__ = call.__qualname__ = func_name
    return call
