"""The pickles in PyTorch's files, as data.

A pickle is a list of instructions. Those that make tensors, and what they are nested in, are followed here. There are
no others, so nothing that a file names is ever imported or called, but for what a program has put into `allowed`.
"""

from __future__ import annotations

import functools
import pickletools
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, BinaryIO, NamedTuple

from .._core import FileFormatError
from ._arrays import reason, shown
from ._trees import is_key


class Name(NamedTuple):
    """A class or function that the file refers to."""

    name: str


class DeviceName(NamedTuple):
    """A device."""

    name: str


class Stored(NamedTuple):
    """Memory that the file holds under a key: its class, such as torch.FloatStorage, where it was, and its number of
    elements."""

    kind: str
    key: str
    place: str
    length: int


class View(NamedTuple):
    """A tensor on such memory, counted in elements."""

    storage: Stored
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool


class Sparse(NamedTuple):
    """A sparse tensor of such tensors, and its layout."""

    layout: str
    parts: tuple[Any, ...]


class Instance:
    """An object that something allowed makes from arguments, and what it is set up with then."""

    def __init__(self, make: Callable[..., Any], arguments: Any) -> None:
        self.make, self.arguments, self.state = make, arguments, None


allowed: dict[str, Any] = {}  # classes and functions, by module and name
# Kinds of dicts that do not become plain ones.
kept_kinds: ContextVar[tuple[type, ...]] = ContextVar("kept_kinds", default=())


def _view(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, *_: Any) -> View:
    if not isinstance(storage, Stored) or type(requires_grad) is not bool or len(size) != len(stride):
        raise ValueError("a tensor is not described as such")
    if not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)):
        raise ValueError("a tensor has sizes or strides that are none")
    return View(storage, offset, tuple(size), tuple(stride), requires_grad)


def _parameter(view: Any, requires_grad: Any, *_: Any) -> View:
    if not isinstance(view, View) or type(requires_grad) is not bool:
        raise ValueError("a parameter is not a tensor")
    return view._replace(requires_grad=requires_grad)


def _stored(kind: Any, name: Any, key: Any, place: Any, count: Any, view: Any = None) -> Stored:
    words = all(isinstance(word, str) for word in (key, place))
    if kind != "storage" or not isinstance(name, Name) or not words or type(count) is not int or view:
        raise ValueError("a storage is not described as such")
    return Stored(name.name, key, place, count)


def _sparse(layout: Any, parts: Any, *_: Any) -> Sparse:
    tensors = {"torch.sparse_coo": 2, "torch.sparse_csr": 3}.get(layout, 0)
    if not tensors or len(parts) not in (tensors + 1, 4) or not all(isinstance(x, View) for x in parts[:tensors]):
        raise ValueError("a sparse tensor is not described as such")
    return Sparse(layout, tuple(parts))


def _place(kind: Any, index: Any = None) -> DeviceName:
    name = kind if index is None else f"{kind}:{index}"
    if not isinstance(kind, str) or not re.fullmatch(r"[a-z]+(:[0-9]{1,3})?", name):
        raise ValueError("a device is not described as such")
    return DeviceName(name if kind.startswith("cuda") else "cpu")


def _bytes(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise ValueError("bytes are not described as such")
    return text.encode(encoding)


def _set(items: Any = ()) -> set[Any]:
    if not all(is_key(x) for x in items):
        raise FileFormatError("has a set of other things than text and numbers")
    return set(items)


CALLS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _view,
    "torch._utils._rebuild_tensor_v2": _view,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch.serialization._get_layout": str,
    "torch.Size": tuple,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": dict,
    "__builtin__.complex": complex,
    "__builtin__.set": _set,
    "_codecs.encode": _bytes,
    "builtins.complex": complex,
    "builtins.set": _set,
    "torch.device": _place,
}
CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = {
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINSTRING",
    "SHORT_BINSTRING",
}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
SIZES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def follow(stream: BinaryIO, path: str, met: dict[str, Stored]) -> Any:
    """What the pickle at the stream's place describes, made of View and plain things; the stream is behind it then.

    The storages that it speaks of are put into `met`, by their keys.
    """
    try:
        return _follow(stream, met)
    except FileFormatError as error:
        raise FileFormatError(f"load: {path} {error}") from None
    except Exception as error:  # whatever a made-up list of instructions leads to
        raise FileFormatError(f"load: {path} is damaged ({reason(error)})") from None


def _follow(stream: BinaryIO, met: dict[str, Stored]) -> Any:
    stack: list[Any] = []
    below: list[list[Any]] = []  # the stacks under each mark
    memo: dict[int, Any] = {}
    instruction: pickletools.OpcodeInfo
    value: Any
    for instruction, value, _ in pickletools.genops(stream):
        name = instruction.name
        if name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in VALUES:
            stack.append(value)
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "MARK":
            below.append(stack)
            stack = []
        elif name == "TUPLE":
            stack = [*below.pop(), tuple(stack)]
        elif name in SIZES:
            stack[-SIZES[name] :] = [tuple(_last(stack, SIZES[name]))]
        elif name in ("APPENDS", "SETITEMS"):
            items, stack = stack, below.pop()
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
            stack.append(stored := _stored(*stack.pop()))
            if met.setdefault(stored.key, stored) != stored:
                raise ValueError(f"the storage {shown(stored.key)} is of two kinds")
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_called(function, arguments))
        elif name == "BUILD":  # of an OrderedDict, what it has beside its items
            state = stack.pop()
            if isinstance(stack[-1], Instance):
                stack[-1].state = state
            elif not isinstance(stack[-1], dict):
                raise FileFormatError("sets up an object, which could run code; only tensors of PyTorch are read")
        elif name == "NEWOBJ":
            arguments, kind = stack.pop(), stack.pop()
            stack.append(_new(kind, arguments))
        elif name == "STOP":
            return stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise FileFormatError(f"has the instruction {name}; PyTorch did not write it")
    raise EOFError("the end is missing")


def _last(stack: Sequence[Any], count: int) -> Sequence[Any]:
    if len(stack) < count:
        raise ValueError("a tuple of too few")
    return stack[-count:]


def _add(target: Any, items: list[Any], pairs: bool) -> None:
    if not pairs and isinstance(target, list):
        target.extend(items)
        return
    if not pairs or not isinstance(target, dict):
        raise ValueError("items for something else")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not is_key(key):
            raise FileFormatError(f"has a {type(key).__name__} as a key; use text, numbers or tuples of them")
        target[key] = value


def _new(kind: Any, arguments: Any) -> Instance:
    if isinstance(kind, Name) and isinstance(allowed.get(kind.name), type):
        return Instance(functools.partial(allowed[kind.name].__new__, allowed[kind.name]), arguments)
    what = shown(kind.name) if isinstance(kind, Name) else "an object"
    raise FileFormatError(
        f"holds an object of {what}, which could run code; save a module's state_dict() with PyTorch instead"
    )


def _called(function: Any, arguments: Any) -> Any:
    if isinstance(function, Name) and function.name in allowed:
        return Instance(allowed[function.name], arguments)
    if not isinstance(function, Name) or function.name not in CALLS:
        what = shown(function.name) if isinstance(function, Name) else "an object"
        raise FileFormatError(f"calls {what}, which could run code; only tensors of PyTorch are read")
    return CALLS[function.name](*arguments)
