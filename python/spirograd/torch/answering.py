"""Classes that answer for functions of tensors: PyTorch's protocol `__torch_function__`.

A function that is `overridable` asks the classes of its arguments first. Those of subclasses.py are tensors; others,
such as a library's lazy matrices, need not be. A mode (modes.py) is asked before them, whatever the arguments are.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from .._core import Tensor
from ..base.out import placed
from ..nn import Parameter

__all__ = ["INITS", "MODULES", "DisableTorchFunction", "DisableTorchFunctionSubclass", "answering", "asked"]
__all__ += ["ask_always", "disabled", "is_enabled", "modes", "overridable", "plain"]

# Modules whose functions ask.
_FUNCTIONS = ("torch", "torch.functional", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")
MODULES = (*_FUNCTIONS, "torch.nn.init")
INITS = ("constant_", "kaiming_uniform_", "normal_", "uniform_")  # those of torch.nn.init
# Their functions that do not ask, as in PyTorch.
_SILENT = {"as_tensor", "asarray", "broadcast_shapes", "compile", "from_numpy", "is_storage", "is_tensor", "load"}
_SILENT |= {"manual_seed", "save", "set_default_device", "set_default_dtype", "tensor", "typename", "vmap"}
_state = threading.local()  # .off: how many contexts are open in which no class is asked; .modes: those of this thread
_answers: dict[type, bool] = dict.fromkeys((Tensor, Parameter, int, float, bool, str, type(None)), False)
plain = set(_answers)  # classes that do not answer, for a look that costs little; empty while a thread has a mode
_made: dict[Any, Callable[..., Any]] = {}


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that do not answer: the function's own result."""
    return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """A context in which no class is asked: functions see tensors of subclasses as tensors."""

    def __enter__(self) -> None:
        _state.off = getattr(_state, "off", 0) + 1

    def __exit__(self, *args: object) -> None:
        _state.off -= 1


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which no mode is asked either."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = modes()
        _state.modes = []

    def __exit__(self, *args: object) -> None:
        _state.modes = self._modes
        super().__exit__(*args)


def is_enabled() -> bool:
    """Whether classes are asked."""
    return not getattr(_state, "off", 0)


def modes() -> list[Any]:
    """The modes that are on in this thread, the innermost last."""
    if not hasattr(_state, "modes"):
        _state.modes = []
    found: list[Any] = _state.modes
    return found


def ask_always(always: bool) -> None:
    """Whether functions look for a mode, too: they then ask whatever the classes of their arguments are."""
    plain.clear()
    if not always:
        plain.update(kind for kind, answers in _answers.items() if not answers and kind not in (list, tuple))


def _has_answers(kind: type) -> bool:
    answer = getattr(kind, "__torch_function__", disabled)
    _answers[kind] = found = getattr(answer, "__func__", answer) is not disabled
    if plain and not found and kind is not list and kind is not tuple:  # which may hold some that do
        plain.add(kind)
    return found


def answering(args: Iterable[Any]) -> list[Any]:
    """What to ask: the innermost mode, then arguments, also from inside of lists and tuples.

    They are one of each class, subclasses before their bases.
    """
    found: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is list or kind is tuple:
            candidates = [x for x in arg if _answers.get(type(x)) is not False]
        else:
            candidates = [arg] if _answers.get(kind) is not False else []
        for x in candidates:
            kind = type(x)
            answers = _answers.get(kind)
            if (_has_answers(kind) if answers is None else answers) and all(type(f) is not kind for f in found):
                before = [i for i, f in enumerate(found) if issubclass(kind, type(f))]
                found.insert(before[0] if before else len(found), x)
    found = found if found and is_enabled() else []
    return found if plain else [*modes()[-1:], *found]


def asked(function: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first of `answering` that answers makes of a call. A mode is off while it does.

    Raises:
        TypeError: none does.
    """
    on = modes()
    mode = found[0] if on and found[0] is on[-1] else None
    types = tuple(type(x) for x in found if x is not mode)
    for x in found:
        if x is mode:
            on.pop()
        try:
            result = x.__torch_function__(function, types, args, kwargs)
        finally:
            if x is mode:
                on.append(x)
        if result is not NotImplemented:
            return result
    names = ", ".join(type(x).__name__ for x in found)
    raise NoAnswer(
        f"{getattr(function, '__name__', function)}: __torch_function__ of {names} gives NotImplemented; "
        "handle the function there, or convert the arguments"
    )


class NoAnswer(TypeError):
    """All classes of the arguments declined."""


def overridable(function: Any, module: str, name: str) -> Any:
    """A function of a module of PyTorch, asking modes and its arguments' classes first; other things as they are.

    Pickles find it by its name there.
    """
    if module not in MODULES or not isinstance(function, (FunctionType, BuiltinFunctionType)) or name in _SILENT:
        return function
    if module == "torch.nn.init" and name not in INITS:
        return function
    if function in _made:
        return _made[function]

    within = inspect.unwrap(function)
    takes_out = isinstance(within, BuiltinFunctionType) or "out" in inspect.signature(within).parameters

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not takes_out and "out" in kwargs:
            out = kwargs.pop("out")
            result = call(*args, **kwargs)
            return result if out is None else placed(name, result, out)
        for arg in (*args, *kwargs.values()) if kwargs else args:
            if type(arg) not in plain:
                break
        else:
            return function(*args, **kwargs)
        if name == "einsum" and len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # classes see the operands one by one
        found = answering((*args, *kwargs.values()) if kwargs else args)
        return asked(call, found, args, kwargs) if found else function(*args, **kwargs)

    call.__module__, call.__qualname__ = module, name
    _made[function] = _made[call] = call
    return call
