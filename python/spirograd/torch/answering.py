"""PyTorch's protocol `__torch_function__`, as the road of calls asks it (cpp/bind/dispatch.hpp).

Classes of arguments may answer for functions of tensors: those of subclasses.py, which are tensors, and others, such as
a library's lazy matrices, which need not be. A mode (modes.py) sees the same functions, whatever the arguments are.
Both know them as programs do: `torch.Tensor.add` for an operator, `torch.nn.functional.linear` for what a layer calls.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any

from .. import _core, nn
from .._core import Tensor, _Overridable
from ..base.out import placed
from ..nn.module import call_of_module

__all__ = ["MODULES", "DisableTorchFunction", "DisableTorchFunctionSubclass", "NoAnswer", "answering", "asked"]
__all__ += ["attribute", "disabled", "known", "method", "overridable", "start_asking"]

# Modules whose functions ask.
_NAMES = ("functional", "nn.functional", "nn.init", "linalg", "special", "fft")
MODULES = ("torch", *(f"torch.{name}" for name in _NAMES))
INITS = ("constant_", "kaiming_uniform_", "normal_", "uniform_")  # those of torch.nn.init
# Their functions that do not, as in PyTorch, and those of which modes alone are told.
_SILENT = {"broadcast_shapes", "can_cast", "compile", "from_numpy", "initial_seed", "is_storage", "is_tensor", "load"}
_SILENT |= {"manual_seed", "promote_types", "result_type", "save", "seed", "typename", "vmap"}
_OF_MODES = {"as_tensor", "asarray", "tensor"}
_made: dict[Any, Any] = {}  # functions of spirograd, and what torch's modules show for them
_attributes: dict[Any, Any] = {}  # getters of attributes that are written in Python, and those attributes


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that do not answer: the function's own result."""
    return func(*args, **(kwargs or {}))


def DisableTorchFunctionSubclass() -> Any:
    """A context in which no class is asked: functions see tensors of subclasses as tensors."""
    return _core._Mode(classes=False)


def DisableTorchFunction() -> Any:
    """A context in which no mode is asked either."""
    return _core._Mode(classes=False, alone=True)


class NoAnswer(TypeError):
    """All classes of the arguments declined."""


# ---- functions as programs know them ---------------------------------------------------------------------------------
# Operators that __torch_function__() sees as methods.
_METHODS = {"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__mod__": "remainder"}
_METHODS |= {"__pow__": "pow", "__matmul__": "matmul", "__radd__": "add", "__rmul__": "mul"}
_METHODS |= {"__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__ne__": "ne"}
_METHODS |= {"__neg__": "neg", "__pos__": "positive", "__abs__": "abs"}
_METHODS |= {f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul", "pow")}
_METHODS |= {"__itruediv__": "div_", "__imod__": "remainder_", "__ifloordiv__": "floor_divide_"}
_SETTERS = {"data", "grad", "requires_grad"}
_PLACES = (".nn.functional", ".nn.init", ".linalg", ".special", ".fft", "")  # of functions, in spirograd and in torch


def attribute(function: Callable[..., Any]) -> property:
    """An attribute of tensors that is written in Python, and is asked about."""
    getter = method("__get__", function)
    made = property(getter)
    _attributes[getter] = made.__get__
    return made


def method(name: str, function: Callable[..., Any]) -> Any:
    """A method of tensors that is written in Python, and is asked about."""
    made = _Overridable(function)
    made.__name__, made.__module__ = name, "torch"
    return made


@functools.cache
def _shown(function: Any) -> Any:
    """What programs call a function, a method, an operator or an attribute; None: they know none such."""
    if isinstance(function, MethodDescriptorType):
        return function
    name = function.__name__
    if _is_slot(function):
        found = vars(Tensor)[_METHODS.get(name, name)]
        return found if callable(found) else found.__get__
    if isinstance(function, _Overridable) and not function.__module__.startswith("spirograd"):
        return function
    for place in _PLACES:
        if vars(sys.modules.get(f"spirograd{place}", sys)).get(name) is function and not _is_silent(name):
            return getattr(import_module(f"torch{place}"), name, None)
    return function if isinstance(function, _Overridable) else None


def known(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """What programs call a function, and its arguments; None: they know none such."""
    if function in _attributes:
        return _attributes[function], args
    if _is_slot(function) and len(args) == 2:
        name = function.__name__
        if name in _SETTERS:
            return vars(Tensor)[name].__set__, args
        if not isinstance(args[0], Tensor):  # the other operand's
            turned = f"__r{name[2:]}"
            return getattr(Tensor, _METHODS.get(turned, turned)), args[::-1]
    return _shown(function), args


def _is_slot(function: Any) -> bool:
    return isinstance(function, BuiltinFunctionType) and function.__self__ is not None


# ---- asking ----------------------------------------------------------------------------------------------------------
def _answers(kind: type) -> bool:
    answer = getattr(kind, "__torch_function__", disabled)
    return kind is not Tensor and getattr(answer, "__func__", answer) is not disabled


def answering(args: Iterable[Any]) -> list[Any]:
    """The arguments to ask, also from inside of lists and tuples: one of each class, subclasses before their bases."""
    found: list[Any] = []
    for arg in args if _core._Mode.asks_classes() else ():
        for x in arg if type(arg) in (list, tuple) else (arg,):
            kind = type(x)
            if _answers(kind) and all(type(f) is not kind for f in found):
                before = [i for i, f in enumerate(found) if issubclass(kind, type(f))]
                found.insert(before[0] if before else len(found), x)
    return found


def asked(function: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first of some objects that answers makes of a call.

    Raises:
        NoAnswer: none does.
    """
    types = tuple(map(type, found))
    for x in found:
        result = x.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in types)
    raise NoAnswer(
        f"{getattr(function, '__name__', function)}: __torch_function__ of {names} gives NotImplemented; "
        "handle the function there, or convert the arguments"
    )


class _Classes:
    """Whom the core asks about arguments whose class has `__torch_function__`."""

    @staticmethod
    def __spirograd_function__(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function is call_of_module:  # what it calls asks
            return function.__wrapped__(*args, **kwargs)
        shown, given = known(function, args)
        found = answering((*given, *kwargs.values()))
        if shown is None or not found or getattr(shown, "__name__", "") in _OF_MODES:
            with DisableTorchFunctionSubclass():
                return function(*args, **kwargs)
        if not _is_slot(function):
            return asked(shown, found, given, kwargs)
        try:
            return asked(shown, found, given, kwargs)
        except NoAnswer:
            return NotImplemented  # Python asks the other operand


def start_asking() -> None:
    """Has the core ask classes."""
    for kind in (nn.Parameter, nn.Buffer):
        setattr(kind, "__torch_function__", disabled)  # noqa: B010
    _core._ask_classes(_Classes, disabled)


def _is_silent(name: str) -> bool:
    return name in _SILENT or name.startswith(("get_", "set_", "use_")) or name.endswith("_enabled")


# ---- functions that ask ----------------------------------------------------------------------------------------------
def _taking_out(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    within = inspect.unwrap(function)
    if isinstance(within, BuiltinFunctionType) or "out" in inspect.signature(within).parameters:
        return function

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else placed(name, result, out)

    return call


def overridable(function: Any, module: str, name: str) -> Any:
    """A function of a module of PyTorch, asking modes and its arguments' classes; other things as they are.

    Pickles find it by its name there.
    """
    if module not in MODULES or not isinstance(function, (FunctionType, BuiltinFunctionType, _Overridable)):
        return function
    if _is_silent(name) or (module == "torch.nn.init" and name not in INITS):
        return function
    if name == "einsum":  # classes see the operands one by one: what it calls asks them
        return function
    if function not in _made:
        plain = function.__wrapped__ if isinstance(function, _Overridable) else function
        call: Any = _Overridable(_taking_out(plain, name))
        call.__module__, call.__qualname__ = module, name
        _made[function] = _made[call] = call
    return _made[function]
