"""Profiles of some steps of a long loop."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..base.keywords import naming_keywords

__all__ = ["ProfilerAction", "schedule", "tensorboard_trace_handler"]


class _Trace(Protocol):
    def export_chrome_trace(self, path: Any) -> None: ...


class ProfilerAction(enum.Enum):
    """What a profile does in a step.

    Example:
        >>> sg.profiler.schedule(wait=1, warmup=1, active=2)(0)
        <ProfilerAction.NONE: 0>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


@naming_keywords
def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps of a loop `profile(schedule=...)` measures: rounds of steps without, then with.

    Args:
        wait: steps at the beginning of a round that are not measured.
        warmup: steps after those, not measured either; in PyTorch the profiler warms up in them.
        active: steps that are measured, 1 or more.
        repeat: how many rounds; 0: until the end.
        skip_first: steps before the first round.

    Returns:
        The action of a step, by its number.

    Raises:
        ValueError: a number is negative, or `active` is 0.

    Example:
        >>> plan = sg.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
        >>> [plan(step).name for step in range(3)]
        ['NONE', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            f"schedule: wait {wait}, warmup {warmup}, active {active}, repeat {repeat}, skip_first {skip_first}; "
            "use 1 or more for active, 0 or more for the others"
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        at = step % length
        if at == length - 1:
            return ProfilerAction.RECORD_AND_SAVE
        if at >= wait + warmup:
            return ProfilerAction.RECORD
        return ProfilerAction.WARMUP if at >= wait else ProfilerAction.NONE

    return action


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[_Trace], None]:
    """For `profile(on_trace_ready=...)`: writes each trace to a file in a folder that TensorBoard's profiler reads.

    Args:
        dir_name: the folder, made if there is none.
        worker_name: what the files are called; None: the machine and the process.
        use_gzip: whether they are compressed.

    Raises:
        OSError: the folder cannot be written, when a trace is.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with sg.profiler.profile(on_trace_ready=sg.profiler.tensorboard_trace_handler(folder, "me")):
        ...         y = sg.ones(4).sum().item()
        ...     [name.split(".")[0] for name in os.listdir(folder)]
        ['me']
    """

    def write(found: _Trace) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns() // 1_000_000}.pt.trace.json" + ".gz" * use_gzip
        found.export_chrome_trace(folder / name)

    return write
