"""torch.distributed in a process of its own."""

from __future__ import annotations

from typing import Any

__all__ = ["get_rank", "get_world_size", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available"]
__all__ += ["is_nccl_available", "is_torchelastic_launched"]


def is_available() -> bool:
    """False: processes do not exchange tensors."""
    return False


is_initialized = is_gloo_available = is_mpi_available = is_nccl_available = is_torchelastic_launched = is_available


def get_rank(group: Any = None) -> int:
    """0."""
    return 0


def get_world_size(group: Any = None) -> int:
    """1."""
    return 1
