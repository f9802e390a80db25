"""Tools around training."""

from . import checkpoint, checkpoints, data, sampling

__all__ = ["checkpoint", "checkpoints", "data", "sampling"]
