"""The profile itself, and regions that the program names."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from .. import _core
from ..base.keywords import naming_keywords
from .events import Event, ProfilerActivity, covered, nest
from .schedule import ProfilerAction
from .table import IDLE, EventList, Row

__all__ = ["profile", "record_function"]


@naming_keywords
class profile:
    """Measures what happens inside a `with`: every kernel, every stage of the engine, every region.

    Nothing that is pending is run at its begin or end, so results and submissions are those without a profile. What
    is pending at the end is not measured: look at a value, or call `sg.synchronize()`, inside.

    With a schedule it measures some steps of a loop that calls step() at the end of each: each round of measured steps
    is a profile of its own, which on_trace_ready gets; the last one can be looked at afterwards.

    Args:
        activities: ProfilerActivity.CPU, ProfilerActivity.GPU or both; None for both.
        schedule: which steps are measured: sg.profiler.schedule(...), or a function of the step's number; None: all
            that happens.
        on_trace_ready: called with the profile when a round of steps, or all, was measured.
        record_shapes: keep the shapes that kernels work on.
        profile_memory: note each allocation and each return of memory, for memory_timeline(); without it, the memory
            after each run.
        with_stack: keep the line of the program that called each operation.
        with_flops, with_modules: accepted; operations are always counted.

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
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], object] | None = None,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        self.activities = frozenset(ProfilerActivity if activities is None else activities)
        for a in self.activities:
            if not isinstance(a, ProfilerActivity):
                raise TypeError(f"profile: an activity is a ProfilerActivity, not {a!r}; use ProfilerActivity.GPU")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.wall = 0.0
        self._events: list[Event] = []
        self._memory: list[Event] = []
        self._begin = 0
        self._thread = 0
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._action = ProfilerAction.NONE

    def start(self) -> None:
        """Begins to measure, or to count steps."""
        self._go_on(ProfilerAction.NONE, self._schedule(self.step_num))

    def stop(self) -> None:
        """Waits for work that was submitted, then ends the measurement."""
        self._go_on(self._action, ProfilerAction.NONE)

    def step(self) -> None:
        """Says that the next step of a loop begins."""
        self.step_num += 1
        self._go_on(self._action, self._schedule(self.step_num))

    def _go_on(self, before: ProfilerAction, action: ProfilerAction) -> None:
        measured, measures = (a in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) for a in (before, action))
        ends = measured and (not measures or before is ProfilerAction.RECORD_AND_SAVE)
        if ends:
            self._end()
            self._action = ProfilerAction.NONE  # whatever on_trace_ready does
            if self.on_trace_ready:
                self.on_trace_ready(self)
        if measures and (ends or not measured):
            _core._profile_start(self.with_stack, self.profile_memory)
            self._begin = _core._profile_now()
        self._action = action

    def _end(self) -> None:
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
        nest(self._events)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return repr(self.key_averages())

    def _repr_html_(self) -> str:
        return self.key_averages()._repr_html_()

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
            rows.setdefault(key, Row(e.name, e.category, shapes=shapes, stack=stack)).add(e)
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
            if row.category == IDLE and row.device_time_total:
                print(f"{row.key[1:-1]}: {100 * row.device_time_total / self.wall:.1f} % of the wall time")
        peaks = {e.device: max(m.bytes for m in self._memory if m.device == e.device) for e in self._memory}
        for device, peak in peaks.items():
            print(f"{device} memory: {peak / 1e6:.1f} MB at most after a run")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for chrome://tracing and Perfetto: the host's threads, a track for each GPU, and
        the bytes that tensors hold as a counter. A path that ends with .gz is compressed."""
        opened = gzip.open if os.fspath(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump({"traceEvents": list(self._trace()), "displayTimeUnit": "ms", "clocks": self.clocks}, file)

    def _idle(self) -> Iterator[Row]:
        if ProfilerActivity.CPU in self.activities:
            idle = self.wall - covered((e for e in self._events if e.thread == self._thread), self.wall)
            yield Row("[host outside spirograd]", IDLE, cpu_time_total=idle, self_cpu_time_total=idle)
        for gpu in sorted({e.device for e in self._events if e.on_gpu}):
            busy = covered((e for e in self._events if e.on_gpu and e.device == gpu), self.wall)
            yield Row(f"[{gpu} idle]", IDLE, device_time_total=self.wall - busy)

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
