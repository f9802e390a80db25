"""The progress bar of a training: epoch, values, and how full and how busy the GPU is."""

from __future__ import annotations

import time

from .. import _core
from .._core import Device
from ..progress import Progress
from .state import Training, short

FULL = 0.9  # of the memory of a GPU


class Bar(Progress):
    """A bar that watches the device of the training until it is closed."""

    def __init__(self, total: int | None, device: Device) -> None:
        super().__init__(total, "fit")
        self._device = device
        _core._watch_busy(True)
        self._since, self._busy = time.perf_counter_ns(), _core._busy_nanoseconds(device)

    def close(self) -> None:
        if self._open:
            _core._watch_busy(False)
        super().close()

    def describe(self, training: Training, values: dict[str, float]) -> str:
        """The words at the end of the line."""
        shown = "".join(f", {name} {short(value)}" for name, value in values.items())
        return f"epoch {training.epoch}/{training.epochs}{shown}{self._gpu()}"

    def _gpu(self) -> str:
        """The memory in use, and the share of the time since the last call in which the GPU computed; warns when little
        memory is left."""
        device = self._device
        if device.kind == "cpu":
            return ""
        if device.memory_free < (1 - FULL) * device.memory_total:
            _core._warn_at_line(f"fit: over {FULL:.0%} of the memory of {device} is in use; use a smaller batch_size")
        used = f", {_core._device_stats(device)['bytes_live'] / 2**20:,.0f} MiB"
        now, busy = time.perf_counter_ns(), _core._busy_nanoseconds(device)
        share = (busy - self._busy) / (now - self._since)
        self._since, self._busy = now, busy
        return f"{used}, busy {min(share, 1.0):.0%}" if busy else used
