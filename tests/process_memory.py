"""How much memory this process has, and had at most."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path


def resident() -> int:
    """Bytes."""
    return _windows()[1] if sys.platform == "win32" else _linux("VmRSS")


def peak() -> int:
    """Bytes."""
    return _windows()[0] if sys.platform == "win32" else _linux("VmHWM")


def _linux(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return 1024 * int(found[1])


def _windows() -> tuple[int, int]:
    """The largest working set and the present one, from PROCESS_MEMORY_COUNTERS."""
    assert sys.platform == "win32"
    kernel = ctypes.WinDLL("kernel32")
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    counters = (ctypes.c_size_t * 9)(72)  # the first is its size and a count, of four bytes each
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    assert kernel.K32GetProcessMemoryInfo(process, counters, 72)
    return counters[1], counters[2]
