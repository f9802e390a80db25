"""Tools around training."""

from . import checkpoint, checkpoints, data

__all__ = ["checkpoint", "checkpoints", "data"]
