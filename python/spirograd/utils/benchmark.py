"""How long statements take, under the names of torch.utils.benchmark.

Example:
    >>> timer = sg.utils.benchmark.Timer("x.exp()", globals={"x": sg.ones(10)}, description="exp")
    >>> timer.timeit(3).mean > 0
    True
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from .._core import synchronize

__all__ = ["Compare", "Measurement", "Timer"]

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 0.0))


def _shown(seconds: float) -> str:
    unit, size = next((unit, size) for unit, size in _UNITS if seconds >= size)
    return f"{seconds / (size or 1e-9):.2f} {unit}"


class Measurement:
    """Times of a statement.

    Attributes:
        times: seconds of one run, for each block of runs.
        number_per_run: how many runs a block has.
        title: what was measured.
        description: which variant it is.
    """

    def __init__(self, times: list[float], number_per_run: int, title: str, description: str) -> None:
        self.times, self.number_per_run = sorted(times), number_per_run
        self.title, self.description = title, description

    @property
    def mean(self) -> float:
        """Seconds of a run on average."""
        return sum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        """Seconds of a run, the median of the blocks."""
        return self._at(0.5)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quartile of the blocks."""
        return self._at(0.75) - self._at(0.25)

    def _at(self, part: float) -> float:
        return self.times[round(part * (len(self.times) - 1))]

    def __repr__(self) -> str:
        blocks = (
            f"{len(self.times)} blocks of {self.number_per_run} runs"
            if len(self.times) > 1
            else (f"1 block of {self.number_per_run} runs")
        )
        return f"{self.title}\n{self.description}\n  {_shown(self.median)}\n  {blocks}".replace("\n\n", "\n")


class Timer:
    """Times a statement; each run includes what it computes, which is waited for.

    Args:
        stmt: Python code.
        setup: code that runs once before.
        global_setup: only "".
        timer: gives the time in seconds.
        globals: names that the code uses.
        label, sub_label, description: what is printed.
        env: accepted.
        num_threads: accepted.
        language: only "python".

    Raises:
        ValueError: another language.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py") or global_setup:
            raise ValueError(f"Timer: language {language!r}; statements are Python here")
        self._timer, self._globals = timer, dict(globals or {})
        self._title = ": ".join(filter(None, (label, sub_label))) or stmt.strip()
        self._description = description or ""
        exec(setup, self._globals)
        try:
            self._run = compile(stmt.strip(), "<stmt>", "eval")
        except SyntaxError:
            self._run = compile(stmt, "<stmt>", "exec")

    def _block(self, number: int) -> float:
        begin = self._timer()
        for _ in range(number):
            kept = eval(self._run, self._globals)  # a result that nobody holds is not computed
            synchronize()
            del kept
        return (self._timer() - begin) / number

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of runs, after two runs to warm up."""
        self._block(2)
        return Measurement([self._block(number)], number, self._title, self._description)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Blocks of runs until the time is up."""
        number = max(1, int(min_run_time / 20 / max(self._block(2), 1e-9)))
        times, end = [self._block(number)], self._timer() + min_run_time
        while self._timer() < end:
            times.append(self._block(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(times, number, self._title, self._description)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """blocked_autorange() for longer and longer, until the middle half of the blocks agrees closely enough."""
        while True:
            found = self.blocked_autorange(callback, min_run_time)
            min_run_time *= 4
            if found.iqr <= threshold * found.median or min_run_time > max_run_time:
                return found


class Compare:
    """Prints measurements as a table, a line each."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds lines."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Accepted."""

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted."""

    def highlight_warnings(self) -> None:
        """Accepted."""

    def __str__(self) -> str:
        return "\n".join(f"{r.title} {r.description}".rstrip() + f": {_shown(r.median)}" for r in self._results)

    def print(self) -> None:
        """Prints the table."""
        print(self)
