"""Devices, versions and environment, as text."""

from __future__ import annotations

import os
import platform

import numpy as np

from .. import _core
from .tables import wrapped

# What a device cannot do without a feature. The others are required, or make no difference that a user sees.
_WITHOUT = {
    "shaderFloat64": "no float64 tensors, scalar Values are float32",
    "storageBuffer16BitAccess": "no float16, bfloat16 and int16 tensors",
    "storageBuffer8BitAccess": "no bool, int8 and uint8 tensors",
    "shaderInt8": "no bool, int8 and uint8 tensors",
    "shuffles": "threads exchange values through shared memory, which is slower",
    "ballots": "long rows are sorted through shared memory alone, which is slower",
    "float16 products": "computed as float32",
    "bfloat16 products": "computed as float32",
    "copy_queue": "copies wait for kernels",
    "memory_budget": "free memory is a guess",
    "calibrated_timestamps": "the profiler guesses how the device's clock relates to the host's",
}


def _lacks(features: dict[str, str]) -> list[str]:
    """What a device lacks, and what that switches off."""
    return [
        f"{name}: {without}" for name, without in _WITHOUT.items() if features.get(name) in ("no", "float32 arithmetic")
    ]


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size else "unknown"


def show_config(all_variables: bool = False) -> str:
    """Devices, versions and environment, as `python -m spirograd info` prints them.

    Args:
        all_variables: whether variables of the environment that are not set are there, too.

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
        lines += [f"    lacks {what}" for what in _lacks(device.features)]
    if not _core.Device.is_gpu_available():
        reason, remedy = _core._gpu_reason()
        lines.append(f"  no GPU: {reason}" + (f"; {remedy}" if remedy else ""))
    lines += ["", f"kernel cache: {_core._cache_folder() or 'off'}", "", "environment"]
    variables = [row for row in _core._environment() if all_variables or row[0] in os.environ]
    for name, value, fallback, doc in variables:
        mark = "*" if value != fallback else " "
        lines.append(f" {mark}{name}={value}".ljust(36) + "  " + doc)
    if not variables:
        lines.append("  no variable of spirograd is set; `python -m spirograd info --all` lists them")
    return wrapped("\n".join(lines))
