"""Modes: contexts that see each call of a function of tensors, whatever its arguments are.

Functions, and what subclasses of Tensor inherit, ask a mode as they ask classes (answering.py). Methods of plain
tensors and the functions that layers call do so only while a thread is in a mode: they cost nothing otherwise.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from .. import _core, nn
from . import answering, subclasses

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode"]

_lock = threading.Lock()
_on = 0  # how many modes are on, in all threads
_changed: tuple[subclasses.Places, subclasses.Places] = ([], [])  # what asks because of them, and what was there before
_FACTORIES = ("empty", "full", "ones", "zeros")


def _places() -> subclasses.Places:
    """What asks while a mode is on, besides the functions of PyTorch's modules."""
    torch, init = import_module("torch"), import_module("torch.nn.init")
    others = {name: (getattr(_core, name), getattr(torch, name)) for name in _FACTORIES}
    others |= {name: (getattr(nn.init, name), getattr(init, name)) for name in answering.INITS}
    return [*subclasses.asking_methods(), *subclasses.asking_layers(others)]


def _count(more: int) -> None:
    """One mode more, or one less."""
    global _on, _changed
    with _lock:
        _on += more
        if _on == 1 and more == 1:
            places = _places()
            answering.ask_always(True)
            _changed = places, subclasses.change(places)
        elif _on == 0:
            subclasses.change_back(*_changed)
            answering.ask_always(False)


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

    def __enter__(self) -> Any:
        _count(1)
        answering.modes().append(self)
        return self

    def __exit__(self, *args: object) -> None:
        answering.modes().pop()
        _count(-1)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's own result."""
        return func(*args, **(kwargs or {}))
