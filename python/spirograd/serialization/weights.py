"""The state of a module in a file."""

from __future__ import annotations

import os
from typing import Any

from .._core import FileFormatError, Tensor
from ..base.keywords import naming_keywords
from ._archives import write_archive
from ._arrays import values_of
from ._paths import File, name_of, written
from .files import load
from .safetensors import save_safetensors

__all__ = ["load_weights", "save_weights"]


@naming_keywords
def save_weights(model: Any, f: str | os.PathLike[str]) -> None:
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
        arrays = {name: values_of("save_weights", name, x) for name, x in state.items()}
        with written(f) as stream:
            write_archive(stream, arrays)
    else:
        raise ValueError(f"save_weights: {os.fspath(f)} ends in {ending!r}; use .safetensors or .npz")


def load_weights(model: Any, f: File, *, max_bytes: int | None = None, **options: Any) -> Any:
    """Reads the state of a module from any file of `load` that holds a dict of tensors.

    Args:
        model: has load_state_dict().
        f: a path, or a file.
        max_bytes: how many bytes the content may become in memory; see `load`.
        options: for load_state_dict(), such as strict=False.

    Returns:
        What load_state_dict() returns.

    Raises:
        FileFormatError: the file is damaged or holds something else.
        ValueError: names or shapes differ from those of the module.
    """
    state = load(f, map_location="cpu", max_bytes=max_bytes)
    if not isinstance(state, dict) or not all(isinstance(x, Tensor) for x in state.values()):
        raise FileFormatError(f"load_weights: {name_of(f)} holds no dict of tensors; read it with load()")
    return model.load_state_dict(state, **options)
