"""Tensors that stand for several, taken apart for the gradient graph, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor, zeros_like
from ..base.stand_in import StandIn

__all__ = ["put_together", "taken_apart", "with_starts"]


def taken_apart(tensors: Sequence[Any]) -> list[Any]:
    """The tensors, and the parts of those that stand for one."""
    return [part for x in tensors for part in (x.parts() if isinstance(x, StandIn) else (x,))]


def with_starts(op: str, roots: Sequence[Any], starts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Roots and the gradients that begin there, of parts.

    Raises:
        ValueError: the gradient of a root that stands for several is missing.
    """

    def whole(root: Any, start: Any) -> Any:
        if not isinstance(root, StandIn) or isinstance(start, StandIn):
            return start
        if start is None:
            raise ValueError(f"{op}: {root.kind} need a gradient; give one, or use a real tensor, as .abs().sum()")
        made: Any = type(root)
        return made(start, *(zeros_like(x) for x in root.parts()[1:]))

    pairs = zip(roots, starts, strict=True)
    return taken_apart(roots), taken_apart([whole(root, start) for root, start in pairs])


def put_together(wanted: Sequence[Any], found: Sequence[Tensor | None]) -> list[Any]:
    """The gradients of the tensors, of those of their parts."""
    left, out = iter(found), list[Any]()
    for x in wanted:
        if not isinstance(x, StandIn):
            out.append(next(left))
            continue
        parts = x.parts()
        gradients = [next(left) for _ in parts]
        missing = all(g is None for g in gradients)
        full = (zeros_like(p) if g is None else g for p, g in zip(parts, gradients, strict=True))
        out.append(None if missing else type(x)(*full))
    return out
