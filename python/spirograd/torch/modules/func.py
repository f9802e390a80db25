"""torch.func: what spirograd.func lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Module

__all__ = ["functionalize", "replace_all_batch_norm_modules_"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: what it writes in place is a new value anyway."""
    return func


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Batch norms of a module that keep no statistics any more: they use those of the batch, also in evaluation."""
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
