"""torch.utils.collect_env: what a report of a mistake begins with."""

from __future__ import annotations

import platform
import sys

import numpy as np

from .... import _core
from ..version import __version__

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions and devices, a line each."""
    devices = ", ".join(f"{d} ({d.name})" for d in _core.Device.list())
    return "\n".join(
        [
            f"PyTorch version: {__version__}",
            f"Devices: {devices}",
            f"Python version: {sys.version}",
            f"Python platform: {platform.platform()}",
            f"numpy: {np.__version__}",
        ]
    )


def main() -> None:
    """Prints them."""
    print(get_pretty_env_info())
