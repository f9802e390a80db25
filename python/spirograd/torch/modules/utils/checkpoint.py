"""torch.utils.checkpoint: names that spirograd.utils.checkpoint lacks."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Sequence
from typing import Any

__all__ = ["CheckpointPolicy", "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn"]
__all__ += ["set_device_states"]


class CheckpointPolicy(enum.Enum):
    """Whether the result of an operation is kept or computed again: here, all in a checkpoint are computed again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts in which nothing changes."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, **options: Any) -> tuple[Any, Any]:
    """Two contexts in which nothing changes: all is computed again."""
    return noop_context_fn()


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Nothing: one generator is for all devices; get_rng_state() has it."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: Any = None) -> None:
    """Does nothing: set_rng_state() sets the generator of all devices."""
