"""torch.nn.parameter: parameters, and those that have no shape yet."""

from __future__ import annotations

from typing import Any

from ....nn.parameter import UninitializedParameter

__all__ = ["is_lazy"]


def is_lazy(param: Any) -> bool:
    """Whether a parameter has no shape yet."""
    return isinstance(param, UninitializedParameter)
