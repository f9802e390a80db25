"""Tools around training."""

from . import checkpoint

__all__ = ["checkpoint"]
