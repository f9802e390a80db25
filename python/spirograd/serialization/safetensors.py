"""Named tensors in the format of Hugging Face, through its library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from .._core import FileFormatError, Tensor
from ..base.keywords import naming_keywords
from ..base.types import DeviceLike
from ._arrays import DTYPES, RAW, reason, shown, tensor_of, values_of
from ._paths import File, MapLocation, library, map_location_of, reading, written

__all__ = ["load_safetensors", "save_safetensors"]

NAMES = dict(zip(("BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"), DTYPES, strict=True))


@naming_keywords
def save_safetensors(tensors: Mapping[str, Any], f: File, metadata: Mapping[str, str] | None = None) -> None:
    """Writes named tensors as safetensors, which Hugging Face and others read.

    Args:
        tensors: by name, as state_dict() gives them; arrays are taken too.
        f: a path, or a file opened for writing bytes.
        metadata: text by name.

    Raises:
        ImportError: the `safetensors` library is not installed; `pip install spirograd[io]`.
        TypeError: something else than tensors, or than text.

    Example:
        >>> import io
        >>> f = io.BytesIO()
        >>> sg.save_safetensors({"weight": sg.ones(2)}, f, {"epoch": "3"})
        >>> sg.load_safetensors(f, return_metadata=True)
        ({'weight': tensor([1., 1.])}, {'epoch': '3'})
    """
    safe = library("save_safetensors", "safetensors.numpy")
    notes = dict(metadata or {})
    for key, value in notes.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"save_safetensors: the metadata {key!r} is a {type(value).__name__}; only text is kept")
    arrays = {}
    for name, x in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"save_safetensors: the name {name!r} is a {type(name).__name__}; use text")
        values = values_of("save_safetensors", name, x)
        if values.dtype == RAW:
            values = values.view(library("save_safetensors", "ml_dtypes").bfloat16)
        arrays[name] = values
    data = safe.save(arrays, notes or None)
    with written(f) as stream:
        stream.write(data)


@overload
def load_safetensors(
    f: File,
    map_location: DeviceLike | Mapping[str, DeviceLike] | None = None,
    *,
    return_metadata: Literal[False] = False,
) -> dict[str, Tensor]: ...
@overload
def load_safetensors(
    f: File, map_location: DeviceLike | Mapping[str, DeviceLike] | None = None, *, return_metadata: Literal[True]
) -> tuple[dict[str, Tensor], dict[str, str]]: ...
@naming_keywords
def load_safetensors(
    f: File, map_location: DeviceLike | Mapping[str, DeviceLike] | None = None, *, return_metadata: bool = False
) -> dict[str, Tensor] | tuple[dict[str, Tensor], dict[str, str]]:
    """Reads the tensors of a safetensors file.

    Args:
        f: a path, or a file opened for reading bytes.
        map_location: the device of the tensors; the CPU when None.
        return_metadata: also give the text of the file's header.

    Returns:
        Tensors by name; and text by name.

    Raises:
        ImportError: the `safetensors` library is not installed; `pip install spirograd[io]`.
        FileFormatError: the file is damaged, or has a type that spirograd does not have.
    """
    with reading(f) as (stream, path):
        tensors, metadata = parse_safetensors(stream.read(), path, map_location_of("load_safetensors", map_location))
    return (tensors, metadata) if return_metadata else tensors


def parse_safetensors(data: bytes, path: str, at: MapLocation) -> tuple[dict[str, Tensor], dict[str, str]]:
    safe = library("load", "safetensors")
    try:
        found = safe.deserialize(data)  # checks sizes and places
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    except (safe.SafetensorError, ValueError, RecursionError) as error:
        raise FileFormatError(f"load: {path} is not a whole safetensors file ({reason(error)})") from None
    tensors = {}
    for name, entry in found:
        if entry["dtype"] not in NAMES:
            raise FileFormatError(
                f"load: {path} has {shown(name)} of type {entry['dtype']}, which spirograd does not have"
            )
        dtype = NAMES[entry["dtype"]]
        values = np.frombuffer(entry["data"], RAW if dtype == "bfloat16" else dtype).reshape(entry["shape"])
        tensors[name] = tensor_of(values, at("cpu"), path, name)
    return tensors, metadata
