"""Writes files as PyTorch does, without PyTorch: for tests, and for what the fuzzer changes."""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections import OrderedDict
from typing import Any
from unittest import mock

import numpy as np

from .archives import zipped

KINDS = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
}  # fmt: skip
OLD = 0x1950A86A20F9469CFC6C


class Part:
    """A tensor on a storage of its own or a shared one: what PyTorch's pickle says of it."""

    def __init__(self, storage: Any, size: Any = None, stride: Any = None, offset: Any = 0, **more: Any) -> None:
        self.storage = storage
        self.size = storage.shape if size is None else size
        self.stride = tuple(s // storage.itemsize for s in storage.strides) if stride is None else stride
        self.offset, self.requires_grad = offset, more.get("requires_grad", False)
        self.parameter, self.kind, self.count = more.get("parameter", False), more.get("kind"), more.get("count")


def _module(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in members.items():
        value.__module__, value.__qualname__, value.__name__ = name, key, key
        setattr(module, key, value)
    return module


def _rebuild(*_: Any) -> None: ...


def _parameter(*_: Any) -> None: ...


STORAGES = {f"{k}Storage": type(f"{k}Storage", (), {}) for k in [*KINDS.values(), "QInt8", "Untyped"]}
MODULES = {
    "torch": _module("torch", **STORAGES),
    "torch._utils": _module("torch._utils", _rebuild_tensor_v2=_rebuild, _rebuild_parameter=_parameter),
}


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, old: bool) -> None:
        super().__init__(stream, protocol=2)
        self.storages: dict[str, Any] = {}
        self.old = old

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Storage):
            return None
        part, array = obj.part, obj.part.storage
        key = next((k for k, a in self.storages.items() if a is array), str(len(self.storages)))
        self.storages[key] = array
        kind = STORAGES[f"{part.kind or KINDS[array.dtype.name]}Storage"]
        return ("storage", kind, key, "cpu", array.size if part.count is None else part.count, *([None] * self.old))

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Part):
            return NotImplemented
        if obj.parameter:
            plain = Part(obj.storage, obj.size, obj.stride, obj.offset)
            return _parameter, (plain, obj.requires_grad, OrderedDict())
        hooks: OrderedDict[Any, Any] = OrderedDict()
        return _rebuild, (_Storage(obj), obj.offset, obj.size, obj.stride, obj.requires_grad, hooks)


class _Storage:
    def __init__(self, part: Part) -> None:
        self.part = part


def torch_file(obj: Any, old: bool = False, **members: bytes) -> bytes:
    """What torch.save(obj) writes; `old`: before 1.6. `members` are put into the archive too, or replace its own."""
    with mock.patch.dict(sys.modules, MODULES):
        text = io.BytesIO()
        pickler = _Pickler(text, old)
        pickler.dump(obj)
    contents = {key: np.ascontiguousarray(a).tobytes() for key, a in pickler.storages.items()}
    if old:
        parts = [pickle.dumps(x, 2) for x in (OLD, 1001, {"little_endian": True})]
        parts += [text.getvalue(), pickle.dumps(list(contents), 2)]
        sizes = [a.size.to_bytes(8, "little") for a in pickler.storages.values()]
        return b"".join(parts) + b"".join(n + c for n, c in zip(sizes, contents.values(), strict=True))
    files = {"data.pkl": text.getvalue(), "byteorder": b"little", "version": b"3\n"}
    files |= {f"data/{key}": c for key, c in contents.items()} | members
    return zipped({f"archive/{name}": data for name, data in files.items()})
