"""torch.Tensor and its subclasses: what is done with one of them gives one of them, and asks its __torch_function__().

Plain tensors are of the core's class, which knows nothing of this. A subclass is one of `AnyTensor`, whose methods,
operators and attributes ask (answering.py) before they do what the core's do. A tensor gets its class after it was
made: objects of these classes are laid out as the core's.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from .. import _core, nn
from .._core import Tensor
from . import answering
from .kinds import construct

__all__ = ["AnyTensor", "as_it_is", "as_subclass", "open_to_subclasses"]

_part, _text = Tensor.__getitem__, Tensor.__repr__  # those of the core


class _TensorMeta(type):
    """The class of torch.Tensor: a call takes sizes or values, all else is about spirograd's Tensor."""

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if any(base is not Tensor for base in bases):  # not AnyTensor itself, which equals Tensor
            _others_ask()
        return super().__new__(mcls, name, bases, body)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is AnyTensor and kwargs.keys() <= {"device"}:
            return _constructed(args, kwargs.get("device"))
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) if cls is AnyTensor else super().__instancecheck__(x)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Tensor) if cls is AnyTensor else super().__subclasscheck__(kind)

    def __setattr__(cls, name: str, value: Any) -> None:
        if cls is not AnyTensor:
            return super().__setattr__(name, value)
        setattr(Tensor, name, value)
        if name in vars(AnyTensor):  # what asked before it did what the core's did
            super().__delattr__(name)
        _asking.pop(name, None)
        return None

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls is AnyTensor and other is Tensor)

    def __hash__(cls) -> int:
        return hash(Tensor) if cls is AnyTensor else super().__hash__()


class AnyTensor(Tensor, metaclass=_TensorMeta):
    """torch.Tensor. Tensors are instances of it; a subclass of it is one of spirograd's Tensor."""

    __module__ = "torch"
    __qualname__ = "Tensor"

    def __new__(cls, *args: Any, device: Any = None, requires_grad: bool = False) -> Any:
        made = _constructed(args, device)
        return as_subclass(made.requires_grad_() if requires_grad else made, cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's own result, of this class."""
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with answering.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            return result if func in as_it_is() else _converted(result, cls)

    def __repr__(self) -> str:
        return _named(self, _text(as_subclass(self, Tensor)))

    def __copy__(self) -> Any:
        return _with(as_subclass(Tensor.__copy__(self), type(self)), vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = made = as_subclass(Tensor.__deepcopy__(as_subclass(self, Tensor), memo), type(self))
            _with(made, copy.deepcopy(vars(self), memo))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (type(self), as_subclass(self, Tensor), dict(vars(self)))


type.__setattr__(AnyTensor, "__name__", "Tensor")


def _constructed(args: tuple[Any, ...], device: Any) -> Tensor:
    """What Tensor(...) means; of a tensor, another name for it."""
    if len(args) == 1 and isinstance(args[0], Tensor) and device is None:
        return as_subclass(args[0], Tensor)
    return construct(args, _core.get_default_dtype(), device)


def as_subclass(self: Tensor, cls: Any) -> Any:
    """Another name for a tensor, of a subclass: it shares its memory and its place in the gradient graph.

    Args:
        cls: torch.Tensor or a subclass of it.

    Raises:
        TypeError: there is no such class.
    """
    if not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass: a subclass of torch.Tensor is needed, got {cls.__name__}")
    made = _part(self, ...)
    if cls is AnyTensor or cls is Tensor:
        return made
    try:
        made.__class__ = cls
    except TypeError:  # another layout, of a class with slots: a copy keeps the place in the graph, not the memory
        if not made.requires_grad:
            return Tensor.__new__(cls, made)
        with answering.DisableTorchFunctionSubclass():
            made = Tensor.__new__(cls, _core.empty_like(made)).copy_(made)
    return made


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of a subclass that shares a tensor's memory."""
    made = as_subclass(data.detach(), cls)
    made.requires_grad_(require_grad)
    return made


def _with(x: Any, attributes: dict[str, Any]) -> Any:
    if attributes:
        vars(x).update(attributes)
    return x


def _rebuilt(kind: Any, x: Tensor, attributes: dict[str, Any]) -> Any:
    """What pickle makes of what it stored."""
    return _with(as_subclass(x, kind), attributes)


def _named(x: Tensor, text: str) -> str:
    """The text of a tensor under its class's name, where that is of a subclass."""
    if type(x) is Tensor:
        return text
    head = f"{type(x).__name__}("
    return head + text.removeprefix("tensor(").replace("\n" + " " * len("tensor("), "\n" + " " * len(head))


def _converted(result: Any, cls: Any) -> Any:
    """A result with the tensors in it of a class."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if not isinstance(result, (tuple, list)) or not any(isinstance(part, (Tensor, tuple, list)) for part in result):
        return result
    parts = [_converted(part, cls) for part in result]
    return result._make(parts) if hasattr(result, "_make") else type(result)(parts)


# ---- methods, operators and attributes that ask --------------------------------------------------------------------
_OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)
# Operators that __torch_function__() sees as methods.
_METHODS = {"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__mod__": "remainder"}
_METHODS |= {"__pow__": "pow", "__matmul__": "matmul", "__radd__": "add", "__rmul__": "mul"}
_METHODS |= {"__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__ne__": "ne"}
_METHODS |= {"__neg__": "neg", "__pos__": "positive", "__abs__": "abs"}
_METHODS |= {f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul", "pow")}
_METHODS |= {"__itruediv__": "div_", "__imod__": "remainder_", "__ifloordiv__": "floor_divide_"}
_BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
_PAIRS = {f"__{name}__": False for name in (*_BINARY, "divmod", "lt", "le", "gt", "ge", "eq", "ne")}
_PAIRS |= {f"__i{name}__": False for name in _BINARY}
_PAIRS |= {f"__r{name}__": True for name in (*_BINARY, "divmod")}
_TAKING_TENSORS = {*_PAIRS, "__getitem__", "__setitem__"}
# What belongs to objects, not to tensors.
_OF_OBJECTS = {"as_subclass", "_make_subclass", "__array_ufunc__", "__class__", "__doc__", "__hash__", "__init__"}
_OF_OBJECTS |= {"__init_subclass__", "__iter__", "__dir__", "__module__", "__reduce__", "__sizeof__", "__str__"}
_OF_OBJECTS |= {"__getattr__", "__getstate__", "__subclasshook__", "__weaklistoffset__"}
_OF_OBJECTS |= {"__delattr__", "__dict__", "__dictoffset__", "__getattribute__", "__setattr__"}


def _method(name: str) -> Callable[..., Any]:
    plain = getattr(Tensor, name)

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = answering.answering((*args, *kwargs.values()) if kwargs else args)
        if not found:
            return plain(*args, **kwargs)
        return answering.asked(getattr(AnyTensor, _METHODS.get(name, name)), found, args, kwargs)

    call.__name__ = name
    return call


def _operator(name: str, is_turned: bool) -> Callable[..., Any]:
    plain, ask = getattr(Tensor, name), _method(name)

    @functools.wraps(plain)
    def call(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) and not answering.answering((other,)):
            return plain(self, other)
        if is_turned and isinstance(other, Tensor):  # a plain one: its operator leaves it to this class
            return getattr(AnyTensor, f"__{name[3:]}")(other, self)
        try:
            return ask(self, other)
        except answering.NoAnswer:
            return NotImplemented

    return call


def _attribute(name: str, plain: Any) -> property:
    def get(self: Any) -> Any:
        found = answering.answering((self,))
        return answering.asked(made.__get__, found, (self,), {}) if found else plain.__get__(self)

    def put(self: Any, value: Any) -> None:
        found = answering.answering((self, value))
        if found:
            answering.asked(made.__set__, found, (self, value), {})
        else:
            plain.__set__(self, value)

    made = property(get, put, doc=plain.__doc__)
    return made


@functools.cache
def as_it_is() -> set[Any]:
    """Functions whose results keep their class."""
    return {vars(AnyTensor)["grad"].__get__}


_taking: set[str] = set()  # methods of tensors that take other tensors, which may be of a subclass
_asking: dict[str, Any] = {}  # methods, operators and attributes that ask, but for those that a program has replaced
Places = list[tuple[Any, str, Any]]  # objects, names of their attributes, and what these become


def asking_methods() -> Places:
    """All methods, operators and attributes of plain tensors."""
    return [(Tensor, name, asking) for name, asking in _asking.items() if name in vars(Tensor)]


@functools.cache
def _functions_of_layers() -> dict[str, tuple[Any, Any]]:
    """The functions that layers call: by name, ours and those of torch.nn.functional."""
    functional = import_module("torch.nn.functional")
    ours = {name: f for name, f in vars(nn.functional).items() if callable(f) and not name.startswith("_")}
    return {name: (f, getattr(functional, name)) for name, f in ours.items()}


def asking_layers(others: Mapping[str, tuple[Any, Any]]) -> Places:
    """The functions that layers call, and others like them, in the modules of layers."""
    return [
        (module, name, pair[1])
        for key, module in list(sys.modules.items())
        if key.startswith("spirograd.nn") and not key.startswith("spirograd.nn.functional.")
        for name, pair in {**_functions_of_layers(), **others}.items()
        if vars(module).get(name) in pair
    ]


_subclasses_ask: Places = []  # what the first subclass of the program changed


def _others_ask() -> None:
    """From now on plain tensors ask about the other arguments, and so do layers: a program makes its first subclass."""
    if not _subclasses_ask:
        methods = [(Tensor, name, _asking[name]) for name in _taking & _asking.keys()]
        _subclasses_ask.extend([*methods, *asking_layers({})])
        change(_subclasses_ask)


def change(places: Places) -> Places:
    """Sets attributes of objects, and gives those from before."""
    before = [(place, name, vars(place)[name]) for place, name, _ in places]
    for place, name, value in places:
        setattr(place, name, value)
    return before


def change_back(places: Places, before: Places) -> None:
    """What change() gave, but for what was set since, and for what subclasses need."""
    needed = {(id(place), name): value for place, name, value in _subclasses_ask}
    for (place, name, value), (_, _, old) in zip(places, before, strict=True):
        if vars(place)[name] is value:
            setattr(place, name, needed.get((id(place), name), old))


def open_to_subclasses() -> None:
    """Makes the methods, operators and attributes of AnyTensor, of those that tensors have by now."""
    nn.Parameter.__torch_function__ = staticmethod(answering.disabled)  # type: ignore[attr-defined]
    Tensor.as_subclass = as_subclass  # type: ignore[attr-defined]
    Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
    _asking["__repr__"] = _method("__repr__")
    own = vars(AnyTensor)
    for name in dir(Tensor):
        if name in own or name in _OF_OBJECTS:
            continue
        found = next(vars(kind)[name] for kind in Tensor.__mro__ if name in vars(kind))
        if isinstance(found, (staticmethod, classmethod)):
            continue
        made: Any
        if name in _PAIRS:
            made = _operator(name, _PAIRS[name])
        elif callable(found):
            made = _method(name)
        else:
            made = _attribute(name, found)
        _asking[name] = made
        written_here = isinstance(found, FunctionType) and not name.startswith("__")
        if name in _TAKING_TENSORS or written_here or "Tensor" in _core._methods.get(name, ("",))[0]:
            _taking.add(name)
        type.__setattr__(AnyTensor, name, made)
