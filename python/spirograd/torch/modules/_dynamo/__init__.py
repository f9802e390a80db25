"""torch._dynamo: settings of PyTorch's compiler, which is not here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["config", "disable", "reset"]

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, verbose=False)


def reset() -> None:
    """Accepted: there is nothing to reset."""


def disable(fn: T | None = None, recursive: bool = True) -> Any:
    """The function itself."""
    return (lambda f: f) if fn is None else fn
