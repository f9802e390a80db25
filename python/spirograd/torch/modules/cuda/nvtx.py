"""torch.cuda.nvtx: marks for NVIDIA's tools, which are not written; profiler.record_function() marks regions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_pop", "range_push"]


def range_push(msg: str) -> int:
    """Accepted."""
    return 0


def range_pop() -> int:
    """Accepted."""
    return 0


def mark(msg: str) -> None:
    """Accepted."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context, or a decorator, that marks nothing."""
    yield
