"""torch.compiler: nothing of Python is compiled, so its marks change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling"]
__all__ += ["is_dynamo_compiling", "is_exporting", "reset", "set_stance"]


def disable(fn: F | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; without one, a decorator."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: F) -> F:
    """The function itself."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing: there is nothing to forget."""


cudagraph_mark_step_begin = reset


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def set_stance(stance: str = "default", **options: Any) -> Any:
    """A context that changes nothing."""
    return _nothing()
