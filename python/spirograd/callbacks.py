"""Callbacks of `fit`: early stopping, checkpoints, learning rates, logs."""

from .training import callbacks
from .training.callbacks import *  # noqa: F403
from .training.callbacks import _Watch as _Watch  # callbacks that were pickled name it

__all__: list[str] = []
__all__ += callbacks.__all__
