"""The current GPU, whatever its vendor. Only functions that must use a GPU start one."""

from . import devices, memory
from .devices import *  # noqa: F403

__all__ = ["memory"]
__all__ += devices.__all__
