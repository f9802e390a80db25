"""Zip archives of .npy files, each step of whose reading is checked."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from .._core import FileFormatError
from ._arrays import RAW, SCALARS, Array, reason, shown, tensor_of
from ._paths import MapLocation
from ._room import Room
from ._torch import load_zip
from ._trees import TREE, from_text

END = struct.Struct("<4sIHHIIH")  # the last record of an archive
MANY = 0xFFFF  # it does not hold the number of members, another record does
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
                raise ValueError(f"save: the name {name!r} has a null character, which a .npz cannot hold")
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_archive(stream: BinaryIO, path: str, at: MapLocation, max_bytes: int | None) -> Any:
    """Reads what save(), numpy.savez() or PyTorch wrote."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    room = Room(path, size, max_bytes)
    with refusing(path):
        archive = zipfile.ZipFile(stream)
    members = {m.filename: m for m in archive.infolist()}
    if not whole(stream, size, len(archive.infolist())):
        raise FileFormatError(f"load: {path} lacks members that its last record lists; it is damaged")
    if len(members) != len(archive.infolist()):
        raise FileFormatError(f"load: {path} has a member twice; it is damaged, or made to deceive")
    if sum(m.compress_size for m in members.values()) > size:
        raise FileFormatError(f"load: {path} has members larger than the file; it is damaged, or made to deceive")

    def array(name: str) -> Array:
        return parse_npy(content(name), path, name)

    def content(name: str, packed: bool = False) -> bytes:
        if name not in members:
            raise FileFormatError(f"load: {path} has no member {shown(name)}; the file is damaged")
        member = members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED):
            raise FileFormatError(f"load: {path}: {shown(name)} is compressed, which files of this kind are not")
        room.take(member.file_size, shown(name))
        with refusing(path):
            return archive.read(member)

    if TREE in members:
        return from_text(content(TREE), path, lambda i: array(f"{i}.npy"), at)
    if pickled := [name for name in members if name.endswith("/data.pkl")]:
        folder = pickled[0].removesuffix("data.pkl")
        if f"{folder}byteorder" in members and content(f"{folder}byteorder") != b"little":
            raise FileFormatError(f"load: {path} was written by a big-endian machine; write it again on another one")
        return load_zip(lambda name: content(folder + name), path, at, room)
    if odd := [name for name in members if not name.endswith(".npy")]:
        raise FileFormatError(
            f"load: {path} holds {shown(odd[0])}; that is not a file of save(), numpy.savez() or PyTorch"
        )
    arrays = {name[:-4]: parse_npy(content(name, packed=True), path, name) for name in members}
    return {name: tensor_of(values, at("cpu"), path, name) for name, values in arrays.items()}


def parse_npy(data: bytes, path: str, name: str) -> Array:
    """The array of a .npy, read-only. Allocates no more than the bytes that are there."""
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
    except Exception as error:  # NumPy may raise anything for a forged header
        what = str(error).partition("\n")[0][:200]
        raise FileFormatError(f"load: {path}: {shown(name)} is not an array that can be read ({what})") from None


def whole(stream: BinaryIO, size: int, members: int) -> bool:
    """Whether the list of members has the place and length in the last record; ZipFile would accept a part of it."""
    stream.seek(max(0, size - END.size))
    mark, disks, here, count, length, start, comment = END.unpack(stream.read(END.size).ljust(END.size))
    if mark != b"PK\5\6" or disks or comment or here != count or count not in (members, MANY):
        return False
    stream.seek(start + length)
    return count == MANY or stream.read(4) in (b"PK\5\6", b"PK\6\6")


@contextlib.contextmanager
def refusing(path: str) -> Iterator[None]:
    """Turns the errors of the readers of archives into one that says that the file is damaged."""
    try:
        yield
    except DAMAGED as error:
        raise FileFormatError(f"load: {path} is damaged ({reason(error)})") from None
