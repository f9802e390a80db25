"""torch._dynamo: settings and marks of PyTorch's compiler, which is not here."""

from types import ModuleType
from typing import Any

from .. import OptimizedModule, compile
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "graph_break"]
__all__ += ["is_compiling", "mark_dynamic", "mark_static", "mark_static_address", "optimize", "reset"]

config = ModuleType("torch._dynamo.config")
vars(config).update(suppress_errors=False, cache_size_limit=8, verbose=False, capture_scalar_outputs=False)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Accepted."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Accepted: sizes are bound when a plan runs."""


mark_static = mark_dynamic


def optimize(*args: Any, **options: Any) -> Any:
    """What torch.compile() is as a decorator."""
    return compile


def graph_break(msg: str = "") -> None:
    """Accepted."""
