"""torch.optim: the optimisers that spirograd lacks."""

from .sparse_adam import SparseAdam

__all__ = ["SparseAdam"]
