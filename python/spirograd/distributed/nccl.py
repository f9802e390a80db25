"""Where NCCL's library is, and the settings that it gets before it starts."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path
from typing import NamedTuple

# The order of additions depends on the algorithm, which NCCL else chooses by its own measurements and by what the
# switches of a machine can add. Variables that are set already stay as they are.
PINNED = {"NCCL_ALGO": "Ring", "NCCL_NVLS_ENABLE": "0"}


class Library(NamedTuple):
    """A library that can be loaded."""

    path: str
    version: str


@functools.cache
def find() -> Library | None:
    """The system's libnccl.so.2, or that of a wheel (nvidia-nccl-cu12); None: there is none."""
    names = ["libnccl.so.2"]
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        names += [str(path) for path in Path(folder).glob("nccl/lib/libnccl.so.2")]
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        number = ctypes.c_int()
        if library.ncclGetVersion(ctypes.byref(number)) == 0:
            major, rest = divmod(number.value, 10000)
            return Library(name, f"{major}.{rest // 100}.{rest % 100}")
    return None


def has_driver() -> bool:
    """Whether CUDA's driver is installed."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def pin() -> None:
    """Makes sums over the same processes give the same bits each time. Before the first communicator."""
    for name, value in PINNED.items():
        os.environ.setdefault(name, value)
