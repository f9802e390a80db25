"""The old name in torch.optim.lr_scheduler."""

from ....optim.lr_scheduler import LRScheduler as _LRScheduler

__all__ = ["_LRScheduler"]
