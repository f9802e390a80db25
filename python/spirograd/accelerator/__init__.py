"""The current GPU, whoever made it. Nothing here starts a GPU but what must use it."""

from . import memory
from .devices import (
    current_accelerator,
    current_device_index,
    device_count,
    is_available,
    set_device_index,
    synchronize,
)

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "memory",
    "set_device_index",
    "synchronize",
]
