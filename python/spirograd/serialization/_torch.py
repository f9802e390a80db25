"""Files of PyTorch, read without PyTorch."""

from __future__ import annotations

import io
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import FileFormatError, Tensor
from .._pickle import place
from ..sparse import SparseTensor, sparse_coo_tensor, sparse_csr_tensor
from ._arrays import DTYPES, RAW, reason, shown, tensor_of
from ._paths import MapLocation
from ._pickles import (
    DeviceName,
    Instance,
    Met,
    Name,
    ParameterOf,
    Sparse,
    Stored,
    View,
    WithoutShape,
    allowed,
    follow,
    kept_kinds,
    known,
)
from ._room import Room
from ._trees import DEPTH

OLD = 0x1950A86A20F9469CFC6C  # files written by PyTorch before 1.6 begin with it
KINDS = ("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double")
ELEMENTS = {
    f"torch.{kind}Storage": RAW if dtype == "bfloat16" else np.dtype(dtype)
    for kind, dtype in zip(KINDS, DTYPES, strict=True)
}
ELEMENTS |= {"torch.ComplexFloatStorage": np.dtype("complex64"), "torch.ComplexDoubleStorage": np.dtype("complex128")}
TYPES = {f"torch.{dtype}": getattr(_core, "bool" if dtype == "bool" else dtype) for dtype in DTYPES}


def load_zip(content: Callable[[str], bytes], path: str, at: MapLocation, room: Room) -> Any:
    """content(name) reads a member beside data.pkl."""
    met = Met()
    found = follow(io.BytesIO(content("data.pkl")), path, met, room)
    return Maker({key: content(f"data/{key}") for key in met.storages}, met, path, at, room).made(found, 0)


def load_old(data: bytes, path: str, at: MapLocation, room: Room) -> Any:
    """Five pickles: a number, the version, the machine, the object, the keys of the storages; then those storages."""
    stream, met = io.BytesIO(data), Met()
    if follow(stream, path, met, room) != OLD:
        raise FileFormatError(f"load: {path} is a pickle, which could run code; only PyTorch's tensors are read")
    _, _, found, keys = (follow(stream, path, met, room) for _ in range(4))
    contents = {}
    for key in keys if isinstance(keys, list) else []:
        width = element(met.storages[key], path).itemsize if isinstance(key, str) and key in met.storages else 0
        contents[key] = stream.read(min(int.from_bytes(stream.read(8), "little") * width, len(data)))
    return Maker(contents, met, path, at, room).made(found, 0)


def element(stored: Stored, path: str) -> np.dtype[Any]:
    if stored.kind not in ELEMENTS:
        raise FileFormatError(f"load: {path} has a {shown(stored.kind)}, whose type spirograd does not have")
    return ELEMENTS[stored.kind]


class Maker:
    """Turns what a pickle describes into tensors on the storages of the file."""

    def __init__(self, contents: dict[str, bytes], met: Met, path: str, at: MapLocation, room: Room) -> None:
        self.contents, self.views, self.path, self.at, self.room = contents, met.views, path, at, room
        self.kept: dict[int, Any] = {}  # what occurs several times is made once
        self.memory: dict[str, Tensor] = {}  # whole storages that several tensors are views of

    def made(self, x: Any, depth: int) -> Any:
        if x is None or isinstance(x, (bool, int, float, complex, str, bytes)):
            return x
        if depth > DEPTH:
            raise FileFormatError(f"load: {self.path} is nested more than {DEPTH} deep, or in itself")
        if id(x) not in self.kept:
            self.kept[id(x)] = self.new(x, depth + 1)
        return self.kept[id(x)]

    def new(self, x: Any, depth: int) -> Any:
        if isinstance(x, View):
            return self.tensor(x)
        if isinstance(x, ParameterOf):
            from ..nn.parameter import Parameter  # most files have none

            return Parameter(self.made(x.view, depth), x.requires_grad)
        if isinstance(x, WithoutShape):
            from ..nn.parameter import UninitializedParameter

            return UninitializedParameter(x.requires_grad, dtype=TYPES.get(x.dtype or ""))
        if isinstance(x, Sparse):
            return self.sparse(x, depth)
        if isinstance(x, DeviceName):
            return place("load", x.name)
        if isinstance(x, set):
            return x
        if isinstance(x, Name) and x.name in TYPES:
            return TYPES[x.name]
        if isinstance(x, dict):
            made = x if type(x) in (dict, *kept_kinds.get()) else {}
            for key, value in x.items():
                made[key] = self.made(value, depth)
            return made
        if type(x) is list:
            for i, part in enumerate(x):
                x[i] = self.made(part, depth)
            return x
        if type(x) is tuple:
            parts = [self.made(part, depth) for part in x]
            return x if all(map(operator.is_, parts, x)) else tuple(parts)
        if isinstance(x, Instance):
            arguments, state = self.made(x.arguments, depth), self.made(x.state, depth)
            try:
                return self.instance(x.make, arguments, state)
            except Exception as error:  # the program's class may raise anything
                raise FileFormatError(f"load: {self.path}: an object cannot be made ({reason(error)})") from error
        if isinstance(x, Name):
            found = allowed.get(x.name, known.get().get(x.name))
            if found is not None:
                return found
        what = shown(x.name if isinstance(x, Name) else type(x).__name__)
        raise FileFormatError(f"load: {self.path} holds {what}; only tensors and plain things are read")

    @staticmethod
    def instance(make: Callable[..., Any], arguments: Any, state: Any) -> Any:
        obj = make(*arguments)
        if state is not None and hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
            return obj
        for part in state if isinstance(state, tuple) else (state,):  # with slots, two dicts
            for name, value in (part or {}).items():
                object.__setattr__(obj, name, value)
        return obj

    def sparse(self, x: Sparse, depth: int) -> SparseTensor:
        parts = [self.made(part, depth) for part in x.parts]
        try:
            if x.layout == "torch.sparse_csr":
                return sparse_csr_tensor(*parts)
            places, values, size, *last = parts
            return sparse_coo_tensor(places, values, size, is_coalesced=last == [True])
        except Exception as error:  # shapes that do not fit may raise anything
            raise FileFormatError(f"load: {self.path}: a sparse tensor is invalid ({reason(error)})") from None

    def tensor(self, view: View) -> Tensor:
        dtype, data = element(view.storage, self.path), self.contents.get(view.storage.key, b"")
        count = math.prod(view.size)
        end = 1 + view.offset + sum((n - 1) * step for n, step in zip(view.size, view.stride, strict=True))
        if len(data) != view.storage.length * dtype.itemsize or (count and end > view.storage.length):
            raise FileFormatError(
                f"load: {self.path}: the tensor {list(view.size)} at {view.offset} lies outside its {len(data):,} "
                "bytes; the file is damaged"
            )
        self.room.take(count * dtype.itemsize, f"the tensor {list(view.size)}")
        where = self.at(view.storage.place if view.storage.place.startswith("cuda") else "cpu")
        if self.views[view.storage.key] > 1 and count and dtype.kind != "c":
            if view.storage.key not in self.memory:
                self.memory[view.storage.key] = tensor_of(np.frombuffer(data, dtype), where, self.path, "a tensor")
            try:
                x = self.memory[view.storage.key].as_strided(view.size, view.stride, view.offset).detach()
            except Exception as error:  # too many dimensions, or useless strides, may raise anything
                raise FileFormatError(f"load: {self.path}: a tensor is invalid ({reason(error)})") from None
            return x.requires_grad_() if view.requires_grad and x.dtype.is_floating_point else x
        strides = [step * dtype.itemsize for step in view.stride]
        try:
            values = np.ndarray(view.size, dtype, data, view.offset * dtype.itemsize if count else 0, strides)
        except (ValueError, OverflowError) as error:  # too many dimensions, or none that NumPy has
            raise FileFormatError(f"load: {self.path}: a tensor is invalid ({reason(error)})") from None
        values = np.ascontiguousarray(values).reshape(view.size)
        if dtype.kind == "c":
            z = _core.as_tensor(values, device=where)
            return z.requires_grad_() if view.requires_grad else z
        x = tensor_of(values, where, self.path, "a tensor")
        return x.requires_grad_() if view.requires_grad and x.dtype.is_floating_point else x
