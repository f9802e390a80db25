"""torch.utils.checkpoint: names that spirograd.utils.checkpoint lacks."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Sequence
from typing import Any

from ...._core import Tensor

__all__ = ["CheckpointPolicy", "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn"]
__all__ += ["check_backward_validity", "detach_variable", "set_device_states"]


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


def check_backward_validity(inputs: Any) -> None:
    """Warns if no tensor among them requires grad: then a checkpoint has no gradient."""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    if tensors and not any(x.requires_grad for x in tensors):
        warnings.warn("checkpoint: no input requires grad; gradients will be None", stacklevel=2)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors without their graphs, which require grad as before."""
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)
