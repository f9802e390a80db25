"""Where the time goes: on the GPU kernel by kernel, on the host stage by stage, and where neither worked.

Names are those of torch.profiler. Operations are recorded first and run later, fused, so a kernel is not inside the
operation that asked for it: operations, the engine's stages and kernels have rows of their own, which the column
Category tells apart.

Example:
    >>> with sg.profiler.profile() as prof:
    ...     y = (sg.ones(64, 64) @ sg.ones(64, 64)).sum().item()
    >>> text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType

from . import _core

__all__ = ["Event", "EventList", "ProfilerActivity", "Row", "profile", "record_function"]

_IDLE = "idle"


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


@dataclass(slots=True)
class Row:
    """All events of one name and category. Times are microseconds; `self` times leave out the stages inside."""

    key: str
    category: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    device_time_total: float = 0.0
    bytes: int = 0
    flops: int = 0
    shapes: str = ""
    stack: str = ""

    @property
    def self_device_time_total(self) -> float:
        """Time of the GPU."""
        return self.device_time_total

    @property
    def cpu_time(self) -> float:
        """The host's time for each call."""
        return self.cpu_time_total / max(1, self.count)

    @property
    def device_time(self) -> float:
        """The GPU's time for each call."""
        return self.device_time_total / max(1, self.count)

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes over the time of whoever moved them; 0 when nothing was counted."""
        return self._rate(self.bytes, 1e-3)

    @property
    def teraflops(self) -> float:
        """Floating-point operations a second, in units of 10**12."""
        return self._rate(self.flops, 1e-6)

    def _rate(self, amount: int, scale: float) -> float:
        time = self.device_time_total or self.self_cpu_time_total
        return amount * scale / time if time and amount else 0.0

    def _add(self, event: Event) -> None:
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.device_time_total += event.device_time_total
        self.bytes += event.bytes
        self.flops += event.flops
        outer = event.cpu_parent  # a stage inside one of the same name is already part of its time
        while outer is not None and (outer.name, outer.category) != (event.name, event.category):
            outer = outer.cpu_parent
        if outer is None:
            self.cpu_time_total += event.cpu_time_total


_SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total", "self_device_time_total",
    "count", "bytes", "flops",
)  # fmt: skip


class EventList(list[Row]):
    """Rows of a profile, `wall` microseconds long in all."""

    def __init__(self, rows: Iterable[Row], wall: float, clocks: dict[str, str]) -> None:
        super().__init__(rows)
        self.wall = wall
        self._clocks = clocks

    def total_average(self) -> Row:
        """The sum of all rows but idle ones."""
        total = Row("Total", "")
        for row in self:
            if row.category == _IDLE:
                continue
            total.count += row.count
            total.self_cpu_time_total += row.self_cpu_time_total
            total.device_time_total += row.device_time_total
            total.bytes += row.bytes
            total.flops += row.flops
        total.cpu_time_total = total.self_cpu_time_total
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55) -> str:
        """The rows as text.

        Args:
            sort_by: a column, largest first: cpu_time, cpu_time_total, self_cpu_time_total, count, bytes, flops, or
                device_time and so on; `cuda_time` and `gpu_time` mean the same. None: by the time of whoever did it.
            row_limit: how many rows; -1 for all. What is left out is summed up in one row; idle rows always stay.
            max_name_column_width: longer names are cut in the middle.

        Raises:
            ValueError: there is no such column.
        """
        column = (sort_by or "").replace("cuda_", "device_").replace("gpu_", "device_")
        if column and column not in _SORTS:
            raise ValueError(f"table: there is no column '{sort_by}' to sort by; use one of {', '.join(_SORTS)}")
        rows = sorted(
            (r for r in self if r.category != _IDLE),
            key=lambda r: getattr(r, column) if column else r.device_time_total + r.self_cpu_time_total,
            reverse=True,
        )
        idle = [r for r in self if r.category == _IDLE]
        if 0 <= row_limit < len(rows):
            rest = EventList(rows[row_limit:], self.wall, {}).total_average()
            rest.key = f"({len(rows) - row_limit} more)"
            rows = [*rows[:row_limit], rest]
        return _text([*rows, *idle], self, max_name_column_width)


_HEADINGS = (
    "Name", "Category", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "Self GPU %", "Self GPU",
    "GPU time avg", "# of Calls", "MB", "MFLOP", "GB/s", "TFLOP/s",
)  # fmt: skip


def _time(us: float) -> str:
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _cells(row: Row, wall: float, width: int) -> list[str]:
    name = row.key
    if len(name) > width:
        half = (width - 3) // 2
        name = f"{name[: width - 3 - half]}...{name[-half:]}"
    cpu, gpu = row.self_cpu_time_total, row.self_device_time_total
    percent = 100 / wall if wall else 0.0
    return [
        name,
        row.category,
        f"{cpu * percent:.2f}%" if cpu else "--",
        _time(cpu) if cpu else "--",
        _time(row.cpu_time_total) if row.cpu_time_total else "--",
        _time(row.cpu_time) if row.cpu_time_total and row.count else "--",
        f"{gpu * percent:.2f}%" if gpu else "--",
        _time(gpu) if gpu else "--",
        _time(row.device_time) if gpu and row.count else "--",
        str(row.count) if row.count else "--",
        f"{row.bytes / 1e6:.3f}" if row.bytes else "--",
        f"{row.flops / 1e6:.3f}" if row.flops else "--",
        f"{row.gigabytes_per_second:.2f}" if row.bytes else "--",
        f"{row.teraflops:.3f}" if row.flops else "--",
    ]


def _text(rows: list[Row], of: EventList, width: int) -> str:
    lines = [list(_HEADINGS), *(_cells(r, of.wall, width) for r in rows)]
    for extra in ("shapes", "stack"):
        if any(getattr(r, extra) for r in rows):
            for line, text in zip(lines, [extra.capitalize(), *(getattr(r, extra) for r in rows)], strict=True):
                line.append(text)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rule = "  ".join("-" * w for w in widths)
    left = {0, 1, len(_HEADINGS), len(_HEADINGS) + 1}
    body = [
        "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]
    total = of.total_average()
    footer = [f"Self CPU time total: {_time(total.self_cpu_time_total)}", f"Wall time: {_time(of.wall)}"]
    if of._clocks:
        footer.insert(1, f"Self GPU time total: {_time(total.device_time_total)}")
        footer += [f"Clock of {device}: {how}" for device, how in of._clocks.items()]
    return "\n".join([rule, body[0], rule, *body[1:], rule, *footer])


class profile:
    """Measures what happens inside a `with`: every kernel, every stage of the engine, every region.

    Nothing that is pending is run at its begin or end, so results and submissions are those without a profile. What
    is pending at the end is not measured: look at a value, or call `sg.synchronize()`, inside.

    Args:
        activities: ProfilerActivity.CPU, ProfilerActivity.GPU or both; None for both.
        record_shapes: keep the shapes that kernels work on.
        profile_memory: note each allocation and each return of memory, for memory_timeline(); without it, the memory
            after each run.
        with_stack: keep the line of the program that called each operation.

    Raises:
        ValueError: another profile is running.

    Example:
        >>> with sg.profiler.profile(record_shapes=True) as prof:
        ...     with sg.profiler.record_function("forward"):
        ...         y = sg.ones(4, 4).exp().sum().item()
        >>> [e.name for e in prof.events() if e.category == "user_annotation"]
        ['forward']
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
    ) -> None:
        self.activities = frozenset(ProfilerActivity if activities is None else activities)
        for a in self.activities:
            if not isinstance(a, ProfilerActivity):
                raise TypeError(f"profile: an activity is a ProfilerActivity, not {a!r}; use ProfilerActivity.GPU")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.wall = 0.0
        self._events: list[Event] = []
        self._memory: list[Event] = []
        self._begin = 0
        self._thread = 0

    def start(self) -> None:
        """Begins to measure."""
        _core._profile_start(self.with_stack, self.profile_memory)
        self._begin = _core._profile_now()

    def stop(self) -> None:
        """Waits for work that was submitted, then ends the measurement."""
        raw, end, self._thread = _core._profile_stop()
        self.wall = (end - self._begin) / 1e3
        everything = []
        for name, category, device, thread, start, stop, size, flops, shapes, stack in raw:
            event = Event(
                name, category, device, thread, (start - self._begin) / 1e3, (stop - self._begin) / 1e3, size, flops,
                shapes if self.record_shapes else "", stack,
            )  # fmt: skip
            everything.append(event)
        everything.sort(key=lambda e: (e.start, -e.end))
        self._memory = [e for e in everything if e.category == "counter"]
        wanted = {a is ProfilerActivity.GPU for a in self.activities}
        self._events = [e for e in everything if e.category != "counter" and e.on_gpu in wanted]
        _nest(self._events)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def events(self) -> list[Event]:
        """Everything that happened, in order of its begin."""
        return list(self._events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One row for each name and category, then a row for each time in which neither worked.

        The self times of the rows of one thread and its idle row, and the times of a GPU's kernels and its idle row,
        each add up to the wall time.

        Args:
            group_by_input_shape: a row for each shape too; needs record_shapes.
            group_by_stack_n: more than 0: a row for each calling line too; needs with_stack.
        """
        rows: dict[tuple[str, ...], Row] = {}
        for e in self._events:
            shapes = e.shapes if group_by_input_shape else ""
            stack = e.stack if group_by_stack_n > 0 else ""
            key = (e.name, e.category, shapes, stack)
            rows.setdefault(key, Row(e.name, e.category, shapes=shapes, stack=stack))._add(e)
        return EventList([*rows.values(), *self._idle()], self.wall, self.clocks)

    def total_average(self) -> Row:
        """The sum of all rows."""
        return self.key_averages().total_average()

    @property
    def clocks(self) -> dict[str, str]:
        """How each GPU's clock was put on the host's axis: "calibrated" (the driver reads both at one moment) or
        "anchored" (nothing begins before it was submitted; off by the delay of the fastest start)."""
        gpus = sorted({e.device for e in self._events if e.on_gpu})
        return {g: "calibrated" if _core.Device(g).features["calibrated_timestamps"] == "yes" else "anchored"
                for g in gpus}  # fmt: skip

    def memory_timeline(self) -> dict[str, list[tuple[float, int]]]:
        """How much memory tensors and runs held: for each device pairs of a time in microseconds and the bytes from
        then on. `viz.plot_memory` draws it.

        Example:
            >>> with sg.profiler.profile(profile_memory=True) as prof:
            ...     x = sg.ones(1024, 1024)
            ...     sg.synchronize()
            >>> steps = prof.memory_timeline()["cpu"]
            >>> max(size for _, size in steps) >= 4 * 1024 * 1024
            True
        """
        found: dict[str, list[tuple[float, int]]] = {}
        for e in self._memory:
            found.setdefault(e.device, []).append((e.start, e.bytes))
        return found

    def print_summary(self, sort_by: str | None = None, row_limit: int = 20) -> None:
        """Prints the table of `key_averages()`, and how busy each GPU was."""
        rows = self.key_averages()
        print(rows.table(sort_by=sort_by, row_limit=row_limit))
        for row in rows:
            if row.category == _IDLE and row.device_time_total:
                print(f"{row.key[1:-1]}: {100 * row.device_time_total / self.wall:.1f} % of the wall time")
        peaks = {e.device: max(m.bytes for m in self._memory if m.device == e.device) for e in self._memory}
        for device, peak in peaks.items():
            print(f"{device} memory: {peak / 1e6:.1f} MB at most after a run")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for chrome://tracing and Perfetto: the host's threads, a track for each GPU, and
        the bytes that tensors hold as a counter."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": list(self._trace()), "displayTimeUnit": "ms", "clocks": self.clocks}, file)

    def _idle(self) -> Iterator[Row]:
        if ProfilerActivity.CPU in self.activities:
            idle = self.wall - _covered((e for e in self._events if e.thread == self._thread), self.wall)
            yield Row("[host outside spirograd]", _IDLE, cpu_time_total=idle, self_cpu_time_total=idle)
        for gpu in sorted({e.device for e in self._events if e.on_gpu}):
            busy = _covered((e for e in self._events if e.on_gpu and e.device == gpu), self.wall)
            yield Row(f"[{gpu} idle]", _IDLE, device_time_total=self.wall - busy)

    def _trace(self) -> Iterator[dict[str, object]]:
        pids = {"host": os.getpid()}
        for e in [*self._events, *self._memory]:
            track = e.device if e.thread < 0 else "host"
            pids.setdefault(track, os.getpid() + len(pids))
        for track, pid in pids.items():
            name = f"python {pid}" if track == "host" else track
            yield {"name": "process_name", "ph": "M", "ts": 0, "pid": pid, "tid": 0, "args": {"name": name}}
        for e in self._events:
            arguments: dict[str, object] = {"device": e.device}
            for key in ("bytes", "flops", "shapes", "stack"):
                if getattr(e, key):
                    arguments[key] = getattr(e, key)
            yield {
                "name": e.name, "cat": e.category, "ph": "X", "ts": e.start, "dur": e.duration,
                "pid": pids[e.device if e.on_gpu else "host"], "tid": max(e.thread, 0), "args": arguments,
            }  # fmt: skip
        for e in self._memory:
            yield {"name": e.name, "ph": "C", "ts": e.start, "pid": pids[e.device], "tid": 0,
                   "args": {e.name: e.bytes}}  # fmt: skip


def _covered(events: Iterable[Event], wall: float) -> float:
    """The time in [0, wall] that is inside of any event; they come in order of their begin."""
    total, until = 0.0, 0.0
    for e in events:
        begin, end = max(e.start, until), min(e.end, wall)
        if end > begin:
            total += end - begin
            until = end
    return total


def _nest(events: list[Event]) -> None:
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


class record_function(contextlib.ContextDecorator):
    """Names a region of the program, so that profiles show it: for a `with`, or as a decorator.

    Regions nest. Outside a profile it costs next to nothing.

    Args:
        name: what the row is called.

    Example:
        >>> @sg.profiler.record_function("double")
        ... def double(x):
        ...     return x + x
        >>> double(sg.ones(2)).tolist()
        [2.0, 2.0]
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function: the name is a string, not {type(name).__name__}")
        self.name = name
        self._begins = threading.local()

    def __enter__(self) -> record_function:
        begins: list[int] = self._begins.__dict__.setdefault("stack", [])
        begins.append(_core._profile_now())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begin = self._begins.stack.pop()
        _core._profile_annotate(self.name, begin, _core._profile_now())
