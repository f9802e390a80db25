"""What classes of modules say about their own state: get_extra_state(), _load_from_state_dict() and their like.

In PyTorch these do the work of state_dict() and load_state_dict(). Here those do it themselves, and call what a class
has instead of them before it, or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..nn import Module

__all__ = ["open_states"]

EXTRA = "_extra_state"
State = dict[str, Any]


def get_extra_state(self: Module) -> Any:
    """What a class keeps besides tensors; to be written by classes."""
    raise RuntimeError("get_extra_state: the class has none; write it, and set_extra_state()")


def set_extra_state(self: Module, state: Any) -> None:
    """Takes what get_extra_state() gave; to be written by classes."""
    raise RuntimeError("set_extra_state: the class has none; write it, and get_extra_state()")


def _save_to_state_dict(self: Module, destination: State, prefix: str, keep_vars: bool) -> None:
    """Nothing: state_dict() has written the tensors."""


def _load_from_state_dict(self: Module, state_dict: State, prefix: str, *rest: Any) -> None:
    """Nothing: load_state_dict() will read the tensors."""


_OURS = (get_extra_state, set_extra_state, _save_to_state_dict, _load_from_state_dict)


def _has(module: Module, ours: Callable[..., Any]) -> bool:
    return getattr(type(module), ours.__name__) is not ours


def _saved(module: Module, state: State, prefix: str, metadata: Any) -> None:
    if _has(module, _save_to_state_dict):
        module._save_to_state_dict(state, prefix, False)  # type: ignore[attr-defined]
    if _has(module, get_extra_state):
        state[prefix + EXTRA] = module.get_extra_state()  # type: ignore[attr-defined]


def _loaded(module: Module, state: State, prefix: str, metadata: Any, strict: bool, *lists: list[str]) -> None:
    if _has(module, _load_from_state_dict):
        module._load_from_state_dict(state, prefix, metadata, strict, *lists)  # type: ignore[attr-defined]
    if not _has(module, set_extra_state):
        return
    if prefix + EXTRA in state:
        module.set_extra_state(state.pop(prefix + EXTRA))  # type: ignore[attr-defined]
    else:
        lists[0].append(prefix + EXTRA)  # of missing names


def open_states() -> None:
    """Makes state_dict() and load_state_dict() ask the classes."""
    for function in _OURS:
        setattr(Module, function.__name__, function)
    original = Module._state_hooks
    ways: dict[str, Callable[..., None]] = {"state": _saved, "load_pre": _loaded}

    def own(self: Module, way: Callable[..., None]) -> Iterator[tuple[str, Callable[..., Any]]]:
        for at, module in self.named_modules():
            if any(_has(module, function) for function in _OURS):
                yield f"{at}." if at else "", partial(way, module)

    def _state_hooks(self: Module, kind: str) -> list[tuple[str, Callable[..., Any]]]:
        found = original(self, kind)
        return [*found, *own(self, ways[kind])] if kind in ways else found

    Module._state_hooks = _state_hooks  # type: ignore[method-assign]
