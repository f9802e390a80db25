"""torch.ops: the operations of compiled extensions of PyTorch, which are not loaded here."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["aten", "load_library"]


class Operation:
    """An operation of PyTorch by name: a call is the function of torch of that name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, overload: str) -> Operation:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self  # its forms for numbers, tensors and so on are one here

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        return (_slice if self._name == "slice" else getattr(torch, self._name))(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten::{self._name}"


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


class Operations:
    """torch.ops.aten: the operations that functions of torch are made of, by name."""

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("__"):
            raise AttributeError(name)
        made = vars(self)[name] = Operation(name)
        return made


aten = Operations()


def load_library(path: str | os.PathLike[str]) -> None:
    """Refuses.

    Raises:
        OSError: always; programs with another way go that way.
    """
    raise OSError(f"load_library: {os.fspath(path)} is compiled for PyTorch; spirograd cannot load it")
