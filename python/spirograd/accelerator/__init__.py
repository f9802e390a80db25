"""The current GPU, of whatever vendor. A GPU is started only by functions that must use it."""

from . import devices, memory
from .devices import *  # noqa: F403

__all__ = ["memory"]
__all__ += devices.__all__
