"""What a profile finds: stretches of work."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Event", "ProfilerActivity"]


class ProfilerActivity(enum.Enum):
    """What a profile shows.

    Example:
        >>> sg.profiler.ProfilerActivity.CUDA is sg.profiler.ProfilerActivity.GPU
        True
    """

    CPU = "cpu"
    GPU = "gpu"
    CUDA = "gpu"  # the name in PyTorch scripts


@dataclass(slots=True, eq=False)
class Event:
    """One stretch of work, of the host or of a device. Times are microseconds since the profile began.

    Attributes:
        name: of the operation, the stage, the region, or the plan's step.
        category: cpu_op (a recorded operation), stage (of the engine), user_annotation (record_function), step (of a
            plan, on the CPU), kernel (the same on a GPU), gpu_memcpy.
        device: what it ran on or worked for: "cpu", "gpu:0".
        thread: number of the host's thread; -1 on a GPU.
        bytes: read and written, each element of each view once.
        flops: arithmetic instructions times elements; 2 m n k for a product.
        shapes: of the step's domain or of the operands of a product, with record_shapes.
        stack: the line of the program that called, with with_stack.
    """

    name: str
    category: str
    device: str
    thread: int
    start: float
    end: float
    bytes: int = 0
    flops: int = 0
    shapes: str = ""
    stack: str = ""
    cpu_parent: Event | None = field(default=None, repr=False)
    self_cpu_time_total: float = 0.0

    @property
    def on_gpu(self) -> bool:
        """Whether the work ran on a GPU."""
        return self.thread < 0

    @property
    def duration(self) -> float:
        """From start to end."""
        return self.end - self.start

    @property
    def cpu_time_total(self) -> float:
        """Time of the host; 0 for what a GPU did."""
        return 0.0 if self.on_gpu else self.duration

    @property
    def device_time_total(self) -> float:
        """Time of the GPU; 0 for what the host did."""
        return self.duration if self.on_gpu else 0.0

    @property
    def self_device_time_total(self) -> float:
        """The same: kernels do not nest."""
        return self.device_time_total


def covered(events: Iterable[Event], wall: float) -> float:
    """The time in [0, wall] that is inside of any event; they come in order of their begin."""
    total, until = 0.0, 0.0
    for e in events:
        begin, end = max(e.start, until), min(e.end, wall)
        if end > begin:
            total += end - begin
            until = end
    return total


def nest(events: list[Event]) -> None:
    """Finds, on each thread, the event around each event, and what it does itself."""
    open_on: dict[int, list[Event]] = {}
    for e in events:
        if e.on_gpu:
            continue
        e.self_cpu_time_total = e.duration
        stack = open_on.setdefault(e.thread, [])
        while stack and stack[-1].end < e.end:
            stack.pop()
        if stack:
            e.cpu_parent = stack[-1]
            e.cpu_parent.self_cpu_time_total -= e.duration
        stack.append(e)
