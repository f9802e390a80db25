"""torch.autograd.profiler: the profiler by its old place."""

from __future__ import annotations

from typing import Any

from ....profiler import profile, record_function
from ....profiler.table import EventList

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]


class emit_nvtx:
    """A context in which nothing changes: marks for NVIDIA's tools are not written."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *args: Any) -> None:
        pass
