"""Anything made of tensors in a file, and what is in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._core import FileFormatError
from ..base.keywords import naming_keywords
from ..base.types import DeviceLike
from ._archives import load_archive, parse_npy, write_archive
from ._arrays import tensor_of, values_of
from ._paths import File, map_location_of, reading, written
from ._room import Room
from ._torch import load_old
from ._torch_files import write_torch
from ._trees import TREE, to_text
from .safetensors import parse_safetensors

__all__ = ["load", "save", "savez"]


@naming_keywords
def save(obj: Any, f: File) -> None:
    """Writes tensors, and what they are nested in, to a file.

    A file at a path is whole or not there: it is written beside its place, then renamed. A path that ends with .pt or
    .pth gets PyTorch's format, which PyTorch's load() reads; there, NumPy's arrays become tensors, and its numbers
    Python's.

    Args:
        obj: dicts, lists and tuples of tensors, NumPy arrays, numbers, strings, bools and None, such as state_dict()
            gives. Keys of dicts may be tuples and numbers too. A tensor that stands in two places is written once.
        f: a path, or a file opened for writing bytes.

    Raises:
        TypeError: something else is in it; the message says where. Of a module, save the state_dict().
        ValueError: nested more than 100 deep, or in itself.

    Example:
        >>> import io
        >>> f = io.BytesIO()
        >>> sg.save({"weight": sg.ones(2), "step": 3}, f)
        >>> sg.load(f)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    if isinstance(f, (str, os.PathLike)) and os.path.splitext(f)[1] in (".pt", ".pth"):
        with written(f) as stream:
            write_torch(stream, obj)
        return
    text, arrays = to_text(obj)
    with written(f) as stream:
        write_archive(stream, {str(i): a for i, a in enumerate(arrays)}, {TREE: text})


@naming_keywords
def load(
    f: File,
    map_location: DeviceLike | Mapping[str, DeviceLike] | None = None,
    weights_only: bool = True,
    *,
    max_bytes: int | None = None,
) -> Any:
    """Reads what `save` wrote; also .npz, .npy, safetensors, and PyTorch's .pt files, without PyTorch.

    Args:
        f: a path, or a file opened for reading bytes, which is read from its beginning.
        map_location: the device of the tensors; or a dict from the device they were on to another one. None: where they
            were, or on the CPU, with a warning, when that device is not here.
        weights_only: only True: a file that needs code to be run is not read.
        max_bytes: how many bytes the content may become in memory. None: 16 times the size of the file, and 64 MiB in
            any case; a small compressed file, or a tensor that expands a few elements, can ask for far more.

    Returns:
        What was saved. Of a .npz or a safetensors file: a dict of tensors; of a .npy: a tensor.

    Raises:
        FileFormatError: the file is damaged, or holds something else.
        ImportError: the library that reads such files is not installed.

    Example:
        >>> import io
        >>> f = io.BytesIO()
        >>> sg.save([sg.arange(3), ("a", None)], f)
        >>> sg.load(f, map_location="cpu")
        [tensor([0, 1, 2]), ('a', None)]
    """
    if not weights_only:
        raise ValueError("load: weights_only=False would run code of the file; spirograd never does")
    at = map_location_of("load", map_location)
    with reading(f) as (stream, path):
        head = stream.read(9)
        stream.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return load_archive(stream, path, at, max_bytes)
        if head.startswith(b"\x93NUMPY"):
            return tensor_of(parse_npy(stream.read(), path, path), at("cpu"), path, path)
        if head.startswith(b"\x80"):  # a pickle: PyTorch before 1.6
            data = stream.read()
            return load_old(data, path, at, Room(path, len(data), max_bytes))
        if head[8:] == b"{":
            return parse_safetensors(stream.read(), path, at)[0]
        raise FileFormatError(
            f"load: {path} starts with {head[:4].hex(' ') or 'nothing'}; that is not a file of save(), NumPy, "
            "safetensors or PyTorch"
        )


def savez(f: File, *args: Any, **kwargs: Any) -> None:
    """Writes tensors as NumPy's .npz, for `load` and `numpy.load`.

    bfloat16, which NumPy does not have, is there as raw elements of two bytes, as `numpy.savez` writes that of
    ml_dtypes: `.view(ml_dtypes.bfloat16)` reads them.

    Args:
        f: a path, or a file opened for writing bytes.
        args: tensors or arrays, named arr_0, arr_1, ...
        kwargs: tensors or arrays by name.

    Raises:
        TypeError: something else.
        ValueError: a name twice.

    Example:
        >>> import io, numpy as np
        >>> f = io.BytesIO()
        >>> sg.savez(f, w=sg.ones(2), b=sg.zeros(1))
        >>> _ = f.seek(0)
        >>> np.load(f)["w"]
        array([1., 1.], dtype=float32)
    """
    named = {f"arr_{i}": x for i, x in enumerate(args)}
    if twice := named.keys() & kwargs.keys():
        raise ValueError(f"savez: the name {min(twice)} belongs to an argument without a name; choose another one")
    arrays = {name: values_of("savez", name, x) for name, x in {**named, **kwargs}.items()}
    with written(f) as stream:
        write_archive(stream, arrays)
