"""A progress bar: a line that changes on a terminal, a bar in a notebook, elsewhere one line at the end.

It never reads a tensor.
"""

from __future__ import annotations

import html
import importlib
import os
import shutil
import sys
import time
from types import TracebackType
from typing import Any, TextIO

from . import _core

WIDTH = 20  # characters of the bar
REDRAW_EVERY = 0.1  # seconds; a notebook keeps up with this as well


class Progress:
    """Counts to `total`, where that is known.

    Args:
        total: what `done` is at the end; None where that is unknown.
        label: in front.
        stream: where the line goes; None: to stderr, and in a notebook below the cell.
        done: what was done before, in work that is resumed.

    >>> import sys
    >>> with sg.progress.Progress(3, "steps", stream=sys.stdout) as bar:
    ...     for _ in range(3):
    ...         bar.advance()  # doctest: +ELLIPSIS
    steps: 3/3...
    """

    def __init__(self, total: int | None, label: str, stream: TextIO | None = None, done: int = 0) -> None:
        self.total, self.label = total, label
        self.done = self._first = done
        self.note = ""
        self._stream = stream or sys.stderr
        self._cell = _Cell() if stream is None and in_notebook() else None
        self._open = True
        self._start = self._shown = time.perf_counter()

    def advance(self, count: int = 1, note: str | None = None) -> None:
        """Adds `count`; `note` replaces the words at the end of the line."""
        self.done += count
        if note is not None:
            self.note = note
        if (now := time.perf_counter()) - self._shown > REDRAW_EVERY:
            self._shown = now
            self._draw()

    def print(self, text: str) -> None:
        """Prints a line to stdout that stays, above the bar."""
        if self._on_terminal():
            self._stream.write("\r\033[K")
            self._stream.flush()
        print(text, flush=True)
        self._draw()

    def close(self) -> None:
        """Writes the last state; further calls do nothing."""
        if not self._open:
            return
        self._open = False
        self._draw()
        if self._cell is None:
            self._stream.write("\n" if self._on_terminal() else f"{self._line(0)}\n")
            self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _on_terminal(self) -> bool:
        return self._cell is None and self._stream.isatty()

    def _draw(self) -> None:
        if self._cell is not None:
            self._cell.show(self._line(0), self._share())
        elif self._stream.isatty():
            columns = _columns(self._stream)
            lines = (self._line(bar, pace) for bar, pace in ((WIDTH, True), (0, True), (0, False)))
            line = next((text for text in lines if len(text) < columns), self._line(0, False))
            self._stream.write(f"\r{line[: columns - 1]}\033[K")
            self._stream.flush()

    def _share(self) -> float | None:
        return None if self.total is None else min(self.done / max(self.total, 1), 1.0)

    def _line(self, width: int, pace: bool = True) -> str:
        """The state, with a bar of this width and how fast it goes."""
        count, share = str(self.done), self._share()
        if share is not None:
            filled = int(width * share)
            bar = f"[{'#' * filled}{'.' * (width - filled)}] " if width else ""
            count = f"{bar}{self.done}/{self.total}"
        parts = [f"{self.label}: {count}", *([self._pace()] if pace else []), self.note]
        return ", ".join(part for part in parts if part)

    def _pace(self) -> str:
        seconds = max(time.perf_counter() - self._start, 1e-9)
        rate = (self.done - self._first) / seconds
        text = f"{rate:.3g}/s" if rate < 100 else f"{rate:.0f}/s"
        if self._open and self.total is not None and rate > 0:
            return f"{text}, {_clock((self.total - self.done) / rate)} left"
        return f"{text}, {_clock(seconds)}"


_kernels: Progress | None = None


def compiling(done: int, total: int) -> None:
    """Shows how many of a GPU's kernels are compiled. The engine calls it while a program waits for them."""
    global _kernels
    if _kernels is None:
        _kernels = Progress(total, "compiling kernels")
        _kernels.note = (
            f"once; they are kept in {folder}" if (folder := _core._cache_folder()) else "SPIROGRAD_CACHE is 0"
        )
    _kernels.total = max(total, done)
    _kernels.advance(done - _kernels.done)
    if done >= total:
        _kernels.close()
        _kernels = None


class _Cell:
    """What a notebook shows below a cell, and changes there."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str, share: float | None) -> None:
        display = importlib.import_module("IPython.display").display
        shown = {"text/plain": line, "text/html": _html(line, share)}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _html(line: str, share: float | None) -> str:
    bar = "" if share is None else f'<progress value="{share:.3f}" style="width: 12em"></progress> '
    return f'<div style="font-family: monospace; white-space: nowrap">{bar}{html.escape(line)}</div>'


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def is_shown(stream: TextIO) -> bool:
    """Whether somebody looks at a bar: on a terminal, or in a notebook."""
    return in_notebook() or stream.isatty()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # no file, or none of a terminal
        return shutil.get_terminal_size().columns


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
