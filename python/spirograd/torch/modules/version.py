"""Whose names these are, and whose code it is."""

from __future__ import annotations

from ... import _core
from .torch_version import TorchVersion

# The release of PyTorch whose names and meanings are followed, and the version of spirograd.
__version__ = TorchVersion(f"2.14.0+spirograd.{_core.__version__}")
cuda = hip = xpu = git_version = None
debug = False

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
