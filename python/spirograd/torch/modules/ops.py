"""torch.ops: the operations of compiled extensions of PyTorch, which are not loaded here."""

from __future__ import annotations

import os

__all__ = ["load_library"]


def load_library(path: str | os.PathLike[str]) -> None:
    """Refuses.

    Raises:
        OSError: always; programs with another way go that way.
    """
    raise OSError(f"load_library: {os.fspath(path)} is compiled for PyTorch; spirograd cannot load it")
