"""safetensors.torch and safetensors.safe_open, through spirograd's own reading and writing of such files."""

from __future__ import annotations

import io
import os
from typing import Any

from ... import serialization
from ..._core import Tensor
from ...nn import Module
from ..storage import Storage

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model", "storage_ptr"]
__all__ += ["storage_size"]


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes named tensors to a file. What two names share is written for each."""
    serialization.save_safetensors(tensors, filename, metadata)


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of such a file."""
    stream = io.BytesIO()
    serialization.save_safetensors(tensors, stream, metadata)
    return stream.getvalue()


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by name."""
    return serialization.load_safetensors(filename, _place(device))


def storage_ptr(tensor: Tensor) -> int:
    """Where the memory begins that the tensor is a view of: equal for views of one memory."""
    return Storage(tensor).data_ptr()


def storage_size(tensor: Tensor) -> int:
    """How many bytes of that memory the tensor reaches to."""
    return Storage(tensor).nbytes()


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of the bytes of such a file."""
    return serialization.load_safetensors(io.BytesIO(data), "cpu")


def save_model(
    model: Module, filename: str, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Writes the weights of a module; one that stands in several places is written once, under its first name."""
    state, notes = model.state_dict(), dict(metadata or {})
    for name, first in _shared(model).items():
        del state[name]
        notes[name] = first
    serialization.save_safetensors(state, filename, notes)


def load_model(model: Module, filename: Any, strict: bool = True, device: Any = "cpu") -> tuple[set[str], list[str]]:
    """Reads such a file into a module.

    Returns:
        The names that were missing, and those that were unexpected.

    Raises:
        RuntimeError: strict, and there are some.
    """
    state = load_file(filename, device)
    found = model.load_state_dict(state, strict=False)
    there = _shared(model)
    missing = {n for n in found.missing_keys if there.get(n, n) not in state and n not in there.values()}
    if strict and (missing or found.unexpected_keys):
        raise RuntimeError(
            f"load_model: {os.fspath(filename)}: missing {sorted(missing)}, unexpected {found.unexpected_keys}; "
            "use the same model"
        )
    return missing, found.unexpected_keys


class safe_open(serialization.safe_open):
    """A file whose tensors are read when they are asked for.

    Args:
        filename: its path.
        framework: "pt"; for others, the class of the package is used.
        device: of the tensors.
        backend: accepted: the file is read, not mapped.
    """

    other: Any = None  # the package's own

    def __new__(cls, filename: Any, framework: str, device: Any = "cpu", *, backend: Any = None) -> Any:
        if framework not in ("pt", "torch", "pytorch"):
            return cls.other(filename, framework=framework)
        return super().__new__(cls)

    def __init__(self, filename: Any, framework: str, device: Any = "cpu", *, backend: Any = None) -> None:
        super().__init__(filename, framework, _place(device))


def _place(device: Any) -> Any:
    return f"cuda:{device}" if isinstance(device, int) else device


def _shared(model: Module) -> dict[str, str]:
    """For names of a tensor that an earlier name is of: that one."""
    first: dict[int, str] = {}
    tensors = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    return {name: first[id(x)] for name, x in tensors if first.setdefault(id(x), name) != name}
