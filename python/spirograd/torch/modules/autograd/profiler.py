"""torch.autograd.profiler: the profiler by its old place."""

from __future__ import annotations

from typing import Any

from ....profiler import profile as measured
from ....profiler import record_function
from ....profiler.table import EventList

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]


class profile(measured):
    """The profiler with the arguments that it has at this place.

    Args:
        enabled: False measures nothing.
        record_shapes, profile_memory, with_stack: as there.
        others: `use_cuda` and other ways to measure, which choose nothing.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **others: Any,
    ) -> None:
        super().__init__(None, record_shapes, profile_memory, with_stack)
        self.enabled = enabled

    def __enter__(self) -> profile:
        if self.enabled:
            super().__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        if self.enabled:
            super().__exit__(*args)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of the CPU in all events."""
        return float(sum(e.self_cpu_time_total for e in self.key_averages()))


class emit_nvtx:
    """A context in which nothing changes: marks for NVIDIA's tools are not written."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *args: Any) -> None:
        pass
