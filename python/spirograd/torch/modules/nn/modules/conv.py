"""Bases of the convolutions, for isinstance()."""

from .....nn.convolution import _Convolution as _ConvNd
from .....nn.convolution import _ConvTranspose as _ConvTransposeNd

__all__ = ["_ConvNd", "_ConvTransposeNd"]
