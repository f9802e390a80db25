"""Files of named tensors that are read in parts."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import numpy as np

from .._core import FileFormatError, Tensor
from ._arrays import shown, tensor_of
from ._paths import library, map_location_of
from .safetensors import NAMES

__all__ = ["safe_open"]


class safe_open:
    """A file whose tensors are read when they are asked for.

    Args:
        filename: its path.
        framework: accepted.
        device: of the tensors.
        backend: accepted: the file is read, not mapped.

    Raises:
        ImportError: the `safetensors` library is not installed; `pip install spirograd[io]`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "weights.safetensors"
        >>> sg.save_safetensors({"w": sg.arange(6).reshape(3, 2)}, path)
        >>> with sg.serialization.safe_open(path) as file:
        ...     file.keys(), file.get_slice("w")[1:].tolist()
        (['w'], [[2, 3], [4, 5]])
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu", *, backend: Any = None) -> None:
        with library("safe_open", "safetensors").safe_open(filename, framework="numpy"):  # checks sizes and places
            pass
        self._file = open(filename, "rb")  # noqa: SIM115
        self._device = map_location_of("safe_open", device)("cpu")
        length = int.from_bytes(self._file.read(8), "little")
        self._entries: dict[str, Any] = json.loads(self._file.read(length))
        self._metadata: dict[str, str] | None = self._entries.pop("__metadata__", None)
        self._start = 8 + length

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """The names, in alphabetical order."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The names in the order of the file."""
        return sorted(self._entries, key=lambda name: self._entries[name]["data_offsets"])

    def metadata(self) -> dict[str, str] | None:
        """The text beside the tensors."""
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """One tensor."""
        return self.get_slice(name)[...]

    def get_slice(self, name: str) -> _Slice:
        """A tensor of which a part will be read: index it.

        Raises:
            KeyError: there is no such name.
        """
        return _Slice(self, self._entries[name])


class _Slice:
    """A tensor in a file."""

    def __init__(self, file: safe_open, entry: dict[str, Any]) -> None:
        self._of, self._entry = file, entry

    def get_shape(self) -> list[int]:
        """Its shape."""
        return list(self._entry["shape"])

    def get_dtype(self) -> str:
        """Its type, such as "F32"."""
        return str(self._entry["dtype"])

    def __getitem__(self, key: Any) -> Tensor:
        first, last = self._entry["data_offsets"]
        if (kind := self._entry["dtype"]) not in NAMES:
            raise FileFormatError(f"safe_open: a tensor is of type {shown(kind)}, which spirograd does not have")
        dtype = NAMES[kind]
        self._of._file.seek(self._of._start + first)
        data = self._of._file.read(last - first)
        if len(data) != last - first:
            raise FileFormatError("safe_open: the file was truncated while it was open; open it again")
        values = np.frombuffer(data, "V2" if dtype == "bfloat16" else dtype).reshape(self._entry["shape"])[key]
        return tensor_of(np.ascontiguousarray(values).reshape(values.shape), self._of._device, "the file", "a tensor")
