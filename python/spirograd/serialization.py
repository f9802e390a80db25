"""Tensors in files. Loading never runs code: what a file holds is numbers, text, and how they are nested.

`save` writes an archive that NumPy reads too: a .npz with a member `tree.json`, which says how things are nested, and a
member `NUMBER.npy` for each array. docs/files.md describes it. `load` also reads plain .npz and .npy, safetensors, and,
where PyTorch is installed, its .pt files.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import FileFormatError, Tensor
from ._pickle import place

if TYPE_CHECKING:
    from ._types import DeviceLike
    from .nn import Module

__all__ = ["load", "load_safetensors", "load_weights", "save", "save_safetensors", "save_weights", "savez"]

File: TypeAlias = "str | os.PathLike[str] | BinaryIO | IO[bytes]"
Array: TypeAlias = npt.NDArray[Any]
Place: TypeAlias = Callable[[str], "_core.Device"]  # where a tensor goes that was on the device of this name

_TREE = "tree.json"
_VERSION = 1
_DEPTH = 100  # how deep things may be nested
_RAW = np.dtype("V2")  # how bfloat16 lies in a .npy: NumPy has no such type
_SCALARS = "?biufcSU"  # kinds of NumPy arrays that are kept
_DEFLATE = 1032  # the most that one byte of a compressed member can become
_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_SAFE = dict(zip(("BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"), _DTYPES, strict=True))
# What the readers of archives raise about bytes that are not an archive.
_DAMAGED = (
    EOFError, KeyError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


# --- save and load ----------------------------------------------------------------------------------------------------


def save(obj: Any, f: File) -> None:
    """Writes tensors, and what they are nested in, to a file.

    A file at a path is whole or not there: it is written beside its place, then renamed.

    Args:
        obj: dicts, lists and tuples of tensors, NumPy arrays, numbers, strings, bools and None, such as state_dict()
            gives. Keys of dicts may be tuples and numbers too. A tensor that stands in two places is written once.
        f: a path, or a file opened for writing bytes.

    Raises:
        TypeError: something else is in it; the message says where.
        ValueError: nested more than 100 deep, or in itself.

    Example:
        >>> import io
        >>> f = io.BytesIO()
        >>> sg.save({"weight": sg.ones(2), "step": 3}, f)
        >>> _ = f.seek(0)
        >>> sg.load(f)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    arrays: list[Array] = []
    tree = _Writer(arrays).tree(obj, "obj", 0)
    text = json.dumps({"format": "spirograd", "version": _VERSION, "tree": tree}, allow_nan=False).encode()
    with _written(f) as stream:
        _write_archive(stream, {str(i): a for i, a in enumerate(arrays)}, {_TREE: text})


def load(f: File, map_location: DeviceLike | Mapping[str, DeviceLike] | None = None, weights_only: bool = True) -> Any:
    """Reads what `save` wrote; also .npz, .npy, safetensors and, through an installed PyTorch, its .pt files.

    Args:
        f: a path, or a file opened for reading bytes that can seek.
        map_location: the device of the tensors; or a dict from the device they were on to another one. None: where they
            were, or on the CPU, with a warning, when that device is not here.
        weights_only: only True: a file that needs code to be run is not read.

    Returns:
        What was saved. Of a .npz or a safetensors file: a dict of tensors; of a .npy: a tensor.

    Raises:
        FileFormatError: the file is damaged, or holds something else.
        ImportError: the library that reads such files is not installed.

    Example:
        >>> import io
        >>> f = io.BytesIO()
        >>> sg.save([sg.arange(3), ("a", None)], f)
        >>> _ = f.seek(0)
        >>> sg.load(f, map_location="cpu")
        [tensor([0, 1, 2]), ('a', None)]
    """
    if not weights_only:
        raise ValueError("load: weights_only=False would run code of the file; spirograd never does")
    at = _place("load", map_location)
    with _read(f) as (stream, path):
        head = stream.read(9)
        stream.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return _load_archive(stream, path, at)
        if head.startswith(b"\x93NUMPY"):
            return _tensor(_parse_npy(stream.read(), path, path), at("cpu"), path, path)
        if head.startswith(b"\x80"):  # a pickle: PyTorch before 1.6
            return _load_torch(stream, path, at)
        if head[8:] == b"{":
            return _parse_safetensors(stream.read(), path, at)[0]
        raise FileFormatError(
            f"load: {path} starts with {head[:4].hex(' ') or 'nothing'}; that is no file of save(), NumPy, safetensors "
            "or PyTorch"
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
        raise ValueError(f"savez: the name {min(twice)} is that of an argument without a name; choose another one")
    arrays = {name: _values("savez", name, x) for name, x in {**named, **kwargs}.items()}
    with _written(f) as stream:
        _write_archive(stream, arrays)


# --- safetensors ------------------------------------------------------------------------------------------------------


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
        >>> _ = f.seek(0)
        >>> sg.load_safetensors(f, return_metadata=True)
        ({'weight': tensor([1., 1.])}, {'epoch': '3'})
    """
    library = _library("save_safetensors", "safetensors.numpy")
    notes = dict(metadata or {})
    for key, value in notes.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"save_safetensors: the metadata {key!r} is a {type(value).__name__}; only text is kept")
    arrays = {}
    for name, x in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"save_safetensors: the name {name!r} is a {type(name).__name__}; use text")
        values = _values("save_safetensors", name, x)
        if values.dtype == _RAW:
            values = values.view(_library("save_safetensors", "ml_dtypes").bfloat16)
        arrays[name] = values
    data = library.save(arrays, notes or None)
    with _written(f) as stream:
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
    with _read(f) as (stream, path):
        tensors, metadata = _parse_safetensors(stream.read(), path, _place("load_safetensors", map_location))
    return (tensors, metadata) if return_metadata else tensors


def _parse_safetensors(data: bytes, path: str, at: Place) -> tuple[dict[str, Tensor], dict[str, str]]:
    library = _library("load", "safetensors")
    try:
        found = library.deserialize(data)  # checks sizes and places
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    except (library.SafetensorError, ValueError, RecursionError) as error:
        raise FileFormatError(f"load: {path} is no whole safetensors file ({error})") from None
    tensors = {}
    for name, entry in found:
        if entry["dtype"] not in _SAFE:
            raise FileFormatError(f"load: {path} has {name} of type {entry['dtype']}, which spirograd does not have")
        dtype = _SAFE[entry["dtype"]]
        values = np.frombuffer(entry["data"], _RAW if dtype == "bfloat16" else dtype).reshape(entry["shape"])
        tensors[name] = _tensor(values, at("cpu"), path, name)
    return tensors, metadata


# --- the weights of a module ------------------------------------------------------------------------------------------


def save_weights(model: Module, f: str | os.PathLike[str]) -> None:
    """Writes the state of a module, as .safetensors or .npz by the name of the file.

    Args:
        model: has state_dict().
        f: a path that ends in .safetensors or .npz.

    Raises:
        ValueError: another ending.
        ImportError: .safetensors, and its library is not installed.

    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
        >>> net = sg.nn.Linear(2, 1)
        >>> sg.save_weights(net, path)
        >>> _ = sg.load_weights(sg.nn.Linear(2, 1), path)
    """
    state = model.state_dict()
    ending = os.path.splitext(os.fspath(f))[1]
    if ending == ".safetensors":
        save_safetensors(state, f)
    elif ending == ".npz":
        arrays = {name: _values("save_weights", name, x) for name, x in state.items()}
        with _written(f) as stream:
            _write_archive(stream, arrays)
    else:
        raise ValueError(f"save_weights: {os.fspath(f)} ends in {ending!r}; use .safetensors or .npz")


def load_weights(model: Module, f: File, **options: Any) -> Any:
    """Reads the state of a module from any file of `load` that holds a dict of tensors.

    Args:
        model: has load_state_dict().
        f: a path, or a file.
        options: for load_state_dict(), such as strict=False.

    Returns:
        What load_state_dict() returns.

    Raises:
        FileFormatError: the file is damaged or holds something else.
        ValueError: names or shapes differ from those of the module.
    """
    state = load(f, map_location="cpu")
    if not isinstance(state, dict) or not all(isinstance(x, Tensor) for x in state.values()):
        raise FileFormatError(f"load_weights: {_name(f)} holds no dict of tensors; read it with load()")
    return model.load_state_dict(state, **options)


# --- trees ------------------------------------------------------------------------------------------------------------


class _Writer:
    """Nested things as JSON; arrays are set aside, each once."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self.numbers: dict[int, int] = {}  # of objects that were met
        self.kept: list[Any] = []  # so that no two of them have one id

    def tree(self, x: Any, where: str, depth: int) -> Any:
        if depth > _DEPTH:
            raise ValueError(f"save: {where[:60]}... is nested more than {_DEPTH} deep, or in itself")
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
        raise TypeError(
            f"save: {where} is a {type(x).__name__}; only tensors, arrays, dicts, lists, tuples, numbers, strings and "
            "None are kept"
        )

    def pair(self, key: Any, value: Any, where: str, depth: int) -> list[Any]:
        if not _is_key(key):
            raise TypeError(f"save: {where} has a {type(key).__name__} as a key; use text, numbers or tuples of them")
        return [self.tree(key, where, depth + 1), self.tree(value, f"{where}[{key!r}]", depth + 1)]

    def number(self, x: Any, where: str) -> int:
        if id(x) not in self.numbers:
            values = _values("save", where, x, _SCALARS)
            self.numbers[id(x)] = len(self.arrays)
            self.arrays.append(values)
            self.kept.append(x)
        return self.numbers[id(x)]


def _is_key(x: Any) -> bool:
    return x is None or isinstance(x, (bool, int, float, str)) or (isinstance(x, tuple) and all(map(_is_key, x)))


class _Reader:
    """What _Writer wrote, with every step checked."""

    def __init__(self, path: str, array: Callable[[int], Array], at: Place) -> None:
        self.path, self.array, self.at = path, array, at
        self.made: dict[tuple[str, int], Any] = {}

    def tree(self, t: Any, where: str, depth: int) -> Any:
        if depth > _DEPTH:
            raise self.bad(where[:60] + "...", f"is nested more than {_DEPTH} deep")
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
        raise self.bad(where, f"is of the kind {str(kind)[:20]!r}, or not written as such")

    def pairs(self, pairs: list[Any], where: str, depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.bad(where, "has an entry that is no pair")
            key = self.tree(pair[0], where, depth + 1)
            if not _is_key(key) or key in made:
                raise self.bad(where, f"has the key {str(key)[:40]!r}, which is none or there twice")
            made[key] = self.tree(pair[1], f"{where}[{key!r}]", depth + 1)
        return made

    def once(self, kind: str, number: Any, where: str, make: Callable[[Array], Any]) -> Any:
        if type(number) is not int:
            raise self.bad(where, "has no number of an array")
        if (kind, number) not in self.made:
            self.made[kind, number] = make(self.array(number))
        return self.made[kind, number]

    def numbers(self, array: Array) -> Array:
        return array.view(_library("load", "ml_dtypes").bfloat16) if array.dtype == _RAW else array

    def tensor(self, array: Array, about: dict[str, Any], where: str) -> Tensor:
        dtype, device = about.get("dtype"), about.get("device")
        if not isinstance(device, str) or dtype != ("bfloat16" if array.dtype == _RAW else array.dtype.name):
            raise self.bad(where, f"is a tensor of type {str(dtype)[:20]} in an array of {array.dtype}")
        x = _tensor(array, self.at(device), self.path, where)
        return x.requires_grad_() if about.get("requires_grad") is True and x.dtype.is_floating_point else x

    def bad(self, where: str, what: str) -> FileFormatError:
        return FileFormatError(f"load: {self.path}: {where} {what}; the file is damaged, or save() did not write it")


def _values(op: str, where: str, x: Any, kinds: str = "?biuf") -> Array:
    """The elements in C order, as a .npy can hold them."""
    if isinstance(x, Tensor):
        x = x.detach()
        if x.dtype.name != "bfloat16":
            return np.asarray(x.numpy(), order="C")
        try:
            bits = x.numpy().view(np.uint16)
        except TypeError:  # without ml_dtypes; float32 holds the same values
            bits = (x.float().numpy().view(np.uint32) >> 16).astype(np.uint16)
        return np.asarray(bits, order="C").view(_RAW)
    if not isinstance(x, (np.ndarray, np.generic)):
        raise TypeError(f"{op}: {where} is a {type(x).__name__}; tensors and arrays are kept")
    array = np.asarray(x, order="C")
    if array.dtype.name == "bfloat16":
        return array.view(_RAW)
    if array.dtype.kind not in kinds or array.dtype.hasobject:
        raise TypeError(f"{op}: {where} is an array of {array.dtype}; only numbers are kept")
    return array


def _tensor(values: Array, device: _core.Device, path: str, where: str) -> Tensor:
    if values.dtype == _RAW:
        bits = values.view(np.uint16)
        try:
            return Tensor(bits.view(importlib.import_module("ml_dtypes").bfloat16), device=device)
        except ImportError:
            return Tensor((bits.astype(np.uint32) << 16).view(np.float32), dtype="bfloat16", device=device)
    if values.dtype.name not in _DTYPES:
        raise FileFormatError(f"load: {path}: {where} is of type {values.dtype}; tensors are of {', '.join(_DTYPES)}")
    try:
        return Tensor(values.astype(values.dtype.newbyteorder("="), copy=False), device=device)
    except ValueError as error:
        raise FileFormatError(f"load: {path}: {where} is no tensor ({error})") from None


# --- archives ---------------------------------------------------------------------------------------------------------


def _write_archive(stream: BinaryIO, arrays: Mapping[str, Array], texts: Mapping[str, bytes] | None = None) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, text in (texts or {}).items():
            archive.writestr(zipfile.ZipInfo(name), text)
        for name, array in arrays.items():
            if "\0" in name:
                raise ValueError(f"save: the name {name!r} has a zero in it, which a .npz cannot hold")
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _load_archive(stream: BinaryIO, path: str, at: Place) -> Any:
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    with _refusing(path):
        archive = zipfile.ZipFile(stream)
    members = {m.filename: m for m in archive.infolist()}
    if any(name.endswith("/data.pkl") for name in members):
        stream.seek(0)
        return _load_torch(stream, path, at)
    if len(members) != len(archive.infolist()):
        raise FileFormatError(f"load: {path} has a member twice; it is damaged, or made to deceive")
    if sum(m.compress_size for m in members.values()) > size:
        raise FileFormatError(f"load: {path} has members larger than the file; it is damaged, or made to deceive")

    def array(name: str) -> Array:
        return _parse_npy(content(name), path, name)

    def content(name: str) -> bytes:
        if name not in members:
            raise FileFormatError(f"load: {path} has no member {name}; the file is damaged")
        member = members[name]
        if _TREE in members and member.compress_type != zipfile.ZIP_STORED:
            raise FileFormatError(f"load: {path}: {name} is compressed; save() did not write it")
        if member.file_size > _DEFLATE * (member.compress_size + 1):
            raise FileFormatError(f"load: {path}: {name} claims {member.file_size:,} bytes; it is made to deceive")
        with _refusing(path):
            return archive.read(member)

    if _TREE in members:
        return _Reader(path, lambda i: array(f"{i}.npy"), at).tree(_parse_tree(content(_TREE), path), "obj", 0)
    if odd := [name for name in members if not name.endswith(".npy")]:
        raise FileFormatError(f"load: {path} holds {odd[0][:60]}; that is no file of save() or numpy.savez()")
    return {name[:-4]: _tensor(array(name), at("cpu"), path, name[:-4]) for name in members}


def _parse_tree(text: bytes, path: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"load: {path}: {_TREE} is no JSON ({error}); the file is damaged") from None
    if not isinstance(found, dict) or found.get("format") != "spirograd" or "tree" not in found:
        raise FileFormatError(f"load: {path}: {_TREE} is not one of save()")
    if found.get("version") != _VERSION:
        raise FileFormatError(
            f"load: {path} is of version {str(found.get('version'))[:20]}, this spirograd reads {_VERSION}; update it"
        )
    return found["tree"]


def _parse_npy(data: bytes, path: str, name: str) -> Array:
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
        if dtype != _RAW and dtype.kind not in _SCALARS:
            raise ValueError(f"it is of type {dtype}")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data) - start or not dtype.itemsize:
            raise ValueError(f"{len(data) - start:,} bytes are there for {dtype} {list(shape)}")
        return np.frombuffer(data, dtype, offset=start).reshape(shape, order="F" if fortran else "C")
    except Exception as error:  # whatever NumPy raises about a header that somebody made up
        what = str(error).partition("\n")[0][:200]
        raise FileFormatError(f"load: {path}: {name} is no array that can be read ({what})") from None


def _load_torch(stream: BinaryIO, path: str, at: Place) -> Any:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise ImportError(
            f"load: {path} is a file of PyTorch, which is not installed; install it, or write safetensors there"
        ) from None
    try:
        found = torch.load(stream, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, and many lines
        raise FileFormatError(
            f"load: {path}: PyTorch does not read it with weights_only=True ({str(error).partition(chr(10))[0][:200]})"
        ) from None
    made: dict[int, Any] = {}

    def converted(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            if id(x) not in made:
                dtype = str(x.dtype).removeprefix("torch.")
                if dtype not in _DTYPES:
                    raise FileFormatError(f"load: {path} has a tensor of type {dtype}, which spirograd does not have")
                own = x.detach().contiguous()
                values = own.view(torch.int16).numpy().view(_RAW) if dtype == "bfloat16" else own.numpy()
                made[id(x)] = _tensor(values, at("cpu"), path, "a tensor").requires_grad_(x.requires_grad)
            return made[id(x)]
        if isinstance(x, Mapping):
            return {key: converted(value) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return tuple(map(converted, x)) if isinstance(x, tuple) else [converted(part) for part in x]
        return x

    return converted(found)


# --- paths, devices, libraries ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _written(f: File) -> Iterator[BinaryIO]:
    """The file itself; or one beside the path, which takes its place when all has been written and is on the disk."""
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
        with open(part, "xb") as stream:
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


@contextlib.contextmanager
def _read(f: File) -> Iterator[tuple[BinaryIO, str]]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            yield stream, _name(f)
    else:
        yield cast(BinaryIO, f), _name(f)


def _name(f: File) -> str:
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else str(getattr(f, "name", "the file"))


@contextlib.contextmanager
def _refusing(path: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise FileFormatError(f"load: {path} is damaged ({str(error)[:200] or type(error).__name__})") from None


def _place(op: str, map_location: Any) -> Place:
    if map_location is None:
        return lambda name: place(op, name)
    if isinstance(map_location, Mapping):
        table = {str(k): v for k, v in map_location.items()}
        return lambda name: _core.device(table[name]) if name in table else place(op, name)
    if isinstance(map_location, (str, _core.Device)):
        device = _core.device(map_location)
        return lambda _: device
    raise TypeError(f"{op}: map_location is a {type(map_location).__name__}; use a device, or a dict of devices")


def _library(op: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{op}: {name.partition('.')[0]} is not installed; pip install spirograd[io]") from None
