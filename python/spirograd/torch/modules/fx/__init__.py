"""torch.fx, as far as programs name it: there are no graphs of Python code, so nothing makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ....nn import Module

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "wrap"]

F = TypeVar("F", bound="str | Callable[..., Any]")


def wrap(fn_or_name: F) -> F:
    """The function itself: it is never traced."""
    return fn_or_name


class _None:
    """A class without objects."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


class Graph(_None):
    """Nothing is one."""


class Node(_None):
    """Nothing is one."""


class Proxy(_None):
    """Nothing is one."""


class Tracer(_None):
    """Cannot be made: `y.graph()` and `y.plan()` show what runs."""


class GraphModule(Module):
    """Nothing is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("GraphModule")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.fx.{name}: spirograd has no graphs of Python code; use hooks to see the values of layers"
    )
