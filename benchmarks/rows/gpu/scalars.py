"""Basic operations of scalar Values: what one costs on a device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import spirograd as sg
from harness.common import Result
from rows.gpu.section import Bench, Section

Operation = Callable[[Any, Any], Any]

A, B = 1.5, -0.5
OPERATIONS: dict[str, tuple[Operation, float]] = {  # name -> (operation, what it gives)
    "Addition": (lambda a, b: a + b, 1.0),
    "Multiplication": (lambda a, b: a * b, -0.75),
    "Power": (lambda a, b: a**3, 3.375),
    "ReLU": (lambda a, b: a.relu(), 1.5),
}


def one_by_one(operation: Operation, a: Any, b: Any, count: int) -> float:
    """Each result is read before the next operation, so a GPU makes the way there and back every time."""
    total = 0.0
    for _ in range(count):
        total += operation(a, b).data
    return total


def together(operation: Operation, a: Any, b: Any, count: int) -> float:
    """All are recorded, then each is read: the first read runs them all."""
    results = [operation(a, b) for _ in range(count)]
    return float(sum(value.data for value in results))


def run(place: Bench) -> Iterator[Result]:
    many = 1000
    few = 20 if place.gpu else many
    a, b = (sg.Value(x, device=place.device) for x in (A, B))
    for name, (operation, right) in OPERATIONS.items():
        for case, way, count in (("each read at once", one_by_one, few), (f"{many:,}, then each read", together, many)):
            work = partial(way, operation, a, b, count)
            if not math.isclose(work() / count, right, rel_tol=1e-5):
                raise ArithmeticError(f"benchmark: {name} gives {work() / count!r}, {right!r} is right")
            yield place.time(name, case, work, inside=count, unit="us")


BASIC = Section("Basic Operations", "scalar Values, every result read; time of one operation", run)
