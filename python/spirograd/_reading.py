"""Reads of values that other tasks of an event loop need not wait for. Called from C++ by these names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np

from ._core import Tensor, bfloat16


def numpy_async(x: Tensor) -> Coroutine[Any, Any, np.ndarray[Any, Any]]:
    """The values, to be awaited. A thread waits for them, without the GIL."""
    x = x.detach()
    copy = x.to("cpu", non_blocking=True) if x.device.kind == "gpu" else x  # starts what is pending, now
    return asyncio.to_thread(copy.numpy)


async def item_async(x: Tensor) -> Any:
    """The only element, to be awaited."""
    if x.numel() != 1:
        raise ValueError(f"item_async: the tensor has {x.numel()} elements; reduce it to one, or use numpy_async()")
    return (await numpy_async(x.float() if x.dtype == bfloat16 else x)).item()
