"""Modules over several processes."""

from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DistributedDataParallel"]
