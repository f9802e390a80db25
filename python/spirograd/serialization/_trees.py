"""Nested things as JSON and arrays; docs/files.md describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core import FileFormatError, Tensor
from ._arrays import RAW, SCALARS, Array, reason, shown, tensor_of, values_of
from ._paths import MapLocation, library

TREE = "tree.json"
VERSION = 1
KEYS = "text, numbers below 2**64 or tuples of at most 1,000 of them"
DEPTH = 100  # how deep things may be nested
PARTS = 1000  # of a key that is a tuple


def to_text(obj: Any) -> tuple[bytes, list[Array]]:
    """The structure of obj, and the arrays in it."""
    writer = Writer()
    tree = writer.tree(obj, "obj", 0)
    document = {"format": "spirograd", "version": VERSION, "tree": tree}
    return json.dumps(document, allow_nan=False).encode(), writer.arrays


def from_text(text: bytes, path: str, array: Callable[[int], Array], at: MapLocation) -> Any:
    """What to_text() was given; array(i) reads the i-th array."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"load: {path}: {TREE} is not JSON ({reason(error)}); the file is damaged") from None
    if not isinstance(found, dict) or found.get("format") != "spirograd" or "tree" not in found:
        raise FileFormatError(f"load: {path}: {TREE} is not one of save()")
    if found.get("version") != VERSION:
        raise FileFormatError(
            f"load: {path} is of version {str(found.get('version'))[:20]}, this spirograd reads {VERSION}; update it"
        )
    return Reader(path, array, at).tree(found["tree"], "obj", 0)


class Writer:
    """Nested things as JSON; arrays are set aside, each once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.numbers: dict[int, int] = {}  # of objects seen before
        self.kept: list[Any] = []  # so that no two of them have one id

    def tree(self, x: Any, where: str, depth: int) -> Any:
        if depth > DEPTH:
            raise too_deep("save", where)
        if x is None or isinstance(x, (bool, str)):
            return x
        if isinstance(x, int):
            return int(x)
        if isinstance(x, float):
            return float(x) if math.isfinite(x) else {"float": repr(float(x))}
        if isinstance(x, list):
            return [self.tree(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(x)]
        if isinstance(x, tuple):
            return {"tuple": [self.tree(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(x)]}
        if isinstance(x, Mapping):
            return {"dict": [self.pair(key, value, where, depth) for key, value in x.items()]}
        if isinstance(x, Tensor):
            number = self.number(x, where)
            about = {"array": number, "dtype": x.dtype.name, "device": str(x.device)}
            return {"tensor": {**about, "requires_grad": True} if x.requires_grad else about}
        if isinstance(x, np.ndarray):
            return {"array": self.number(x, where)}
        if isinstance(x, np.generic):
            return {"scalar": self.number(x, where)}
        raise refused("save", where, x)

    def pair(self, key: Any, value: Any, where: str, depth: int) -> list[Any]:
        if not is_key(key):
            raise bad_key("save", where, key)
        return [self.tree(key, where, depth + 1), self.tree(value, inside(where, key), depth + 1)]

    def number(self, x: Any, where: str) -> int:
        if id(x) not in self.numbers:
            values = values_of("save", where, x, SCALARS)
            self.numbers[id(x)] = len(self.arrays)
            self.arrays.append(values)
            self.kept.append(x)
        return self.numbers[id(x)]


def inside(where: str, key: Any) -> str:
    """What messages call an entry of a dict: of a bounded length, whatever the keys are."""
    return f"{where[-400:]}[{shown(repr(key))}]"


def too_deep(op: str, where: str) -> ValueError:
    return ValueError(f"{op}: {where[:60]}... is nested more than {DEPTH} deep, or in itself")


def bad_key(op: str, where: str, key: Any) -> TypeError:
    return TypeError(f"{op}: {where} has a {type(key).__name__} as a key; use {KEYS}")


def refused(op: str, where: str, x: Any) -> TypeError:
    if hasattr(x, "state_dict"):
        return TypeError(f"{op}: {where} is a {type(x).__name__}, which is code as well; save its state_dict()")
    kept = "tensors, arrays, dicts, lists, tuples, numbers, strings and None"
    return TypeError(f"{op}: {where} is a {type(x).__name__}; only {kept} are kept")


def is_key(x: Any) -> bool:
    """Whether it can be a key. A file chooses the keys, so values that take long to hash or to compare are refused."""
    parts = [x]
    for _ in range(PARTS):
        if not parts:
            return True
        x = parts.pop()
        if isinstance(x, tuple) and len(x) <= PARTS:
            parts.extend(x)
        elif not (x is None or isinstance(x, (float, str)) or (isinstance(x, int) and abs(x) < 1 << 64)):
            return False
    return not parts


class Reader:
    """What Writer wrote, with every step checked."""

    def __init__(self, path: str, array: Callable[[int], Array], at: MapLocation) -> None:
        self.path, self.array, self.at = path, array, at
        self.made: dict[tuple[str, int], Any] = {}

    def tree(self, t: Any, where: str, depth: int) -> Any:
        if depth > DEPTH:
            raise self.bad(where[:60] + "...", f"is nested more than {DEPTH} deep")
        if t is None or isinstance(t, (bool, int, float, str)):
            return t
        if isinstance(t, list):
            return [self.tree(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(t)]
        if not isinstance(t, dict) or len(t) != 1:
            raise self.bad(where, "is not of one kind")
        ((kind, value),) = t.items()
        if kind == "float" and value in ("nan", "inf", "-inf"):
            return float(value)
        if kind == "tuple" and isinstance(value, list):
            return tuple(self.tree(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(value))
        if kind == "dict" and isinstance(value, list):
            return self.pairs(value, where, depth)
        if kind == "tensor" and isinstance(value, dict):
            return self.once(kind, value.get("array"), where, lambda a: self.tensor(a, value, where))
        if kind == "array":
            return self.once(kind, value, where, lambda a: self.numbers(a).copy())
        if kind == "scalar":
            return self.once(kind, value, where, lambda a: self.numbers(a)[()])
        raise self.bad(where, f"has the kind {str(kind)[:20]!r}, which is unknown or does not fit its content")

    def pairs(self, pairs: list[Any], where: str, depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.bad(where, "has an entry that is not a pair")
            key = self.tree(pair[0], where, depth + 1)
            if not is_key(key) or key in made:
                raise self.bad(where, f"has the key {str(key)[:40]!r}, which is invalid or occurs twice")
            made[key] = self.tree(pair[1], inside(where, key), depth + 1)
        return made

    def once(self, kind: str, number: Any, where: str, make: Callable[[Array], Any]) -> Any:
        if type(number) is not int:
            raise self.bad(where, "has no number of an array")
        if (kind, number) not in self.made:
            self.made[kind, number] = make(self.array(number))
        return self.made[kind, number]

    def numbers(self, array: Array) -> Array:
        return array.view(library("load", "ml_dtypes").bfloat16) if array.dtype == RAW else array

    def tensor(self, array: Array, about: dict[str, Any], where: str) -> Tensor:
        dtype, device = about.get("dtype"), about.get("device")
        if not isinstance(device, str) or dtype != ("bfloat16" if array.dtype == RAW else array.dtype.name):
            raise self.bad(where, f"is a tensor of type {str(dtype)[:20]} in an array of {array.dtype}")
        x = tensor_of(array, self.at(device), self.path, where)
        return x.requires_grad_() if about.get("requires_grad") is True and x.dtype.is_floating_point else x

    def bad(self, where: str, what: str) -> FileFormatError:
        return FileFormatError(f"load: {self.path}: {where} {what}; the file is damaged, or save() did not write it")
