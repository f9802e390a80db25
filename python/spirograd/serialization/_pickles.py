"""The pickles in PyTorch's files, as data.

A pickle is a list of instructions. Those that make tensors, and what they are nested in, are followed here. There are
no others, so nothing that a file names is ever imported or called, but for what a program has put into `allowed`.
"""

from __future__ import annotations

import functools
import pickletools
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias

from .._core import FileFormatError
from ._arrays import reason, shown
from ._room import Room
from ._trees import KEYS, is_key

# What a file describes is made of these, which no plain thing is taken for, and which are no keys.


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function that the file refers to."""

    name: str


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device."""

    name: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Memory that the file holds under a key: its class, such as torch.FloatStorage, where it was, and its number of
    elements."""

    kind: str
    key: str
    place: str
    length: int


@dataclass(frozen=True, slots=True)
class View:
    """A tensor on such memory, counted in elements."""

    storage: Stored
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool


@dataclass(frozen=True, slots=True)
class ParameterOf:
    """A parameter on the memory of a tensor."""

    view: View
    requires_grad: bool


@dataclass(frozen=True, slots=True)
class WithoutShape:
    """A parameter of a lazy layer, and the name of its type, if it has another than the default."""

    requires_grad: bool
    dtype: str | None


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse tensor of such tensors, and its layout."""

    layout: str
    parts: tuple[Any, ...]


class _Refused(Exception):
    """What the pickle does, as the end of a sentence that begins with the name of the file."""


class Met:
    """The storages that a file speaks of, by their keys, and how many tensors are views of each."""

    def __init__(self) -> None:
        self.storages: dict[str, Stored] = {}
        self.views: Counter[str] = Counter()


class Instance:
    """An object that something allowed makes from arguments, and what it is set up with then."""

    def __init__(self, make: Callable[..., Any], arguments: Any) -> None:
        self.make, self.arguments, self.state = make, arguments, None


allowed: dict[str, Any] = {}  # classes and functions, by module and name
# Classes whose objects are made without a call, and functions that are values of attributes, by the same names.
known: ContextVar[Mapping[str, Any]] = ContextVar("known", default=MappingProxyType({}))
# Kinds of dicts that do not become plain ones.
kept_kinds: ContextVar[tuple[type, ...]] = ContextVar("kept_kinds", default=())


MOST = 64  # dimensions of a tensor, arguments of a call
Calls: TypeAlias = "dict[str, Callable[..., Any]]"


def _whole(numbers: Any = ()) -> tuple[int, ...]:
    """A few whole numbers that are not negative."""
    if type(numbers) not in (list, tuple) or len(numbers) > MOST or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError("sizes or strides are invalid")
    return tuple(numbers)


def _parameter(view: Any, requires_grad: Any, *_: Any) -> ParameterOf:
    if not isinstance(view, View) or type(requires_grad) is not bool:
        raise ValueError("a parameter is not a tensor")
    return ParameterOf(view, requires_grad)


def _without_shape(requires_grad: Any = True, place: Any = None, dtype: Any = None) -> WithoutShape:
    if type(requires_grad) is not bool or not (dtype is None or isinstance(dtype, Name)):
        raise ValueError("the description of a parameter without a shape is invalid")
    return WithoutShape(requires_grad, dtype.name if dtype else None)


def _stored(kind: Any, name: Any, key: Any, place: Any, count: Any, view: Any = None) -> Stored:
    words = all(isinstance(word, str) for word in (key, place))
    if kind != "storage" or not isinstance(name, Name) or not words or type(count) is not int or view:
        raise ValueError("the description of a storage is invalid")
    return Stored(name.name, key, place, count)


def _layout(name: Any) -> str:
    if name not in ("torch.sparse_coo", "torch.sparse_csr"):
        raise ValueError("the description of a layout is invalid")
    return str(name)


def _sparse(layout: Any, parts: Any, *_: Any) -> Sparse:
    tensors = {"torch.sparse_coo": 2, "torch.sparse_csr": 3}[_layout(layout)]
    if type(parts) is not tuple or len(parts) not in (tensors + 1, 4):
        raise ValueError("the description of a sparse tensor is invalid")
    if not all(isinstance(x, View) for x in parts[:tensors]) or not all(type(x) is bool for x in parts[tensors + 1 :]):
        raise ValueError("the description of a sparse tensor is invalid")
    return Sparse(layout, (*parts[:tensors], _whole(parts[tensors]), *parts[tensors + 1 :]))


def _place(kind: Any, index: Any = None) -> DeviceName:
    if not isinstance(kind, str) or not (index is None or type(index) is int):
        raise ValueError("the description of a device is invalid")
    name = kind if index is None else f"{kind}:{index}"
    if not re.fullmatch(r"[a-z]{1,30}(:[0-9]{1,3})?", name):
        raise ValueError("the description of a device is invalid")
    return DeviceName(name if kind.startswith("cuda") else "cpu")


def _complex(real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("the description of a complex number is invalid")
    return complex(real, imag)


def _calls(met: Met, room: Room) -> Calls:
    """What may be called; whatever copies what it is given asks for room first."""

    def view(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, *_: Any) -> View:
        (offset,), size, stride = _whole([offset]), _whole(size), _whole(stride)
        if not isinstance(storage, Stored) or type(requires_grad) is not bool or len(size) != len(stride):
            raise ValueError("the description of a tensor is invalid")
        met.views[storage.key] += 1
        return View(storage, offset, size, stride, requires_grad)

    def dict_of(kind: type[dict[Any, Any]], items: Any = ()) -> dict[Any, Any]:
        made = kind()
        pairs = items.items() if isinstance(items, dict) else items
        room.take(ENTRY * len(pairs), "a dict")
        for pair in pairs:
            if type(pair) not in (list, tuple) or len(pair) != 2:
                raise ValueError("the description of a dict is invalid")
            _add(made, [*pair], True)
        return made

    def set_of(items: Any = ()) -> set[Any]:
        if type(items) not in (list, tuple):
            raise ValueError("the description of a set is invalid")
        room.take(ENTRY * len(items), "a set")
        if not all(map(is_key, items)):
            raise _Refused("has a set of other things than text and numbers")
        return set(items)

    def bytes_of(text: Any, encoding: Any) -> bytes:
        if type(text) is not str or encoding != "latin1":
            raise ValueError("the description of bytes is invalid")
        room.take(len(text), "bytes")
        return text.encode(encoding)

    return {
        "torch._utils._rebuild_tensor": view,
        "torch._utils._rebuild_tensor_v2": view,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_parameter_with_state": _parameter,
        "torch.nn.parameter.UninitializedParameter": _without_shape,
        "torch._utils._rebuild_sparse_tensor": _sparse,
        "torch.serialization._get_layout": _layout,
        "torch.Size": _whole,
        "collections.OrderedDict": functools.partial(dict_of, OrderedDict),
        "collections.Counter": functools.partial(dict_of, dict),
        "__builtin__.complex": _complex,
        "__builtin__.set": set_of,
        "_codecs.encode": bytes_of,
        "builtins.complex": _complex,
        "builtins.set": set_of,
        "torch.device": _place,
    }


CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINSTRING"}
VALUES |= {"SHORT_BINSTRING"}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
SIZES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
# Bytes that instructions take in memory at most: objects, and what knows that they were met; an entry of a dict or set.
OBJECT, ENTRY, SLOT = 200, 128, 8
COSTS = dict.fromkeys([*EMPTY, *SIZES, "TUPLE", "GLOBAL", "REDUCE", "NEWOBJ", "BINPERSID"], OBJECT)
COSTS |= {"MARK": 64, "MEMOIZE": ENTRY}


def follow(stream: BinaryIO, path: str, met: Met, room: Room) -> Any:
    """What the pickle at the stream's place describes, made of View and plain things; the stream is behind it then.

    The storages that it speaks of are put into `met`.
    """
    try:
        return _follow(stream, met, room)
    except _Refused as error:
        raise FileFormatError(f"load: {path} {error}") from None
    except FileFormatError:  # no room
        raise
    except Exception as error:  # a forged list of instructions may raise anything
        raise FileFormatError(f"load: {path} is damaged ({reason(error)})") from None


def _follow(stream: BinaryIO, met: Met, room: Room) -> Any:
    stack: list[Any] = []
    below: list[list[Any]] = []  # the stacks under each mark
    memo: dict[int, Any] = {}
    calls = _calls(met, room)
    instruction: pickletools.OpcodeInfo
    value: Any
    for instruction, value, _ in pickletools.genops(stream):
        name = instruction.name
        room.take(COSTS.get(name, SLOT), "what it lists")
        if name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in VALUES:
            room.take(sys.getsizeof(value), "what it lists")
            stack.append(value)
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "MARK":
            below.append(stack)
            stack = []
        elif name == "TUPLE":
            items, stack = stack, below.pop()
            stack.append(tuple(items))
        elif name in SIZES:
            stack[-SIZES[name] :] = [tuple(_last(stack, SIZES[name]))]
        elif name in ("APPENDS", "SETITEMS"):
            items, stack = stack, below.pop()
            if name == "SETITEMS":
                room.take(ENTRY // 2 * len(items), "what it lists")
            _add(stack[-1], items, name == "SETITEMS")
        elif name in ("APPEND", "SETITEM"):
            items = [stack.pop() for _ in range(1 + (name == "SETITEM"))][::-1]
            _add(stack[-1], items, name == "SETITEM")
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if value is None else value] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[value])
        elif name == "GLOBAL":
            stack.append(Name(value.replace(" ", ".")))
        elif name == "BINPERSID":
            stack.append(stored := _stored(*_arguments(stack.pop())))
            if met.storages.setdefault(stored.key, stored) != stored:
                raise ValueError(f"the storage {shown(stored.key)} is of two kinds")
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_called(function, arguments, calls))
        elif name == "BUILD":  # of an OrderedDict, what it has beside its items
            state = stack.pop()
            if isinstance(stack[-1], Instance):
                stack[-1].state = state
            elif not isinstance(stack[-1], dict):
                raise _Refused("sets up an object, which could run code; only PyTorch's tensors are read")
        elif name == "NEWOBJ":
            arguments, kind = stack.pop(), stack.pop()
            stack.append(_new(kind, arguments))
        elif name == "STOP":
            return stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise _Refused(f"has the instruction {name}; PyTorch did not write it")
    raise EOFError("its end is missing")


def _last(stack: Sequence[Any], count: int) -> Sequence[Any]:
    if len(stack) < count:
        raise ValueError("a tuple has too few items")
    return stack[-count:]


def _add(target: Any, items: list[Any], pairs: bool) -> None:
    if not pairs and isinstance(target, list):
        target.extend(items)
        return
    if not pairs or not isinstance(target, dict):
        raise ValueError("items belong to an object that takes none")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not is_key(key):
            raise _Refused(f"has a {type(key).__name__} as a key; use {KEYS}")
        target[key] = value


def _new(kind: Any, arguments: Any) -> Instance:
    if isinstance(kind, Name):
        made = allowed.get(kind.name, known.get().get(kind.name))
        if isinstance(made, type):
            return Instance(functools.partial(made.__new__, made), arguments)
    what = shown(kind.name) if isinstance(kind, Name) else "an object"
    raise _Refused(
        f"holds an object of {what}, which could run code; save a module's state_dict() with PyTorch instead"
    )


def _arguments(arguments: Any) -> tuple[Any, ...]:
    if type(arguments) is not tuple or len(arguments) > MOST:
        raise ValueError("the arguments of a call are invalid")
    return arguments


def _called(function: Any, arguments: Any, calls: Calls) -> Any:
    if isinstance(function, Name) and arguments == () and isinstance(known.get().get(function.name), type):
        return _new(function, arguments)  # a SimpleNamespace that is still empty
    if isinstance(function, Name) and function.name in allowed:
        return Instance(allowed[function.name], arguments)
    if not isinstance(function, Name) or function.name not in calls:
        what = shown(function.name) if isinstance(function, Name) else "an object"
        raise _Refused(f"calls {what}, which could run code; only PyTorch's tensors are read")
    return calls[function.name](*_arguments(arguments))
