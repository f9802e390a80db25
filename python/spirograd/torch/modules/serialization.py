"""torch.serialization: load() makes tensors, plain values and objects of classes that the program allows."""

from __future__ import annotations

import codecs
import contextlib
import inspect
import pickle
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import nn, serialization
from ..._core import Device, FileFormatError, Tensor, dtype
from ...base.stand_in import StandIn
from ...nn import Module, _recurrence
from ...serialization._paths import written
from ...serialization._pickles import allowed, kept_kinds, known
from ...serialization._torch_files import STORAGES, Pickle, write_torch
from ..layouts import Size
from ..moved import former
from ..names import module_of

__all__ = ["DEFAULT_PROTOCOL", "MAP_LOCATION", "add_safe_globals", "clear_safe_globals", "default_restore_location"]
__all__ += ["get_safe_globals", "load"]
__all__ += ["safe_globals", "save"]

MAP_LOCATION = Any
DEFAULT_PROTOCOL = 2


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, **options: Any) -> None:
    """Writes a file in PyTorch's format, whatever its name; the arguments about pickles choose nothing.

    Objects of other classes are pickled, as in PyTorch; load() makes those of add_safe_globals() alone.

    So are modules: their classes, attributes and tensors, which load() reads without running anything.

    Raises:
        TypeError: what cannot be pickled.
    """
    with written(f) as stream:
        write_torch(stream, obj, _Pickle())


class _Pickle(Pickle):
    def empty_dict(self, x: Mapping[Any, Any]) -> None:
        if isinstance(x, OrderedDict):
            self.name("collections", "OrderedDict")
            self.code += b")R"
        else:
            super().empty_dict(x)

    def other(self, x: Any, where: str) -> None:
        if isinstance(x, Module) and id(x) in self.numbers:
            self.code += b"j" + struct.pack("<I", self.numbers[id(x)])
            return
        if isinstance(x, Device):
            self.call("torch", "device", [x.type] if x.index is None else [x.type, x.index], where)
            return
        if isinstance(x, dtype):
            self.name("torch", x.name)
            return
        try:
            _Objects(self, where, x).save(x)
        except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"save: {where} is a {type(x).__name__}, which cannot be pickled: {error}") from None
        if isinstance(x, Module):
            self.met(x)

    def tensor(self, x: Any, where: str) -> None:
        if isinstance(x, np.ndarray) and x.dtype.name not in STORAGES:
            self.other(x, where)
        else:
            super().tensor(x, where)


class _Objects(pickle._Pickler):
    """Adds objects of any class to what a writer writes, and leaves tensors to it."""

    def __init__(self, writer: _Pickle, where: str, module: Any) -> None:
        super().__init__(SimpleNamespace(write=writer.code.extend), 2)
        self.fast = True  # no numbers of its own for what was met
        self.writer, self.where, self.module = writer, where, module

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        is_apart = isinstance(obj, Module) and obj is not self.module
        if is_apart or isinstance(obj, (Tensor, StandIn, Device, dtype)):
            self.writer.write(obj, self.where, 0)
        else:
            super().save(obj, save_persistent_id)  # type: ignore[misc]


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, **options: Any
) -> Any:
    """spirograd's load(), which never runs code of a file, also with weights_only=False; of add_safe_globals() it does.

    Modules of torch.nn are made from their attributes, without a call; with weights_only=False also those of the
    classes that the program has by then.

    Args:
        f: a path, or a file opened for reading bytes.
        map_location: a device, a dict of devices, or a function of a storage and the name of its place.
        pickle_module: accepted.
        weights_only: False for modules of the program's own classes.
        options: `mmap` and other ways to read, which choose nothing.

    Raises:
        FileFormatError: the file holds something else than tensors, plain values and what add_safe_globals() allows.
    """
    if callable(map_location):
        map_location = map_location(_Storage(), "cpu")
        if isinstance(map_location, _Storage):
            map_location = "cpu"
    before, known_before = kept_kinds.set((OrderedDict,)), known.set(_known(weights_only is False))
    try:
        return serialization.load(f, map_location)
    except FileFormatError as error:
        if "which could run code" not in str(error):
            raise
        raise FileFormatError(f"{error}, or allow its class: torch.serialization.add_safe_globals([...])") from None
    finally:
        kept_kinds.reset(before)
        known.reset(known_before)


class _Storage:
    """What a map_location function is given: it names a place."""

    def cpu(self) -> str:
        return "cpu"

    def cuda(self, device: int = 0) -> str:
        return f"cuda:{device}"


def default_restore_location(storage: Any, location: str) -> Any:
    """What a map_location function gives for a place by name."""
    return location


_chosen: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows load() to make objects of classes, and to call functions: each by its own name, or a pair with another."""
    _chosen.extend(part for part in safe_globals if part not in _chosen)
    _allow()


def get_safe_globals() -> list[Any]:
    """What is allowed."""
    return list(_chosen)


def clear_safe_globals() -> None:
    """Allows nothing any more."""
    _chosen.clear()
    _allow()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A context in which more is allowed."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _chosen[:] = before
        _allow()


def _known(own: bool) -> dict[str, Any]:
    """The classes of torch.nn and what their attributes refer to: rules of recurrent layers, functions. And the modules
    and namespaces of the program's own."""
    kinds = [Size, *(value for value in vars(_recurrence).values() if isinstance(value, type))]
    todo: list[type] = [Module, SimpleNamespace] if own else [Module]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if own or module_of(kind).startswith("torch.nn."):
            kinds.append(kind)
    functions = [f for f in vars(nn.functional).values() if inspect.isroutine(f)]
    named: dict[Any, Any] = {
        (place, f.__name__): f for f in functions for place in ("torch", "torch.nn.functional", f.__module__)
    }
    named |= {(place, kind.__name__): kind for kind in kinds for place in (module_of(kind), kind.__module__)}
    named |= {(place, kind.__name__): kind for kind in kinds if own for place in former(kind)}
    return {".".join(names): value for names, value in named.items()}


def _allow() -> None:
    allowed.clear()
    if _chosen:
        allowed["_codecs.encode"] = codecs.encode  # makes bytes, which NumPy's numbers are in a pickle
    for part in _chosen:
        made, name = part if isinstance(part, tuple) else (part, f"{part.__module__}.{part.__qualname__}")
        allowed[name] = made
        allowed.update({f"{place}.{made.__name__}": made for place in former(made)})
