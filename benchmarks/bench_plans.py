"""What a new plan costs, and what programs whose shapes change cost, with PyTorch beside them.

    python benchmarks/bench_plans.py                     # every row, every device
    python benchmarks/bench_plans.py --rows linear --device cpu

Writes benchmarks/results/plans-DATE.json. Close other programs first.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

import spirograd as sg
from harness import program
from harness.anchors import torch_for
from harness.common import Result, Timing
from harness.rows import Context, judged, row
from models.networks import Network, densenet, gpt
from rows.plan_families import FAMILIES, Family
from spirograd.profiler import profile

FITTED_FROM = 800  # operations: below, what every plan costs is a good part


@row("linear", gpu=False)  # the scheduler is the same
def linear(context: Context) -> Iterator[Result]:
    """Host time of n new operations of twelve families of graphs, from key to plans, and the exponent of its growth."""
    sizes = [100 * 2**i for i in range(5 if context.quick else 11)]
    for name, family in FAMILIES.items():
        points = [planning(context, family, n) for n in sizes]
        for about, most in ((1_000, 8.0), (10_000, 60.0)):
            nodes, seconds = min(points, key=lambda p: abs(math.log(p[0] / about)))
            value = seconds / nodes * about * 1e3
            goal = judged(value, most, "ms")
            yield Result(
                "linear", f"{name}, {about:,} operations", "spirograd", str(context.device), value, "ms", target=goal
            )
        value = exponent([p for p in points if p[0] >= FITTED_FROM] if not context.quick else points)
        yield Result(
            "linear", f"{name}, exponent", "spirograd", str(context.device), value, "", target=judged(value, 1.15)
        )


def planning(context: Context, family: Family, n: int) -> tuple[float, float]:
    """Recorded operations, and the median of the seconds from their key to their plans.

    A log that is new is planned; a loop of a new length is cut into pieces, most of which have their plans. Preparing
    and running kernels is left out.
    """
    found = []
    for i in range(3 if n > 20_000 else 5):
        sg.synchronize()
        sg.reset_stats()
        with profile() as prof:
            held = family(context.device, n + 20 * i, 5)  # a few operations more: the log is new
            sg.synchronize()
        took = {"flush": 0.0, "prepare": 0.0, "step": 0.0}
        for e in prof.events():
            kind = e.name if e.category == "stage" else e.category
            if kind in took:
                took[kind] += (e.end - e.start) * 1e-6
        found.append((sg.stats()["nodes"], took["flush"] - took["prepare"] - took["step"]))
        del held
    return median(nodes for nodes, _ in found), median(seconds for _, seconds in found)


def exponent(points: list[tuple[float, float]]) -> float:
    """The slope of log(time) over log(n)."""
    n, seconds = np.log(np.array(points)).T
    return float(np.polyfit(n, seconds, 1)[0])


@row("lookup")
def lookup(context: Context) -> Iterator[Result]:
    """A flush whose plan is known: its key, finding it, and running a kernel for each 150 operations, an operation."""
    for n in (1_000, 7_000):
        x, w = sg.ones(4, device=context.device).realize(), sg.ones(4, device=context.device).realize()

        def record(n: int = n, x: Any = x, w: Any = w) -> Any:
            y = x
            for i in range(n // 3):
                y = sg.tanh(y * w + float(i))
                if i % 50 == 49:
                    y = y.cumsum(0)
            return y

        seconds = []
        for _ in range(12 if context.quick else 40):
            y = record()
            seconds.append(once(y.realize))
        timing = Timing.of([s / n * 1e9 for s in seconds[len(seconds) // 4 :]])
        goal = judged(timing.median, 60, "ns")
        yield Result("lookup", f"{n:,} operations", "spirograd", str(context.device), timing.median, "ns", timing, goal)


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


def chain_of(t: Any, make: Callable[..., Any]) -> Callable[[int], Any]:
    """A loop with one weight."""
    w, x = make(3, grad=True), make(32)

    def run(n: int) -> Any:
        h = x
        for _ in range(n):
            h = t.tanh(h * w[0])
        w.grad = None
        h.sum().backward()
        return w.grad

    return run


def lstm_of(t: Any, make: Callable[..., Any]) -> Callable[[int], Any]:
    """An LSTM written by hand."""
    wx, wh, b, x = make(16, 256, grad=True), make(64, 256, grad=True), make(256, grad=True), make(200, 8, 16)

    def run(n: int) -> Any:
        h, c = make(8, 64) * 0, make(8, 64) * 0
        for i in range(n):
            gates = (x[i] @ wx + h @ wh) * 0.1 + b
            i_, f, o, u = gates.chunk(4, 1)
            c = t.sigmoid(f) * c + t.sigmoid(i_) * t.tanh(u)
            h = t.sigmoid(o) * t.tanh(c)
        wx.grad = wh.grad = b.grad = None
        (h * h).mean().backward()
        return wh.grad

    return run


def episode_of(t: Any, make: Callable[..., Any]) -> Callable[[int], Any]:
    """REINFORCE: the gradient of the returns of n actions."""
    w1, w2, x = make(4, 64, grad=True), make(64, 2, grad=True), make(200, 1, 4)
    actions = [(make(1, 1) * (i % 2)).to(t.int64) for i in range(200)]

    def run(n: int) -> Any:
        loss = 0
        for i in range(n):
            chances = t.softmax(t.relu(x[i] @ w1) @ w2 * 0.1, 1)
            loss = loss - t.log(chances.gather(1, actions[i])) * (0.5 + 0.01 * i)
        w1.grad = w2.grad = None
        loss.sum().backward()
        return w1.grad

    return run


@row("lengths")
def lengths_in_random_order(context: Context) -> Iterator[Result]:
    """Loops of 1 to 200 rounds in random order, each once, with gradients, a round; and how many plans they need."""
    lengths = list(range(1, 21 if context.quick else 201))
    random.Random(0).shuffle(lengths)
    for case, program_of in (("chain", chain_of), ("LSTM by hand", lstm_of), ("REINFORCE", episode_of)):
        for library, t, make, wait in libraries(context):
            run = program_of(t, make)
            wait(run(3))
            sg.reset_stats()
            start = time.perf_counter()
            for n in lengths:
                wait(run(n))
            value = (time.perf_counter() - start) / sum(lengths) * 1e6
            facts = {"plans": sg.stats()["plan_misses"], "kernels": sg.stats()["kernels_compiled"]}
            yield Result("lengths", case, library, str(context.device), value, "us", facts=facts if t is sg else {})


BATCHES = (2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5)


def seconds_of_steps(network: Callable[[int], Network], t: Any, place: Any, wait: Callable[[Any], Any]) -> list[float]:
    """Of a training step with each of the BATCHES."""
    net, optimizer, _, _ = network(2).begin(t, place)
    seconds = []
    for batch in BATCHES:
        x, y = (t.tensor(values, device=place) for values in network(batch).batch(np.random.default_rng(0)))
        start = time.perf_counter()
        wait(network(batch).step(t, net, optimizer, x, y).detach())
        seconds.append(time.perf_counter() - start)
    return seconds


@row("changed")
def changed_batch(context: Context) -> Iterator[Result]:
    """A training step the first time, again, and with a batch of another size than the one before."""
    for case, network in {
        "densenet121, 32 x 32": lambda batch: densenet(6, 12, 24, 16, growth=32, side=32, batch=batch),
        "GPT of 6 layers": lambda batch: gpt(vocabulary=65, layers=6, heads=4, width=64, time=16, batch=batch),
    }.items():
        for library, t, make, wait in libraries(context):
            seconds = seconds_of_steps(network, t, make(1).device, wait)
            is_other = [a != b for a, b in itertools.pairwise(BATCHES)]
            kinds = {
                "first": seconds[:1],
                "again": [s for s, other in zip(seconds[2:], is_other[1:], strict=True) if not other],
                "another batch": [s for s, other in zip(seconds[1:], is_other, strict=True) if other],
            }
            timings = {kind: Timing.of([s * 1e3 for s in found]) for kind, found in kinds.items()}
            most = 1.5 * timings["again"].median
            for kind, timing in timings.items():
                goal = judged(timing.median, round(most, 1), "ms") if t is sg and kind == "another batch" else ""
                yield Result(
                    "changed", f"{case}, {kind}", library, str(context.device), timing.median, "ms", timing, goal
                )


@row("elements")
def elements(context: Context) -> Iterator[Result]:
    """One element read or written in a loop, at other random places each time."""
    n = 200 if context.quick else 2000
    places = np.random.default_rng(0)
    for case in ("N[i, j] += 1", "N[i, j] = 1.0", "s += P[i, j]"):
        for library, _, make, wait in libraries(context):
            x, s = make(16, 16), make(1)

            def loop(case: str = case, x: Any = x, s: Any = s, wait: Any = wait) -> None:
                for i, j in places.integers(0, 16, (n, 2)).tolist():
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
