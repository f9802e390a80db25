"""Devices, versions and environment, as text."""

from __future__ import annotations

import platform

import numpy as np

from .. import _core


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size else "unknown"


def show_config() -> str:
    """Devices, versions and environment, as `python -m spirograd info` prints them.

    Example:
        >>> "devices" in sg.show_config()
        True
    """
    lines = [
        f"spirograd {_core.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} {platform.machine()}",
        "",
        "devices",
    ]
    for device in _core.Device.list():
        lines.append(f"  {device}: {device.name or 'CPU'} ({device.type})")
        for label, value in (("vendor", device.vendor), ("driver", device.driver), ("Vulkan", device.api_version)):
            if value:
                lines.append(f"    {label}: {value}")
        if device.memory_total:
            lines.append(f"    memory: {_gib(device.memory_total)}")
        for label, pairs in (("features", device.features), ("limits", device.limits)):
            if pairs:
                lines.append(f"    {label}: " + ", ".join(f"{k}={v}" for k, v in pairs.items()))
    if not _core.Device.is_gpu_available():
        reason, remedy = _core._gpu_reason()
        lines.append(f"  no GPU: {reason}" + (f"; {remedy}" if remedy else ""))
    lines += ["", f"kernel cache: {_core._cache_folder() or 'off'}", "", "environment"]
    for name, value, fallback, doc in _core._environment():
        mark = "*" if value != fallback else " "
        lines.append(f" {mark}{name}={value}".ljust(36) + "  " + doc)
    return "\n".join(lines)
