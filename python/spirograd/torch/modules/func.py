"""torch.func: what spirograd.func lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: what it writes in place is a new value anyway."""
    return func
