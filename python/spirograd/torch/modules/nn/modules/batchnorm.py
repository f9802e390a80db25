"""Bases of the layers that normalise over the batch, for isinstance()."""

from .....nn.normalization import _BatchNorm
from .....nn.normalization import _RunningNorm as _NormBase

__all__ = ["_BatchNorm", "_NormBase"]
