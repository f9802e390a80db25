"""Training steps of whole networks and of the layers that they spend their time in, with PyTorch and JAX beside them.

    python benchmarks/bench_train.py                            # every row, every device, every library installed
    python benchmarks/bench_train.py --device gpu --anchors torch
    python benchmarks/bench_train.py --list

Writes benchmarks/results/train-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bench_conv  # noqa: F401  each enters its rows
import spirograd as sg
from harness import program
from harness.anchors import torch_for
from harness.common import Result, Timing, run_python
from harness.rows import Context, judged, microseconds, row
from models import networks
from rows import loader  # noqa: F401
from rows.ops import attention, recurrent  # noqa: F401
from rows.ops.compare import Form, Goal, Operation, normal
from rows.ops.reduce import copies
from rows.slice.train import MLP, counted, libraries, step_results

CHARACTERS = 65
SMALL = networks.gpt(CHARACTERS, 2, 4, 128, time=64, batch=12)
LARGE = networks.gpt(CHARACTERS, 6, 6, 384, time=256, batch=64)
TINY = networks.gpt(CHARACTERS, 1, 2, 16, time=8, batch=2)  # does it run at all


@row("gpt2")
def gpt2(context: Context) -> Iterator[Result]:
    """A training step of a GPT of 2 layers, 4 heads, 128 wide; context 64, batch 12, Adam; on a GPU also replayed."""
    most, goal = (1.2, Goal(("torch",), most=0.32)) if context.gpu else (0, Goal(("torch", "torch.compile"), most=1.0))
    network = TINY if context.quick else SMALL
    found = libraries(context, network)
    if context.gpu:
        found["spirograd replayed"] = network.steps(sg, context.device, sg.synchronize, compiled=True)
    yield from step_results(context, "gpt2", "L2 H4 E128, T 64, batch 12", found, 10, most, goal)


@row("gpt6", cpu=False)
def gpt6(context: Context) -> Iterator[Result]:
    """A training step of a GPT of 6 layers, 6 heads, 384 wide; context 256, batch 64, Adam."""
    found = libraries(context, TINY if context.quick else LARGE)
    goal = Goal(("torch",), most=1.9)
    yield from step_results(context, "gpt6", "L6 H6 E384, T 256, batch 64", found, 3, 60, goal)


@row("gpt2_counters")
def gpt2_counters(context: Context) -> Iterator[Result]:
    """What a training step of the GPT of 2 layers asks of the device."""
    yield from counted(context, "gpt2_counters", SMALL, 90)


@row("replay")
def replay(context: Context) -> Iterator[Result]:
    """What a replayed training step (sg.compile) costs the processor: the call alone, and until the work is done.

    Each call finds the device idle. On a CPU the call does the work, so it is also timed with sizes of 1: the same
    kernels with nothing in them.
    """
    for sizes, batch in ((MLP, 64), ((1, 1, 1, 2), 1)):
        network = networks.mlp(*sizes, batch=batch)
        net, optimizer, x, y = network.begin(sg, context.device)

        def step(x: Any, y: Any, of: Any = (network, net, optimizer)) -> Any:
            return of[0].step(sg, *of[1:], x, y)

        ways = {"recorded": step, "replayed": sg.compile(step)}
        timings = {way: timed_calls(call, (x, y), context) for way, call in ways.items()}
        case = f"MLP {'-'.join(map(str, sizes))}, Adam, batch {batch}"
        for way, (called, done) in timings.items():
            judge = way == "replayed" and (context.gpu or sizes != MLP)
            goal = judged(microseconds(called.median), 20, "us") if judge else ""
            for what, timing, target in (("the call", called, goal), ("until it is done", done, "")):
                found = {"spirograd": timing}
                yield from context.results("replay", f"{case}, {way}, {what}", found, "us", microseconds, target)


def timed_calls(step: Callable[..., Any], batch: tuple[Any, ...], context: Context) -> tuple[Timing, Timing]:
    """Seconds of calls, and of calls with the wait for their work."""
    for _ in range(5):  # the first ones are recorded
        loss = step(*batch)
    sg.synchronize(context.device)
    called, done = [], []
    gc.disable()
    try:
        for _ in range(20 if context.quick else 2000):
            begin = time.perf_counter()
            loss = step(*batch)
            middle = time.perf_counter()
            sg.synchronize(context.device)
            end = time.perf_counter()
            called.append(middle - begin)
            done.append(end - begin)
    finally:
        gc.enable()
    if not math.isfinite(loss.item()):
        raise ArithmeticError("benchmark: the loss is not finite")
    return Timing.of(called), Timing.of(done)


@row("norm")
def norm(context: Context) -> Iterator[Result]:
    """nn.functional.layer_norm over rows, forward and with backward (1024 x 1024; on a GPU 8192 x 8192)."""
    n = 64 if context.quick else 8192 if context.gpu else 1024
    form: Form = lambda t, x, w, b: t.nn.functional.layer_norm(x, (n,), w, b)  # noqa: E731
    inputs = normal(n, n), normal(n, seed=1), normal(n, seed=2)
    for backward in (False, True):
        upstream = normal(n, n, seed=3) if backward else None
        operation = Operation(inputs, form, {"torch": form}, upstream, copies=copies(context, n * n))
        case = f"[{n}, {n}]{', forward and backward' * backward}"
        goal = Goal(("torch",), most=(0.82 if backward else 1.0) if context.gpu else 1.0)
        yield from operation.run(context, "norm", case, goal)


@row("peak_mlp", gpu=False)
def peak_mlp(context: Context) -> Iterator[Result]:
    """The most memory of a process that trains the MLP at batch 64, in all."""
    steps = 20 if context.quick else 500
    for library in ("spirograd", *(["torch"] if torch_for(context) else [])):
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from models import peak"
        value = float(run_python(f"{code}; peak.print_peak({library!r}, {steps})").stdout)
        goal = judged(value, 90, "MiB") if library == "spirograd" else ""
        yield Result("peak_mlp", f"{steps} steps", library, str(context.device), value, "MiB", None, goal)


ROWS = (
    "step64", "step1024", "step16384", "small", "gpt2", "gpt6", "cnn", "lstm", "conv", "attention", "norm",
    "counters", "gpt2_counters", "replay", "prefetch", "peak_mlp",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(program.run("train", "Training steps of networks.", ("torch", "compile", "jax"), ROWS))
