"""The list of rows of a bench_*.py, and what a row is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.common import Result, Timing


@dataclass
class Context:
    """One device and how much time there is."""

    device: Any  # sg.Device
    gpu: bool
    quick: bool
    anchors: frozenset[str]  # of "torch", "compile", "jax", "numpy"

    @property
    def seconds(self) -> float:
        return 0.15 if self.quick else 1.0

    @property
    def turns(self) -> dict[str, Any]:
        """Arguments of `measure`."""
        return {"seconds": self.seconds, "least": 3 if self.quick else 9}

    def results(
        self,
        row: str,
        case: str,
        timings: dict[str, Timing],
        unit: str,
        value: Callable[[float], float],
        target: str = "",
        ours: str = "spirograd",
    ) -> Iterator[Result]:
        """A result a library; `value` makes the number from the median seconds; the target is ours."""
        for library, timing in timings.items():
            goal = target if library == ours else ""
            yield Result(row, case, library, str(self.device), value(timing.median), unit, timing, goal)


@dataclass(frozen=True)
class Row:
    name: str
    doc: str
    run: Callable[[Context], Iterator[Result]]
    cpu: bool
    gpu: bool


ROWS: dict[str, Row] = {}


def row(name: str, *, cpu: bool = True, gpu: bool = True) -> Callable[[Any], Any]:
    """Enters a function as a row; the first line of its docstring is what it measures."""

    def enter(run: Callable[[Context], Iterator[Result]]) -> Callable[[Context], Iterator[Result]]:
        ROWS[name] = Row(name, (run.__doc__ or "").strip().partition("\n")[0], run, cpu, gpu)
        return run

    return enter


def milliseconds(seconds: float) -> float:
    return seconds * 1e3


def microseconds(seconds: float) -> float:
    return seconds * 1e6


def judged(value: float, most: float, unit: str = "") -> str:
    """The goal of a number, and whether it is missed."""
    return f"<= {most:g}{' ' * bool(unit)}{unit}{'' if value <= most else ': MISSED'}"
