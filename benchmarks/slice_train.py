"""Rows about training: one step of a network, its counters, and ten thousand steps."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from anchors import jax_for, torch_for
from common import Result, measure, run_python
from rows import Context, milliseconds, row

import spirograd as sg

Steps = Callable[[int], float]  # runs n steps, reads the last loss

MLP = (784, 512, 256, 10)
SMALL = (10, 20, 20, 1)


def data(sizes: tuple[int, ...], batch: int) -> tuple[Any, Any]:
    """Inputs, and classes (or, with one output, numbers)."""
    random = np.random.default_rng(0)
    x = random.standard_normal((batch, sizes[0]), dtype=np.float32)
    if sizes[-1] == 1:
        return x, random.standard_normal((batch, 1), dtype=np.float32)
    return x, random.integers(0, sizes[-1], batch)


def stacked(nn: Any, sizes: tuple[int, ...]) -> Any:
    """The same network of spirograd.nn or torch.nn."""
    layers: list[Any] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def spirograd_step(sizes: tuple[int, ...], batch: int, device: Any) -> Callable[[], Any]:
    """One training step; returns the loss without reading it."""
    sg.manual_seed(0)
    net = stacked(sg.nn, sizes).to(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=1e-3)
    x, y = (sg.tensor(a, device=device) for a in data(sizes, batch))
    cross_entropy = sg.nn.functional.cross_entropy

    def step() -> Any:
        out = net(x)
        loss = ((out - y) ** 2).mean() if sizes[-1] == 1 else cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def spirograd_steps(sizes: tuple[int, ...], batch: int, device: Any) -> Steps:
    step = spirograd_step(sizes, batch, device)

    def steps(n: int) -> float:
        for _ in range(n):
            loss = step()
        last = loss.item()  # it depends on every update before it
        sg.synchronize()  # and the last update is not left out either
        return float(last)

    return steps


def torch_steps(torch: Any, sizes: tuple[int, ...], batch: int, compiled: bool) -> Steps:
    t = torch.torch
    t.manual_seed(0)
    net = stacked(t.nn, sizes).to(torch.device)
    optimizer = t.optim.Adam(net.parameters(), lr=1e-3)
    x, y = (torch.array(a) for a in data(sizes, batch))

    def loss_of() -> Any:
        out = net(x)
        return ((out - y) ** 2).mean() if sizes[-1] == 1 else t.nn.functional.cross_entropy(out, y)

    forward, update = (t.compile(loss_of), t.compile(optimizer.step)) if compiled else (loss_of, optimizer.step)

    def steps(n: int) -> float:
        for _ in range(n):
            loss = forward()
            optimizer.zero_grad()
            loss.backward()
            update()
        last = float(loss.item())
        torch.wait()
        return last

    return steps


def jax_steps(jax: Any, sizes: tuple[int, ...], batch: int) -> Steps:
    jnp, tree = jax.jnp, jax.jax.tree_util.tree_map
    random = np.random.default_rng(0)
    weights = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = fan_in**-0.5
        weights.append(
            (
                jax.array(random.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32)),
                jax.array(random.uniform(-bound, bound, fan_out).astype(np.float32)),
            )
        )
    x, y = (jax.array(a) for a in data(sizes, batch))

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


def libraries(context: Context, sizes: tuple[int, ...], batch: int) -> dict[str, Steps]:
    found = {"spirograd": spirograd_steps(sizes, batch, context.device)}
    if torch := torch_for(context):
        if "torch" in context.anchors:
            found["torch"] = torch_steps(torch, sizes, batch, compiled=False)
        if "compile" in context.anchors:
            found["torch.compile"] = torch_steps(torch, sizes, batch, compiled=True)
    if jax := jax_for(context):
        found["jax.jit"] = jax_steps(jax, sizes, batch)
    return found


def timed(context: Context, sizes: tuple[int, ...], batch: int, inside: int) -> dict[str, Any]:
    calls = {name: (lambda steps=steps: steps(inside)) for name, steps in libraries(context, sizes, batch).items()}
    return measure(calls, calls_inside=inside, **context.turns)


def step_row(context: Context, batch: int, inside: int, target: str = "") -> Iterator[Result]:
    timings = timed(context, MLP, batch, inside)
    yield from context.results(
        f"step{batch}", f"MLP 784-512-256-10, Adam, batch {batch}", timings, "ms", milliseconds, target
    )


@row("step64")
def step64(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 64."""
    yield from step_row(context, 64, 20, "" if context.gpu else "<= 1.1 x torch.compile")


@row("step1024")
def step1024(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 1,024."""
    yield from step_row(context, 1024, 20 if context.gpu else 4, "" if context.gpu else "<= 1.1 x jax.jit")


@row("step16384")
def step16384(context: Context) -> Iterator[Result]:
    """Time of a training step at batch 16,384."""
    yield from step_row(context, 16384, 10 if context.gpu else 1)


@row("small")
def small(context: Context) -> Iterator[Result]:
    """Time of a training step of a tiny network, one sample a step."""
    timings = timed(context, SMALL, 1, 100)
    target = "" if context.gpu else "<= 0.12 ms"
    yield from context.results("small", "MLP 10-20-20-1, Adam, one sample", timings, "ms", milliseconds, target)


@row("counters")
def counters(context: Context) -> Iterator[Result]:
    """What a training step at batch 64 asks of the device, from the third step on."""
    step = spirograd_step(MLP, 64, context.device)
    step(), step()
    n = 8
    sg.synchronize()
    sg.reset_stats()
    for _ in range(n):
        loss = step()
    sg.synchronize()
    counted = sg.stats()
    if not math.isfinite(loss.item()):
        raise ArithmeticError("benchmark: the loss is not finite")
    targets = {"submissions": "1", "dispatches": "<= 16", "allocations": "0", "plan_misses": "0"}
    for name, target in (targets | {"barriers": "", "kernels_compiled": "0", "fallbacks": "0"}).items():
        value = counted[name] / n
        yield Result("counters", name, "spirograd", str(context.device), value, "a step", None, target)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@row("soak")
def soak(context: Context) -> Iterator[Result]:
    """Growth of memory over many training steps, after the first 100, in a process that does nothing else."""
    total = 500 if context.quick else 10_000
    here = str(Path(__file__).parent)
    call = f"slice_train.print_growth({str(context.device)!r}, {total})"
    code = f"import sys; sys.path.insert(0, {here!r}); import slice_train; {call}"
    for what, growth in json.loads(run_python(code).stdout).items():
        target = {"held and kept": "0", "resident": "< 1 MiB"}.get(what, "")
        yield Result("soak", f"{total:,} steps, {what}", "spirograd", str(context.device), growth, "MiB", None, target)


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
