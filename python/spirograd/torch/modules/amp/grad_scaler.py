"""torch.amp.grad_scaler: GradScaler, and the words for what it did."""

from enum import Enum

from . import GradScaler

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What a scaler did with an optimiser since its last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2
