"""torch.nn.modules.module: names of the file that Module is in, and hooks of all modules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .....nn import Module
from .....nn.hooks import Hook, Hooks, RemovableHandle, register
from .....nn.module import LoadResult as _IncompatibleKeys

__all__ = ["_EXTRA_STATE_KEY_SUFFIX", "_IncompatibleKeys", "_addindent"]
__all__ += [
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
_KINDS = ("forward_pre", "forward", "backward_pre", "backward")
_of_all = Hooks()
_own_call = Module.__call__


def _addindent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)


@functools.wraps(_own_call)
def _call(self: Module, *args: Any, **kwargs: Any) -> Any:
    """A call with the hooks of all modules before those of this one."""
    if not any(getattr(_of_all, kind) for kind in _KINDS):
        return _own_call(self, *args, **kwargs)
    own, merged = self._hooks, Hooks()
    for kind in _KINDS:
        setattr(merged, kind, {**getattr(_of_all, kind), **(getattr(own, kind) if own else {})})
    vars(self)["_hooks"] = merged
    try:
        return _own_call(self, *args, **kwargs)
    finally:
        vars(self)["_hooks"] = own


def _register(kind: str, hook: Hook) -> RemovableHandle:
    Module.__call__ = _call  # type: ignore[assignment, method-assign]
    return register(getattr(_of_all, kind), hook, prepend=False)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, args) before each forward() of any module; what it returns, if not None, are the arguments."""
    return _register("forward_pre", Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls hook(module, args, output) after each forward() of any module; what it returns, if not None, is the output.

    Args:
        hook: with with_kwargs it is called as hook(module, args, kwargs, output).
        with_kwargs: whether the hook sees arguments by name.
        always_call: also when forward() raises; the output is None then.
    """
    return _register("forward", Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, grad_output) when the gradients of a module's outputs are known; it may return others."""
    return _register("backward_pre", Hook(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, grad_input, grad_output) when the gradients of a module's inputs are known."""
    return _register("backward", Hook(hook))
