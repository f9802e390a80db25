"""Tensors as the arrays that a .npy can hold, and back, bit for bit."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import FileFormatError, Tensor, tensor

Array: TypeAlias = npt.NDArray[Any]

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
RAW = np.dtype("V2")  # how bfloat16 lies in a .npy: NumPy has no such type
SCALARS = "?biufcSU"  # kinds of NumPy's arrays that are kept


def values_of(op: str, where: str, x: Any, kinds: str = "?biuf") -> Array:
    """The elements in C order, as a .npy can hold them."""
    if isinstance(x, Tensor):
        x = x.detach()
        if x.dtype.name != "bfloat16":
            return np.asarray(x.numpy(), order="C")
        try:
            bits = x.numpy().view(np.uint16)
        except TypeError:  # without ml_dtypes; float32 holds the same values
            bits = (x.float().numpy().view(np.uint32) >> 16).astype(np.uint16)
        return np.asarray(bits, order="C").view(RAW)
    if not isinstance(x, (np.ndarray, np.generic)):
        raise TypeError(f"{op}: {where} is a {type(x).__name__}; tensors and arrays are kept")
    array = np.asarray(x, order="C")
    if array.dtype.name == "bfloat16":
        return array.view(RAW)
    if array.dtype.kind not in kinds or array.dtype.hasobject:
        raise TypeError(f"{op}: {where} is an array of {array.dtype}; only numbers are kept")
    return array


def shown(name: str, most: int = 60) -> str:
    """A name out of a file, for messages: one line, not too long."""
    return name[:most] if name[:most].isprintable() else ascii(name[:most])


def reason(error: Exception) -> str:
    """What a reader of files raised, which may quote the file, for messages."""
    return shown(str(error), 200) or type(error).__name__


def tensor_of(values: Array, device: _core.Device, path: str, where: str) -> Tensor:
    if values.dtype == RAW:
        bits = values.view(np.uint16)
        try:
            return tensor(bits.view(importlib.import_module("ml_dtypes").bfloat16), device=device)
        except ImportError:
            return tensor((bits.astype(np.uint32) << 16).view(np.float32), dtype="bfloat16", device=device)
    if values.dtype.name not in DTYPES:
        raise FileFormatError(
            f"load: {path}: {shown(where)} is of type {values.dtype}; tensors are of {', '.join(DTYPES)}"
        )
    if values.dtype == np.bool_:
        values = values.view(np.uint8) != 0  # a file may hold other bytes than 0 and 1
    try:
        return tensor(values.astype(values.dtype.newbyteorder("="), copy=False), device=device)
    except ValueError as error:
        raise FileFormatError(f"load: {path}: {shown(where)} is not a tensor ({error})") from None
