"""Reads of values that other tasks of an event loop need not wait for. Called from C++ by these names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np

from ._core import Tensor


def numpy_async(x: Tensor) -> Coroutine[Any, Any, np.ndarray[Any, Any]]:
    """The values, to be awaited. A thread waits for them, without the GIL."""
    x = x.detach()
    copy = x.to("cpu", non_blocking=True) if x.device.kind == "gpu" else x  # starts what is pending, now
    return asyncio.to_thread(copy.numpy)
