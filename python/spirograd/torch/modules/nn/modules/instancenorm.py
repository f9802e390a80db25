"""The base of the layers that normalise each sample, for isinstance()."""

from .....nn.normalization import _InstanceNorm

__all__ = ["_InstanceNorm"]
