"""Zip archives of .npy files, each step of whose reading is checked."""

from __future__ import annotations

import contextlib
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from .._core import FileFormatError
from ._arrays import RAW, SCALARS, Array, tensor_of
from ._paths import Place
from ._torch import load_torch
from ._trees import TREE, from_text

DEFLATE = 1032  # the most that one byte of a compressed member can become
# What the readers of archives raise about bytes that are not an archive.
DAMAGED = (
    EOFError, KeyError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


def write_archive(stream: BinaryIO, arrays: Mapping[str, Array], texts: Mapping[str, bytes] | None = None) -> None:
    """Uncompressed, and the same bytes for the same content."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, text in (texts or {}).items():
            archive.writestr(zipfile.ZipInfo(name), text)
        for name, array in arrays.items():
            if "\0" in name:
                raise ValueError(f"save: the name {name!r} has a zero in it, which a .npz cannot hold")
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_archive(stream: BinaryIO, path: str, at: Place) -> Any:
    """What save() or numpy.savez() wrote; a file of PyTorch is passed on."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    with refusing(path):
        archive = zipfile.ZipFile(stream)
    members = {m.filename: m for m in archive.infolist()}
    if any(name.endswith("/data.pkl") for name in members):
        stream.seek(0)
        return load_torch(stream, path, at)
    if len(members) != len(archive.infolist()):
        raise FileFormatError(f"load: {path} has a member twice; it is damaged, or made to deceive")
    if sum(m.compress_size for m in members.values()) > size:
        raise FileFormatError(f"load: {path} has members larger than the file; it is damaged, or made to deceive")

    def array(name: str) -> Array:
        return parse_npy(content(name), path, name)

    def content(name: str) -> bytes:
        if name not in members:
            raise FileFormatError(f"load: {path} has no member {name}; the file is damaged")
        member = members[name]
        if TREE in members and member.compress_type != zipfile.ZIP_STORED:
            raise FileFormatError(f"load: {path}: {name} is compressed; save() did not write it")
        if member.file_size > DEFLATE * (member.compress_size + 1):
            raise FileFormatError(f"load: {path}: {name} claims {member.file_size:,} bytes; it is made to deceive")
        with refusing(path):
            return archive.read(member)

    if TREE in members:
        return from_text(content(TREE), path, lambda i: array(f"{i}.npy"), at)
    if odd := [name for name in members if not name.endswith(".npy")]:
        raise FileFormatError(f"load: {path} holds {odd[0][:60]}; that is no file of save() or numpy.savez()")
    return {name[:-4]: tensor_of(array(name), at("cpu"), path, name[:-4]) for name in members}


def parse_npy(data: bytes, path: str, name: str) -> Array:
    """The array of a .npy, read-only. No more is allocated than there are bytes."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"version {version}")
        start = stream.tell()
        if dtype.hasobject:
            raise ValueError("it holds Python objects, which could run code")
        if dtype != RAW and dtype.kind not in SCALARS:
            raise ValueError(f"it is of type {dtype}")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data) - start or not dtype.itemsize:
            raise ValueError(f"{len(data) - start:,} bytes are there for {dtype} {list(shape)}")
        return np.frombuffer(data, dtype, offset=start).reshape(shape, order="F" if fortran else "C")
    except Exception as error:  # whatever NumPy raises about a header that somebody made up
        what = str(error).partition("\n")[0][:200]
        raise FileFormatError(f"load: {path}: {name} is no array that can be read ({what})") from None


@contextlib.contextmanager
def refusing(path: str) -> Iterator[None]:
    """What the readers of archives raise is that the file is damaged."""
    try:
        yield
    except DAMAGED as error:
        raise FileFormatError(f"load: {path} is damaged ({str(error)[:200] or type(error).__name__})") from None
