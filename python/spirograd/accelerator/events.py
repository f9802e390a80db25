"""Events: points in the order of a device's work."""

from __future__ import annotations

import time
from typing import Any

from .. import _core
from ..base.types import DeviceLike

__all__ = ["Event"]

_marks: dict[_core.Device, _core.Tensor] = {}  # one number on each device, whose copy to the host is the event


class Event:
    """A point in the order of work on a device, which a program can ask about without waiting.

    Args:
        device: whose work; None: the GPU, if there is one, else the CPU, which has nothing to wait for.
        enable_timing: whether elapsed_time() will be asked. Its time is that of the host, so record() then waits.

    Example:
        >>> event = sg.Event()
        >>> y = sg.ones(64, 64) @ sg.ones(64, 64)
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
    """

    def __init__(self, device: DeviceLike | None = None, *, enable_timing: bool = False) -> None:
        self.device = _core.Device.best() if device is None else _core.device(device)
        self.enable_timing = enable_timing
        self._copy: _core.Tensor | None = None
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """The point is here: starts what is pending, and waits for nothing unless timing was asked for.

        Args:
            stream: accepted; a device has one.
        """
        mark = _marks.get(self.device)
        if mark is None:
            mark = _marks[self.device] = _core.zeros(1, dtype=_core.uint8, device=self.device)
        mark.realize()
        self._copy = mark.to("cpu", non_blocking=True)
        if self.enable_timing:
            self.synchronize()
            self._time = time.perf_counter()

    def query(self) -> bool:
        """Whether all work before the point is done; True before record()."""
        return self._copy is None or _core._has_arrived(self._copy)

    def synchronize(self) -> None:
        """Waits until all work before the point is done."""
        if self._copy is not None:
            self._copy.numpy()

    wait = synchronize

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one.

        Raises:
            ValueError: one of them keeps no time, or was not recorded.
        """
        if self._time is None or end_event._time is None:
            raise ValueError("elapsed_time: an event has no time; make both with enable_timing=True, and record them")
        return (end_event._time - self._time) * 1e3
