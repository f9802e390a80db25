"""torch.xpu: Intel's GPUs by PyTorch's own way, which is not here: `cuda` is whatever GPU there is."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted."""


def synchronize() -> None:
    """Accepted."""


def empty_cache() -> None:
    """Accepted."""
