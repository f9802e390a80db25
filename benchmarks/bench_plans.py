"""What a new plan costs, and what programs whose shapes change cost, with PyTorch beside them.

    python benchmarks/bench_plans.py                     # every row, every device
    python benchmarks/bench_plans.py --rows linear --device cpu

Writes benchmarks/results/plans-DATE.json. Close other programs first.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import program
from anchors import torch_for
from common import Result, Timing
from plan_families import FAMILIES, Family
from rows import Context, judged, row

import spirograd as sg
from spirograd.profiler import profile

FITTED_FROM = 800  # operations: below, what every plan costs is a good part


@row("linear")
def linear(context: Context) -> Iterator[Result]:
    """Time of planning n new operations of twelve families of graphs, and the exponent of its growth with n."""
    sizes = [100 * 2**i for i in range(5 if context.quick else 11)]
    widths = iter(range(3, 10_000))  # another one each time, so that no plan is known
    for name, family in FAMILIES.items():
        points = [planning(context, family, n, widths) for n in sizes]
        for about, most in ((1_000, 8.0), (10_000, 60.0)):
            nodes, seconds = min(points, key=lambda p: abs(math.log(p[0] / about)))
            value = seconds / nodes * about * 1e3
            goal = judged(value, most, "ms")
            yield Result(
                "linear", f"{name}, {about:,} operations", "spirograd", str(context.device), value, "ms", target=goal
            )
        value = exponent([p for p in points if p[0] >= FITTED_FROM])
        yield Result(
            "linear", f"{name}, exponent", "spirograd", str(context.device), value, "", target=judged(value, 1.15)
        )


def planning(context: Context, family: Family, n: int, widths: Iterator[int]) -> tuple[float, float]:
    """Recorded operations, and the median of the seconds that the scheduler took for them."""
    found = []
    for _ in range(3 if n > 20_000 else 5):
        sg.synchronize()
        sg.reset_stats()
        with profile() as prof:
            held = family(context.device, n, next(widths))
            sg.synchronize()
        found.append((sg.stats()["nodes"], sum(e.end - e.start for e in prof.events() if e.name == "schedule") * 1e-6))
        del held
    return median(nodes for nodes, _ in found), median(seconds for _, seconds in found)


def exponent(points: list[tuple[float, float]]) -> float:
    """The slope of log(time) over log(n)."""
    n, seconds = np.log(np.array(points)).T
    return float(np.polyfit(n, seconds, 1)[0])


# ---- programs --------------------------------------------------------------------------------------------------------
def once(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def libraries(context: Context) -> Iterator[tuple[str, Any, Callable[..., Any], Callable[[Any], Any]]]:
    """Name, module, how to make a tensor, and how to wait for one."""

    def ours(*shape: int, grad: bool = False) -> Any:
        return sg.ones(*shape, device=context.device, requires_grad=grad)

    yield "spirograd", sg, ours, lambda x: x.cpu().numpy()
    if "torch" in context.anchors and (torch := torch_for(context)):
        place = torch.device

        def theirs(*shape: int, grad: bool = False) -> Any:
            return torch.torch.ones(*shape, device=place, requires_grad=grad)

        yield "torch", torch.torch, theirs, lambda x: x.cpu().numpy()


def first_and_again(context: Context, row: str, case: str, programs: dict[str, Callable[[], Any]]) -> Iterator[Result]:
    """The first call of each program, and the median of later ones."""
    for library, call in programs.items():
        first = once(call) * 1e3
        again = Timing.of([once(call) * 1e3 for _ in range(3 if context.quick else 9)])
        yield Result(row, f"{case}, first", library, str(context.device), first, "ms")
        yield Result(row, f"{case}, again", library, str(context.device), again.median, "ms", again)


@row("unrolled")
def unrolled(context: Context) -> Iterator[Result]:
    """A loop of n steps with one weight and its gradient, first and again, for lengths that are new."""
    for n in (11, 21) if context.quick else (101, 203, 407, 811):
        programs = {}
        for library, t, make, wait in libraries(context):

            def loop(t: Any = t, make: Any = make, wait: Any = wait, n: int = n) -> None:
                w, h = make(1, grad=True), make(1)
                for _ in range(n):
                    h = t.tanh(h * w[0])
                h.sum().backward()
                wait(w.grad)

            programs[library] = loop
        yield from first_and_again(context, "unrolled", f"{n} steps", programs)


@row("rows")
def rows_of_products(context: Context) -> Iterator[Result]:
    """The sum of 300 numbers, each out of a log_softmax of a product of its own, and its gradient."""
    n = 20 if context.quick else 300
    programs = {}
    for library, t, make, wait in libraries(context):
        w, xs = make(4, 3, grad=True), [make(1, 4) for _ in range(n)]

        def episode(t: Any = t, w: Any = w, xs: Any = xs, wait: Any = wait) -> None:
            w.grad = None
            t.stack([t.log_softmax(x @ w, 1)[0, 1] for x in xs]).sum().backward()
            wait(w.grad)

        programs[library] = episode
    yield from first_and_again(context, "rows", f"{n} rows", programs)


@row("elements")
def elements(context: Context) -> Iterator[Result]:
    """One element read or written in a loop, at other random places each time."""
    n = 200 if context.quick else 2000
    random = np.random.default_rng(0)
    for case in ("N[i, j] += 1", "N[i, j] = 1.0", "s += P[i, j]"):
        for library, _, make, wait in libraries(context):
            x, s = make(16, 16), make(1)

            def loop(case: str = case, x: Any = x, s: Any = s, wait: Any = wait) -> None:
                for i, j in random.integers(0, 16, (n, 2)).tolist():
                    if case == "s += P[i, j]":
                        s += x[i, j]
                    elif case == "N[i, j] = 1.0":
                        x[i, j] = 1.0
                    else:
                        x[i, j] += 1
                wait(s)
                wait(x)

            loop()
            timing = Timing.of([once(loop) / n * 1e6 for _ in range(3 if context.quick else 9)])
            goal = judged(timing.median, 8, "us") if library == "spirograd" else ""
            yield Result("elements", case, library, str(context.device), timing.median, "us", timing, goal)


@row("join")
def join(context: Context) -> Iterator[Result]:
    """3,000 tensors joined, in us a tensor, and 10,000 numbers shuffled."""
    n = 100 if context.quick else 3000
    for case in ("cat", "stack"):
        for library, t, make, wait in libraries(context):
            parts = [make(1, 8) for _ in range(n)]

            def joined(t: Any = t, parts: Any = parts, wait: Any = wait, case: str = case) -> None:
                wait(getattr(t, case)(parts))

            joined()
            timing = Timing.of([once(joined) / n * 1e6 for _ in range(3 if context.quick else 9)])
            goal = judged(timing.median, 5, "us") if library == "spirograd" else ""
            yield Result("join", f"{case} of {n:,}", library, str(context.device), timing.median, "us", timing, goal)
    for library, t, make, wait in libraries(context):
        place = make(1).device

        def shuffled(t: Any = t, place: Any = place, wait: Any = wait) -> None:
            wait(t.randperm(10_000, device=place))

        shuffled()
        timing = Timing.of([once(shuffled) * 1e6 for _ in range(9)])
        goal = judged(timing.median, 100, "us") if library == "spirograd" else ""
        yield Result("join", "randperm(10000)", library, str(context.device), timing.median, "us", timing, goal)


if __name__ == "__main__":
    sys.exit(program.run("plans", "New plans, changing shapes.", ("torch",)))
