"""Files, and the devices and libraries that they name."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, BinaryIO, TypeAlias, cast

from .. import _core
from .._pickle import place

File: TypeAlias = "str | os.PathLike[str] | BinaryIO | IO[bytes]"
MapLocation: TypeAlias = Callable[[str], "_core.Device"]  # where a tensor goes that was on the device of this name


@contextlib.contextmanager
def written(f: File) -> Iterator[BinaryIO]:
    """Opens the file for writing: the given one, or one beside the path that replaces it once everything is on disk.

    Who may read and write it stays as it was; of a new file, the system's mask says so.
    """
    if not isinstance(f, (str, os.PathLike)):
        yield cast(BinaryIO, f)
        return
    path = os.path.realpath(f)
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe, which cannot seek; a folder raises
        with open(path, "wb") as stream:
            yield (whole := io.BytesIO())
            stream.write(whole.getvalue())
        return
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
    try:
        with _created(part, path) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    with contextlib.suppress(OSError, AttributeError):  # the name, where a folder can be synchronised
        entry = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def _created(part: str, path: str) -> BinaryIO:
    """A new file with the mode of the one that it will replace; nobody else reads it meanwhile."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return open(part, "xb")
    stream = open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    try:
        os.chmod(part, mode)
    except BaseException:
        stream.close()
        raise
    return stream


@contextlib.contextmanager
def reading(f: File) -> Iterator[tuple[BinaryIO, str]]:
    """The file, at its beginning, and its name in errors."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            yield stream, name_of(f)
    else:
        f.seek(0)
        yield cast(BinaryIO, f), name_of(f)


def name_of(f: File) -> str:
    """The file's name in errors."""
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else str(getattr(f, "name", "the file"))


def map_location_of(op: str, map_location: Any) -> MapLocation:
    """The device that map_location gives."""
    if map_location is None:
        return lambda name: place(op, name)
    if isinstance(map_location, Mapping):
        table = {str(k): v for k, v in map_location.items()}
        return lambda name: _core.device(table[name]) if name in table else place(op, name)
    if isinstance(map_location, (str, _core.Device)):
        device = _core.device(map_location)
        return lambda _: device
    raise TypeError(f"{op}: map_location is a {type(map_location).__name__}; use a device, or a dict of devices")


def library(op: str, name: str) -> Any:
    """A module of the io extra."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{op}: {name.partition('.')[0]} is not installed; pip install spirograd[io]") from None
