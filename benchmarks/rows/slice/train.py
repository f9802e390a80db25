"""Rows about training: one step of a network, its counters, and very many steps."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import jax_for, torch_for
from harness.common import Result, measure, run_python
from harness.rows import Context, judged, milliseconds, row
from models import networks
from models.networks import Steps
from rows.ops.compare import Goal

MLP = (784, 512, 256, 10)
SMALL = (10, 20, 20, 1)


def spirograd_steps(sizes: tuple[int, ...], batch: int, device: Any) -> Steps:
    return networks.mlp(*sizes, batch=batch).steps(sg, device, sg.synchronize)


def jax_steps(jax: Any, sizes: tuple[int, ...], batch: int) -> Steps:
    jnp, tree = jax.jnp, jax.jax.tree_util.tree_map
    random = np.random.default_rng(0)
    x, y = (jax.array(a) for a in networks.mlp(*sizes, batch=batch).batch(random))
    weights = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = fan_in**-0.5
        weights.append(
            (
                jax.array(random.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32)),
                jax.array(random.uniform(-bound, bound, fan_out).astype(np.float32)),
            )
        )

    def loss_of(weights: Any, x: Any, y: Any) -> Any:
        for i, (w, b) in enumerate(weights):
            x = x @ w + b
            if i + 1 < len(weights):
                x = jnp.maximum(x, 0)
        if sizes[-1] == 1:
            return ((x - y) ** 2).mean()
        return -jnp.take_along_axis(jax.jax.nn.log_softmax(x), y[:, None], 1).mean()

    def step(weights: Any, m: Any, v: Any, t: Any, x: Any, y: Any) -> Any:
        loss, g = jax.jax.value_and_grad(loss_of)(weights, x, y)
        t = t + 1
        m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = tree(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, m, v)
        return weights, m, v, t, loss

    fast = jax.jax.jit(step, donate_argnums=(0, 1, 2, 3))
    zeros = tree(jnp.zeros_like, weights)
    state = [weights, zeros, tree(jnp.zeros_like, weights), jnp.float32(0)]

    def steps(n: int) -> float:
        for _ in range(n):
            *state[:], loss = fast(*state, x, y)
        last = float(loss)
        jax.jax.block_until_ready(state)
        return last

    return steps


def libraries(context: Context, network: networks.Network) -> dict[str, Steps]:
    found = {"spirograd": network.steps(sg, context.device, sg.synchronize)}
    if torch := torch_for(context):
        if "torch" in context.anchors:
            found["torch"] = network.steps(torch.torch, torch.device, torch.wait)
        if "compile" in context.anchors:
            found["torch.compile"] = network.steps(torch.torch, torch.device, torch.wait, compiled=True)
    return found


def step_results(
    context: Context, row: str, case: str, found: dict[str, Steps], inside: int, most: float, goal: Goal | None
) -> Iterator[Result]:
    """The time of a step in each library; `most` ms of ours (0: no goal), and a goal beside the others."""
    calls = {name: (lambda steps=steps: steps(inside)) for name, steps in found.items()}
    timings = measure(calls, calls_inside=inside, **context.turns)
    ours = goal.ours if goal else "spirograd"
    text = judged(milliseconds(timings[ours].median), most, "ms") if most else ""
    yield from context.results(row, case, timings, "ms", milliseconds, text, ours)
    if goal:
        yield from goal.result(context, row, case, timings)


def mlp_row(
    context: Context,
    row: str,
    sizes: tuple[int, ...],
    batch: int,
    inside: int,
    most: float,
    goal: Goal | None,
    replayed: bool = False,
) -> Iterator[Result]:
    network = networks.mlp(*sizes, batch=batch)
    found = libraries(context, network)
    if replayed:
        found["spirograd replayed"] = network.steps(sg, context.device, sg.synchronize, compiled=True)
    if jax := jax_for(context):
        found["jax.jit"] = jax_steps(jax, sizes, batch)
    case = f"MLP {'-'.join(map(str, sizes))}, Adam, batch {batch:,}"
    yield from step_results(context, row, case, found, inside, most, goal)


EVERY = ("torch", "torch.compile", "jax.jit")


@row("step64")
def step64(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 64."""
    most, goal = (0.12, Goal(("torch",), most=0.12)) if context.gpu else (0, Goal(EVERY, most=0.9))
    yield from mlp_row(context, "step64", MLP, 64, 20, most, goal)


@row("step1024")
def step1024(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 1,024."""
    most, goal = (0.2, Goal(("torch",), most=0.18)) if context.gpu else (0, Goal(EVERY, most=1.0))
    yield from mlp_row(context, "step1024", MLP, 1024, 20 if context.gpu else 4, most, goal)


@row("step16384")
def step16384(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 16,384."""
    most, goal = (2.0, Goal(("torch",), most=1.67)) if context.gpu else (0, None)
    yield from mlp_row(context, "step16384", MLP, 16384, 10 if context.gpu else 1, most, goal)


@row("small")
def small(context: Context) -> Iterator[Result]:
    """Time of a training step of a tiny network, one sample a step; replayed, as JAX's compiled step."""
    most, goal = (0, None) if context.gpu else (0.06, Goal(("jax.jit",), most=0.68, ours="spirograd replayed"))
    yield from mlp_row(context, "small", SMALL, 1, 100, most, goal, replayed=True)


def counted(context: Context, row: str, network: networks.Network, dispatches: int) -> Iterator[Result]:
    """What a training step asks of the device, from the third step on."""
    net, optimizer, x, y = network.begin(sg, context.device)
    for _ in range(3):
        loss = network.step(sg, net, optimizer, x, y)  # held while the next one is made, as below
    n = 8
    sg.synchronize()
    sg.reset_stats()
    for _ in range(n):
        loss = network.step(sg, net, optimizer, x, y)
    sg.synchronize()
    found = sg.stats()
    if not math.isfinite(loss.item()):
        raise ArithmeticError("benchmark: the loss is not finite")
    goals = {"submissions": 1, "dispatches": dispatches, "allocations": 0, "plan_misses": 0, "kernels_compiled": 0}
    for name, most in (goals | {"fallbacks": 0, "bytes_read": 0}).items():
        value = found[name] / n
        yield Result(row, name, "spirograd", str(context.device), value, "a step", None, judged(value, most))
    yield Result(row, "barriers", "spirograd", str(context.device), found["barriers"] / n, "a step")


@row("counters")
def counters(context: Context) -> Iterator[Result]:
    """What a training step at batch 64 asks of the device."""
    yield from counted(context, "counters", networks.mlp(*MLP, batch=64), 16)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def alone(function: str, context: Context, total: int) -> dict[str, float]:
    """What a function of this file prints, in a process that does nothing else."""
    here = str(Path(__file__).parents[2])
    call = f"train.{function}({str(context.device)!r}, {total})"
    code = f"import sys; sys.path.insert(0, {here!r}); from rows.slice import train; {call}"
    printed: dict[str, float] = json.loads(run_python(code).stdout)
    return printed


@row("soak")
def soak(context: Context) -> Iterator[Result]:
    """Growth of memory over many training steps, after the first 100, in a process that does nothing else."""
    total = 500 if context.quick else 10_000
    for what, growth in alone("print_growth", context, total).items():
        target = {"held and kept": "0", "resident": "< 1 MiB"}.get(what, "")
        yield Result("soak", f"{total:,} steps, {what}", "spirograd", str(context.device), growth, "MiB", None, target)


COUNTED = {"plans made": "plan_misses", "kernels compiled": "kernels_compiled"}


@row("shapes")
def shapes(context: Context) -> Iterator[Result]:
    """Growth of memory over 100,000 steps of changing shapes, from their second tenth to their last."""
    total = 1_000 if context.quick else 100_000
    for what, growth in alone("print_growth_of_shapes", context, total).items():
        unit = "" if what in COUNTED else "MiB"
        yield Result("shapes", f"{total:,} steps, {what}", "spirograd", str(context.device), growth, unit)


def print_growth_of_shapes(name: str, total: int) -> None:
    """As JSON: by how many MiB the most of each kind of memory grew between the second tenth and the last."""
    steps = [changing(sg.device(name), kind) for kind in ("mlp", "cnn", "lstm", "attention")]
    choose = random.Random(0)
    most: list[dict[str, int]] = []
    start = perf_counter()
    for tenth in range(1, 11):
        seen = []
        for i in range(total // 10):
            choose.choice(steps)()
            if i % 100 == 0:
                seen.append(memory(sg.device(name)))
        most.append({what: max(m[what] for m in seen) for what in seen[0]})
        text = ", ".join(f"{what} {value / 2**20:.1f} MiB" for what, value in most[-1].items())
        print(f"{tenth} of 10, {perf_counter() - start:.0f} s: {text}", file=sys.stderr, flush=True)
    growth = {what: (value - most[1][what]) / 2**20 for what, value in most[-1].items()}
    print(json.dumps(growth | {what: sg.stats()[counter] for what, counter in COUNTED.items()}))


def changing(device: Any, kind: str) -> Callable[[], None]:
    """A training step that draws its batch, length or image size anew each time."""
    nn, functional, draw = sg.nn, sg.nn.functional, random.Random(kind)
    net = {
        "mlp": lambda: nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8)),
        "cnn": lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3)),
        "lstm": lambda: nn.LSTM(16, 32, batch_first=True),
        "attention": lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True),
    }[kind]()
    net = net.to(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=1e-3)

    def step() -> None:
        batch, side = draw.randrange(1, 65), draw.randrange(6, 25)
        shape = {
            "mlp": (16 * batch, 24),
            "cnn": (1 + batch % 8, 3, side, side),
            "lstm": (1 + batch % 8, side, 16),
            "attention": (1 + batch % 8, side, 32),
        }[kind]
        out = net(sg.randn(*shape, device=device))
        out = out[0] if isinstance(out, tuple) else out
        optimizer.zero_grad()
        if kind == "mlp":
            loss = functional.cross_entropy(out, sg.randint(0, 8, (len(out),), device=device))
        else:
            loss = (out * out).mean()
        loss.backward()
        optimizer.step()

    return step


def print_growth(name: str, total: int) -> None:
    """As JSON: MiB of each kind of memory that `total` steps after the first 100 added."""
    device = sg.device(name)
    steps = spirograd_steps(MLP, 64, device)
    steps(100)
    before = memory(device)
    for _ in range(total // 100):
        steps(100)
    print(json.dumps({what: (value - before[what]) / 2**20 for what, value in memory(device).items()}))


def memory(device: Any) -> dict[str, int]:
    """Bytes: of the process, of spirograd's buffers, and of the whole device as its driver counts (others included)."""
    s = sg.stats()
    found = {"resident": resident(), "held and kept": int(s["bytes_live"] + s["bytes_cached"])}
    if device.type != "cpu" and device.memory_free:
        found["used on the device"] = int(device.memory_total - device.memory_free)
    return found
