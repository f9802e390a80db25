"""Hooks of the steps of all optimisers."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from typing import Any

from ..nn.hooks import RemovableHandle
from .optimizer import Optimizer

__all__ = ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) before each step() of any optimiser; remove() of the handle ends that.

    Example:
        >>> from spirograd.optim.hooks import register_optimizer_step_pre_hook
        >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("a step"))
        >>> sg.optim.SGD([sg.zeros(1, requires_grad=True)], lr=0.1).step()
        a step
        >>> handle.remove()
    """
    return _of_all("pre", hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) after each step() of any optimiser."""
    return _of_all("post", hook)


_hooks: dict[str, dict[int, Any]] = {"pre": {}, "post": {}}


def _of_all(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    if not isinstance(vars(Optimizer).get(f"_{kind}_hooks"), _Joined):
        setattr(Optimizer, f"_{kind}_hooks", _Joined(kind))
    handle = RemovableHandle(_hooks[kind])
    _hooks[kind][handle.id] = hook
    return handle


class _Joined:
    """The attribute of an optimiser that has its hooks: those of all optimisers are before its own."""

    def __init__(self, kind: str) -> None:
        self.kind, self.name = kind, f"_{kind}_hooks"

    def __get__(self, optimizer: Any, owner: Any = None) -> Any:
        return self if optimizer is None else ChainMap(vars(optimizer).setdefault(self.name, {}), _hooks[self.kind])

    def __set__(self, optimizer: Any, hooks: dict[int, Any]) -> None:
        vars(optimizer)[self.name] = hooks
