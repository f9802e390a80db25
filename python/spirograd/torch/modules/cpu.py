"""torch.cpu: the CPU, asked as a GPU is."""

from __future__ import annotations

import contextlib
from typing import Any

from ... import _core
from .cuda import Stream

__all__ = ["Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "stream"]
__all__ += ["synchronize"]

StreamContext = contextlib.AbstractContextManager
_only = Stream()


def is_available() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """ "cpu"."""
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _only


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[Any]:
    """A context in which nothing changes."""
    return stream or contextlib.nullcontext()


def synchronize(device: Any = None) -> None:
    """Runs what is pending on the CPU."""
    _core.synchronize("cpu")
