"""torch.serialization: load() never runs code of a file, so classes need no permission; those of others are refused."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import serialization
from ..._core import Tensor
from ...nn import Module
from ...serialization._paths import written
from ...serialization._torch_files import STORAGES, Pickle, write_torch

__all__ = ["DEFAULT_PROTOCOL", "MAP_LOCATION", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load"]
__all__ += ["safe_globals", "save"]

MAP_LOCATION = Any
DEFAULT_PROTOCOL = 2


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, **options: Any) -> None:
    """Writes a file in PyTorch's format, whatever its name; the arguments about pickles choose nothing.

    Objects of other classes are pickled, as in PyTorch; load() refuses them, because reading them runs code.

    Raises:
        TypeError: a module or what holds tensors in a way of its own; or what cannot be pickled.
    """
    with written(f) as stream:
        write_torch(stream, obj, _Pickle())


class _Pickle(Pickle):
    def other(self, x: Any, where: str) -> None:
        if isinstance(x, Module):
            super().other(x, where)
        stream = io.BytesIO()
        pickler = _WithoutTensors(stream, 2)
        pickler.fast = True  # no numbers of its own for what was met
        try:
            pickler.dump(x)
        except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"save: {where} is a {type(x).__name__}, which cannot be pickled: {error}") from None
        self.code += stream.getvalue()[2:-1]  # without the number of the protocol and the end

    def tensor(self, x: Any, where: str) -> None:
        if isinstance(x, np.ndarray) and x.dtype.name not in STORAGES:
            self.other(x, where)
        else:
            super().tensor(x, where)


class _WithoutTensors(pickle.Pickler):
    def persistent_id(self, obj: Any) -> None:
        if isinstance(obj, Tensor):
            raise TypeError("it holds tensors; save their state_dict()")


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, **options: Any
) -> Any:
    """spirograd's load(), which never runs code of a file, also with weights_only=False.

    Args:
        f: a path, or a file opened for reading bytes.
        map_location: a device, a dict of devices, or a function of a storage and the name of its place.
        pickle_module: accepted.
        weights_only: accepted.
        options: `mmap` and other ways to read, which choose nothing.

    Raises:
        FileFormatError: the file holds something else than tensors and plain values.
    """
    if callable(map_location):
        map_location = map_location(_Storage(), "cpu")
        if isinstance(map_location, _Storage):
            map_location = "cpu"
    return serialization.load(f, map_location)


class _Storage:
    """What a map_location function is given: it names a place."""

    def cpu(self) -> str:
        return "cpu"

    def cuda(self, device: int = 0) -> str:
        return f"cuda:{device}"


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Accepted; a file that needs such a class is refused by load()."""


def get_safe_globals() -> list[Any]:
    """None."""
    return []


def clear_safe_globals() -> None:
    """Accepted: there are none."""


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A context in which nothing changes; a file that needs such a class is refused by load()."""
    yield
