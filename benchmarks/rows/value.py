"""Rows about scalars: single operations, small networks, the moons, millions of nodes.

The same functions build the same graphs for every library: only the leaf maker differs. A lazy engine could skip what
nobody reads, so the value and a gradient that depend on all of the work are read inside every timed region.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import Torch
from harness.common import Result, Timing, measure, run_python
from harness.rows import Context, microseconds, milliseconds, row

Work = Callable[[], Any]
SIZES = (10, 20, 20, 1)


# ---- libraries -------------------------------------------------------------------------------------------------------
def micrograd_for(context: Context) -> Any:
    """The package, where it is wanted: it runs on the CPU only."""
    return importlib.import_module("micrograd.nn") if "micrograd" in context.anchors and not context.gpu else None


def torch_for(context: Context) -> Torch | None:
    torch = Torch(context.gpu) if "torch" in context.anchors else None
    return torch if torch and torch.device is not None else None


def leaves(context: Context) -> dict[str, Callable[[float], Any]]:
    """Library -> what makes a scalar of a number; ours first."""
    found: dict[str, Callable[[float], Any]] = {"spirograd": lambda x: sg.Value(x, device=context.device)}
    if micrograd := micrograd_for(context):
        found["micrograd"] = micrograd.Value
    return found


def models(context: Context, nin: int, nouts: list[int]) -> dict[str, Any]:
    """The same network in each library that has one of scalars."""
    found = {}
    random.seed(1337)
    found["spirograd"] = sg.MLP(nin, nouts, device=context.device)
    if micrograd := micrograd_for(context):
        random.seed(1337)
        found["micrograd"] = micrograd.MLP(nin, nouts)
    return found


def read(x: Any) -> float:
    return float(getattr(x, "data", x))


def agree(results: dict[str, float], tolerance: float = 1e-9) -> None:
    """A fast wrong result is no result."""
    truth = next(iter(results.values())) if len(results) == 1 else results[list(results)[-1]]
    for library, value in results.items():
        if not abs(value - truth) <= tolerance * max(1, abs(truth)):
            raise ArithmeticError(f"benchmark: {library} has {value!r}, {truth!r} is right")


def collected(works: dict[str, Work]) -> dict[str, Work]:
    """With Python's garbage collector on, as in every program that does not turn it off (`measure` does)."""

    def on(work: Work) -> Work:
        def run() -> Any:
            gc.enable()
            try:
                return work()
            finally:
                gc.disable()

        return run

    return {library: on(work) for library, work in works.items()}


# ---- single operations -----------------------------------------------------------------------------------------------
def kept_chain(make: Callable[[float], Any], links: int) -> float:
    """x * b + a, each result kept and needed by the next; the last is read."""
    x, a, b = make(1.0), make(1.0), make(0.5)
    kept = []
    for _ in range(links):
        x = x * b + a
        kept.append(x)
    return read(kept[-1])


@row("kept", gpu=False)
def kept(context: Context) -> Iterator[Result]:
    """x * b + a, every result kept: time of one operation, beside Python's floats."""
    links = 1_000 if context.quick else 10_000
    made = leaves(context) | ({"floats": lambda x: x} if "floats" in context.anchors else {})
    works = {library: (lambda make=make: kept_chain(make, links)) for library, make in made.items()}
    agree({library: work() for library, work in works.items()})
    for case, group, target in (
        ("collector on", collected(works), "<= 2 x floats"),
        ("collector off", works, ""),
    ):
        timings = measure(group, calls_inside=2 * links, **context.turns)
        yield from context.results("kept", f"x * b + a, an operation, {case}", timings, "us", microseconds, target)


def chains(make: Callable[[float], Any], count: int, links: int) -> float:
    """Many short chains and their sum, not too deep for micrograd's recursion: build, backward, read, free."""
    x, a, b = make(1.0), make(1.0), make(0.5)
    total = x
    for _ in range(count):
        y = x
        for _ in range(links):
            y = y * b + a
        total = total + y
    total.backward()
    return read(total) + float(a.grad)


@row("build", gpu=False)
def build(context: Context) -> Iterator[Result]:
    """A graph built, run backward and freed: time of one operation."""
    count, links = (20, 50) if context.quick else (200, 50)
    works = {library: (lambda make=make: chains(make, count, links)) for library, make in leaves(context).items()}
    agree({library: work() for library, work in works.items()})
    timings = measure(collected(works), calls_inside=count * (2 * links + 1), **context.turns)
    case = "build + backward + free, an operation"
    yield from context.results("build", case, timings, "us", microseconds, "<= 0.16 us")


# ---- a small network -------------------------------------------------------------------------------------------------
def torch_mlp(torch: Torch, sizes: Sequence[int], weights: Sequence[float]) -> Any:
    """The same network of tensors, float32, with the same weights."""
    t, layers, rest = torch.torch, [], iter(weights)
    for fan_in, fan_out in itertools.pairwise(sizes):
        linear = t.nn.Linear(fan_in, fan_out)
        with t.no_grad():
            for j in range(fan_out):
                linear.weight[j] = t.tensor([next(rest) for _ in range(fan_in)])
                linear.bias[j] = next(rest)
        layers += [linear, t.nn.ReLU()]
    return t.nn.Sequential(*layers[:-1]).to(torch.device)


def floats_mlp(sizes: Sequence[int], weights: Sequence[float], x: Sequence[float]) -> float:
    """The forward pass on plain floats, in the order of the scalar engines."""
    rest, values = iter(weights), list(x)
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        out = []
        for _ in range(fan_out):
            w = [next(rest) for _ in range(fan_in)]
            s = sum((a * b for a, b in zip(w, values, strict=True)), next(rest))
            out.append(s if i + 2 == len(sizes) else 0 if s < 0 else s)
        values = out
    return values[0]


@row("mlp")
def mlp(context: Context) -> Iterator[Result]:
    """The MLP 10-20-20-1 on one sample: forward; forward and backward. Building the graph is included."""
    x = [0.1 * i - 0.4 for i in range(SIZES[0])]
    forward: dict[str, Work] = {}
    both: dict[str, Work] = {}
    weights: list[float] = []

    def add(library: str, model: Any) -> None:
        first = model.parameters()[0]

        def backward() -> float:
            y = model(x)
            y.backward()
            return read(y) + 0.0 * first.grad

        forward[library] = lambda: read(model(x))
        both[library] = backward

    for library, model in models(context, SIZES[0], list(SIZES[1:])).items():
        weights = weights or [p.data for p in model.parameters()]
        add(library, model)
    if torch := torch_for(context):
        net, tx = torch_mlp(torch, SIZES, weights), torch.array(np.array(x, np.float32))
        first_weight = net[0].weight

        def torch_both() -> float:
            y = net(tx)
            y.backward()
            return float(y.item()) + 0.0 * float(first_weight.grad[0, 0].item())

        forward["torch tensors"], both["torch tensors"] = lambda: float(net(tx).item()), torch_both
    if "floats" in context.anchors and not context.gpu:
        forward["floats"] = lambda: floats_mlp(SIZES, weights, x)
    for case, works, inside, target in (
        ("forward", forward, 1, "" if context.gpu else "<= 0.012 ms"),
        ("forward + backward", both, 1, "<= 0.18 ms" if context.gpu else "<= 0.030 ms"),
    ):
        agree({library: work() for library, work in works.items()}, 1e-5)
        timings = measure(collected(works), calls_inside=inside, **context.turns)
        name = f"MLP {'-'.join(map(str, SIZES))}, {case}"
        yield from context.results("mlp", name, timings, "ms", milliseconds, target)


@row("counters", cpu=False)
def counters(context: Context) -> Iterator[Result]:
    """What forward and backward of the MLP 10-20-20-1 ask of the device, from the third time on."""
    model = models(context, SIZES[0], list(SIZES[1:]))["spirograd"]
    parameters = model.parameters()

    def step() -> float:
        y = model([0.1] * SIZES[0])
        model.zero_grad()
        y.backward()
        return float(y.data) + sum(p.grad for p in parameters)

    step(), step()
    n = 8
    sg.reset_stats()
    for _ in range(n):
        if not math.isfinite(step()):
            raise ArithmeticError("benchmark: the gradients are not finite")
    counted = sg.stats()
    targets = {"host_scalar_ops": "0", "submissions": "1", "allocations": "0", "kernels_compiled": "0"}
    for name, target in (targets | {"dispatches": "", "bytes_read": ""}).items():
        yield Result("counters", name, "spirograd", str(context.device), counted[name] / n, "a pass", None, target)


# ---- the moons -------------------------------------------------------------------------------------------------------
def moons(count: int) -> tuple[Any, Any]:
    """Two half circles with noise, [count, 2]; labels -1 and 1."""
    draw = np.random.default_rng(1337)
    angle = np.linspace(0, np.pi, count // 2)
    outer, inner = [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]
    points = np.concatenate([np.stack(outer, 1), np.stack(inner, 1)])
    return points + draw.normal(scale=0.1, size=points.shape), np.repeat([-1, 1], count // 2)


def scalar_step(make: Callable[[float], Any], model: Any, points: Any, labels: Sequence[int]) -> float:
    """One step of micrograd's demo: scores, margins, the squares of the weights, backward, update. Returns the loss."""
    scores = [model([make(x) for x in point]) for point in points]
    margins = [(1 + -label * score).relu() for label, score in zip(labels, scores, strict=True)]
    loss = sum(margins) * (1.0 / len(margins)) + 1e-4 * sum(p * p for p in model.parameters())
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.01 * p.grad
    return read(loss)


def torch_step(torch: Torch, model: Any, points: Any, labels: Any) -> float:
    """The same on whole vectors."""
    margins = torch.torch.relu(1 - labels * model(points)[:, 0])
    loss = margins.mean() + 1e-4 * sum((p * p).sum() for p in model.parameters())
    model.zero_grad()
    loss.backward()
    with torch.torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad
    return float(loss.item())


@row("moons")
def moons_row(context: Context) -> Iterator[Result]:
    """One training step of micrograd's demo: the MLP 2-16-16-1 on 100 points."""
    points, labels = moons(20 if context.quick else 100)
    rows, signs = points.tolist(), labels.tolist()
    made, works = leaves(context), {}
    for library, model in models(context, 2, [16, 16, 1]).items():
        weights = [p.data for p in model.parameters()]
        works[library] = lambda make=made[library], model=model: scalar_step(make, model, rows, signs)
    if torch := torch_for(context):
        net = torch_mlp(torch, (2, 16, 16, 1), weights)
        tx, ty = torch.array(points.astype(np.float32)), torch.array(labels.astype(np.float32))
        works["torch vectors"] = lambda: torch_step(torch, net, tx, ty)
    agree({library: work() for library, work in works.items()}, 1e-5)
    case, target = f"one step, {len(rows)} points", "<= 1.5 ms" if context.gpu else "<= 2 ms"
    timings = measure(collected(works), **context.turns)
    yield from context.results("moons", f"{case}, collector on", timings, "ms", milliseconds, target)
    if not context.gpu:
        timings = measure(works, **context.turns)
        yield from context.results("moons", f"{case}, collector off", timings, "ms", milliseconds)


# ---- large graphs ----------------------------------------------------------------------------------------------------
def once(work: Work, count: int) -> Timing:
    """For work too long to be repeated many times."""
    samples = []
    for _ in range(count):
        gc.collect()
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return Timing.of(samples)


def adds(x: Any, count: int, slope: Callable[[], float]) -> None:
    y = x
    for _ in range(count):
        y = y + x
    y.backward()
    if not (y.item() if hasattr(y, "item") else y.data) == count + 1 == slope():
        raise ArithmeticError("benchmark: a sum is wrong")


@row("million")
def million(context: Context) -> Iterator[Result]:
    """1,000,000 dependent additions: build, backward and free. micrograd's recursion ends far below."""
    count = 10_000 if context.quick else 1_000_000

    def ours() -> None:
        x = sg.Value(1.0, device=context.device)
        adds(x, count, lambda: x.grad)

    timings = {"spirograd": once(ours, 3 if context.quick else 7)}
    if torch := torch_for(context):

        def theirs() -> None:
            x = torch.torch.tensor(1.0, dtype=torch.torch.float64, device=torch.device, requires_grad=True)
            adds(x, count, lambda: x.grad.item())

        timings["torch tensors"] = once(theirs, 1)
    target = "" if context.gpu else "<= 0.2 s"
    yield from context.results("million", f"{count:,} adds", timings, "s", lambda s: s, target)


TEN_MILLION = """
import pathlib, threading, time
import spirograd as sg

def work():
    start = time.perf_counter()
    x = sg.Value(1.0)
    y = x
    for _ in range({count}):
        y = y + x
    y.backward()
    assert y.data == x.grad == {count} + 1
    del y
    print(time.perf_counter() - start)

threading.stack_size(512 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
lines = pathlib.Path("/proc/self/status").read_text().splitlines()  # getrusage counts the parent's peak too
print(1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")))
"""


@row("ten_million", gpu=False)
def ten_million(context: Context) -> Iterator[Result]:
    """10,000,000 dependent additions on a stack of 512 KiB, in a process of their own: time, and memory at the peak."""
    count = 100_000 if context.quick else 10_000_000
    runs = [[float(x) for x in run_python(TEN_MILLION.format(count=count)).stdout.split()] for _ in range(3)]
    timing = Timing.of([seconds for seconds, _ in runs])
    case = f"{count:,} adds"
    yield from context.results("ten_million", case, {"spirograd": timing}, "s", lambda s: s, "<= 3 s")
    peak = max(b for _, b in runs) / 2**30
    yield Result("ten_million", f"{case}, peak", "spirograd", str(context.device), peak, "GiB", None, "<= 1.5 GiB")


@row("levels", cpu=False)
def levels(context: Context) -> Iterator[Result]:
    """1,000,000 nodes in 100 levels: forward and backward, values go up and come back; building is not timed."""
    width, depth = (500, 20) if context.quick else (11_500, 86)
    samples, nodes = [], 0
    for _ in range(3 if context.quick else 7):
        xs = [sg.Value(float(i % 3), device=context.device) for i in range(width)]
        w = sg.Value(-1.0, device=context.device)
        level: list[Any] = xs
        for k in range(depth):
            level = [v * w for v in level] if k % 2 == 0 else [v + xs[0] for v in level]
        nodes = width * depth
        while len(level) > 1:
            nodes += len(level) // 2
            level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + level[len(level) // 2 * 2 :]
        (root,) = level
        del level
        gc.collect()
        start = time.perf_counter()
        root.backward()
        value, gradient = root.data, xs[-1].grad
        samples.append(time.perf_counter() - start)
        if gradient != (-1) ** ((depth + 1) // 2) or not math.isfinite(value):
            raise ArithmeticError(f"benchmark: a gradient is {gradient}")
        del root, w, xs
    depth += math.ceil(math.log2(width))
    timings = {"spirograd": Timing.of(samples[1:])}  # the first compiles
    case = f"{nodes:,} nodes in {depth} levels, forward + backward"
    yield from context.results("levels", case, timings, "ms", milliseconds, "<= 6 ms")
