"""A progress bar: tqdm's where it is installed, otherwise a plain line of text. It never reads a tensor."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO


class Progress:
    """Counts to `total`, where that is known; on a terminal as a moving line, elsewhere as one line at the end.

    >>> with Progress(3, "steps", stream=sys.stdout) as bar:
    ...     for _ in range(3):
    ...         bar.advance()  # doctest: +ELLIPSIS
    steps: 3/3...
    """

    def __init__(self, total: int | None, label: str, stream: TextIO | None = None) -> None:
        self.total, self.label = total, label
        self.done = 0
        self.note = ""
        self._stream = stream or sys.stderr
        self._start = self._shown = time.perf_counter()
        self._tqdm: Any = None
        if self._live():
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._tqdm = tqdm(total=total, desc=label, file=self._stream, leave=True, dynamic_ncols=True)

    def advance(self, count: int = 1, note: str | None = None) -> None:
        """Adds `count`; `note` replaces the words at the end of the line."""
        self.done += count
        if note is not None:
            self.note = note
        if self._tqdm is not None:
            if note is not None:
                self._tqdm.set_postfix_str(note, refresh=False)
            self._tqdm.update(count)
        elif self._live() and (now := time.perf_counter()) - self._shown > 0.1:
            self._shown = now
            self._stream.write("\r" + self._line() + " ")
            self._stream.flush()

    def close(self) -> None:
        """Writes the last state; further calls do nothing."""
        if self._tqdm is not None:
            self._tqdm.close()
            self._tqdm = None
        elif self._start:
            self._stream.write(("\r" if self._live() else "") + self._line() + "\n")
            self._stream.flush()
        self._start = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _live(self) -> bool:
        return self._stream.isatty()

    def _line(self) -> str:
        seconds = max(time.perf_counter() - self._start, 1e-9)
        width = 20
        bar = ""
        if self.total is None:
            return f"{self.label}: {self.done}, {self._pace(seconds)}"
        if self._live():
            filled = width * self.done // max(self.total, 1)
            bar = " [" + "#" * filled + "." * (width - filled) + "]"
        return f"{self.label}:{bar} {self.done}/{self.total}, {self._pace(seconds)}"

    def _pace(self, seconds: float) -> str:
        return f"{self.done / seconds:.0f}/s, {seconds:.1f} s" + (f", {self.note}" if self.note else "")
