"""Arrays that are mapped from files, which others can cut meanwhile."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ..._core import FileFormatError
from ...serialization._arrays import reason


def opened(path: str) -> Any:
    """The array of a .npy file, mapped.

    Raises:
        FileFormatError: the file is none.
    """
    try:
        array = np.load(path, mmap_mode="r")
        if not isinstance(array, np.memmap):
            raise ValueError("it is an archive")
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever NumPy raises about a forged header
        raise FileFormatError(f"ArrayDataset: {path} is not a .npy file that can be mapped ({reason(error)})") from None
    return array


def whole(array: Any) -> Any:
    """The array; before a read, because one beyond the end of its file would end the process.

    Raises:
        FileFormatError: its file has become shorter than what is mapped.
    """
    memory = getattr(array, "_mmap", None) if isinstance(array, np.memmap) else None
    if memory is not None:
        mapped = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + len(memory)
        if (size := memory.size()) < mapped:
            said = f"{array.filename} has {size:,} bytes, {mapped:,} are mapped"
            raise FileFormatError(f"data: {said}; it was cut: write new data to a new file")
    return array
