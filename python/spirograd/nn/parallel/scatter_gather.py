"""Batches cut for devices, and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .one_device import gather, scatter

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter_kwargs(
    inputs: Sequence[Any], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Arguments, and those by name, for each device; as many of both."""
    places = scatter(tuple(inputs), target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(places), len(named))
    return (*places, *[()] * (count - len(places))), (*named, *[{}] * (count - len(named)))
