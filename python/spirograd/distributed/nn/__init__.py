"""Collectives that gradients flow through, under PyTorch's names (torch.distributed.nn)."""

from . import functional

__all__ = ["functional"]
