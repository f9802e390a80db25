"""Switches of the whole process: those with a meaning here are obeyed, the others accepted."""

from __future__ import annotations

import warnings

from ... import _core, amp, func
from ..absent import AbsentDevice

__all__ = ["Generator", "are_deterministic_algorithms_enabled", "default_generator", "get_autocast_dtype"]
__all__ += ["get_autocast_gpu_dtype", "get_deterministic_debug_mode", "get_float32_matmul_precision"]
__all__ += ["get_num_interop_threads", "get_num_threads", "is_anomaly_enabled", "is_autocast_enabled"]
__all__ += ["is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_anomaly_enabled"]
__all__ += ["set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal"]
__all__ += ["set_num_interop_threads", "set_num_threads", "set_warn_always", "use_deterministic_algorithms", "vmap"]

Generator, vmap = _core.Generator, func.vmap
set_float32_matmul_precision = _core.set_float32_matmul_precision
get_float32_matmul_precision = _core.get_float32_matmul_precision
is_anomaly_enabled = _core._is_anomaly_enabled
default_generator = _core.manual_seed(_core.initial_seed())


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switches the search for the operation that makes a NaN on or off."""
    _core._set_anomaly_enabled(mode)


_MODES = ("default", "warn", "error")
_mode = 0  # of _MODES, by number. It changes nothing: every algorithm here is deterministic


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembered: every algorithm here is deterministic."""
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Remembered: 0, 1 or 2, or "default", "warn" or "error"."""
    global _mode
    if debug_mode not in (*_MODES, 0, 1, 2):
        raise ValueError(f"set_deterministic_debug_mode: {debug_mode!r}; use default, warn or error")
    _mode = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms() was given."""
    return _mode > 0


def get_deterministic_debug_mode() -> int:
    """What was set."""
    return _mode


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether use_deterministic_algorithms() was told to warn only."""
    return _mode == 1


_warn_always = False


def set_warn_always(b: bool) -> None:
    """Accepted: Python's own filters decide how often a warning is shown."""
    global _warn_always
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What set_warn_always() was given."""
    return _warn_always


def set_flush_denormal(mode: bool) -> bool:
    """False: the CPU keeps denormal numbers."""
    return False


def get_num_threads() -> int:
    """How many threads the CPU's kernels use."""
    return int(_core.Device.cpu().limits["threads"])


def set_num_threads(threads: int) -> None:
    """Warns unless that is the number there is: SPIROGRAD_THREADS sets it before the start."""
    if threads != get_num_threads():
        warnings.warn(
            f"set_num_threads: there are {get_num_threads()} threads; start with SPIROGRAD_THREADS={threads} instead",
            stacklevel=2,
        )


def get_num_interop_threads() -> int:
    """1: operations run one after the other."""
    return 1


def set_num_interop_threads(threads: int) -> None:
    """Accepted: operations run one after the other."""


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether an autocast is open for a device; False for devices of others."""
    if device_type in AbsentDevice.KINDS and device_type != "cuda":
        return False
    return amp.is_autocast_enabled(_kind(device_type))


def get_autocast_dtype(device_type: str) -> _core.dtype:
    """The half type of products on a device."""
    return amp.get_autocast_dtype(_kind(device_type))


def get_autocast_gpu_dtype() -> _core.dtype:
    """The half type of products on a GPU."""
    return amp.get_autocast_dtype("gpu")


def _kind(device_type: str) -> str:
    return "gpu" if device_type == "cuda" else device_type
