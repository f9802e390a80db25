"""The current GPU, whatever its vendor. Only functions that must use a GPU start one."""

from . import devices, memory
from .devices import *  # noqa: F403
from .events import Event
from .memory import memory_summary

__all__ = ["Event", "memory", "memory_summary"]
__all__ += devices.__all__
