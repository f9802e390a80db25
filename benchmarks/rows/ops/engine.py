"""Rows about the engine itself: recording, planning, and what a plan moves and holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import torch_for
from harness.common import Result, Timing
from harness.formulas import chain
from harness.rows import Context, judged, microseconds, milliseconds, row
from rows.ops.compare import normal
from rows.ops.reduce import layer_norm_of_ops


@row("recording")
def recording(context: Context) -> Iterator[Result]:
    """Recording one op from Python, without running it."""
    x = sg.tensor(normal(1024), device=context.device)
    y = sg.tensor(normal(1024, seed=1), device=context.device)
    w = sg.tensor(normal(1024), device=context.device).requires_grad_()
    steps: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "x * 0.999 + 0.001": (x, lambda v: v * 0.999 + 0.001),
        "x * y + y": (x, lambda v: v * y + y),
        "sg.relu(x).exp()": (x, lambda v: sg.relu(v).exp()),
        "w * y + y, with a gradient": (w, lambda v: v * y + y),
    }
    ops, rounds = 2000, 30 if context.quick else 150
    for case, (start, step) in steps.items():
        samples = []
        for k in range(rounds + 3):
            sg.synchronize()
            v = start
            begin = time.perf_counter()
            for _ in range(ops // 2):
                v = step(v)
            end = time.perf_counter()
            v = v.detach()[:1].sum().item()  # runs it, and frees the graph
            if k >= 3:
                samples.append((end - begin) / ops)
        timing = Timing.of(samples)
        goal = judged(microseconds(timing.median), 1.0, "us")
        yield from context.results("recording", f"{case}, an op", {"spirograd": timing}, "us", microseconds, goal)


def deep_chain(x: Any, nodes: int) -> Any:
    for _ in range(nodes // 2):
        x = x * 0.999 + 0.001
    return x


def deep_network(x: Any, nodes: int) -> Any:
    """Layers of ten nodes or so: products, pointwise ops and sums over rows."""
    for _ in range(nodes // 10):
        y = sg.relu(x @ x * 0.1 + 0.5)
        x = y / (y * y).sum(1, keepdim=True).sqrt() - x * 0.01
    return x


@row("planning")
def planning(context: Context) -> Iterator[Result]:
    """A graph of 10,000 nodes: finding its plan again, and making it the first time, without compiling.

    A log is flushed at 8,192 nodes, so these are two logs and two plans; the times are summed.
    """
    nodes = 1000 if context.quick else 10_000
    goals = {"plan hit": 1.0, "first schedule": 50.0}
    for name, build in (("x * a + b", deep_chain), ("layers", deep_network)):
        found: dict[str, list[float]] = {part: [] for part in goals}
        counted = 0.0
        for k in range(4 if context.quick else 12):
            fresh = k % 2 == 0  # another beginning: no plan yet; then the same again: its plan is found
            n = 8 + k // 2
            x = sg.tensor(normal(n, n), device=context.device)
            sg.synchronize()
            before = sg.stats()
            with sg.profiler.profile() as profile:
                for _ in range(k // 2):
                    x = x.relu()
                build(x, nodes).sum().item()
            after = sg.stats()
            counted = after["nodes"] - before["nodes"]
            if (after["plan_misses"] > before["plan_misses"]) != fresh:
                raise ArithmeticError("benchmark: a plan was there that should not be, or the other way round")
            found["first schedule" if fresh else "plan hit"].append(planned(profile, fresh))
        for part, samples in found.items():
            timing = Timing.of(samples)
            case = f"{part}, {counted:,.0f} nodes of {name}"
            goal = judged(milliseconds(timing.median), goals[part], "ms")
            yield from context.results("planning", case, {"spirograd": timing}, "ms", milliseconds, goal)


def planned(profile: Any, fresh: bool) -> float:
    """Seconds of the stage `schedule`; or, when plans are found, of `flush` without the work that it starts."""
    rows = {r.key: r for r in profile.key_averages() if r.category == "stage"}
    if fresh:
        return float(rows["schedule"].cpu_time_total) / 1e6
    return float(rows["flush"].self_cpu_time_total) / 1e6


def groups(context: Context) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """(what, bytes that it must move, the work); inputs are read once, results written once."""
    n = 256 if context.quick or not context.gpu else 8192

    def tensor(*shape: int, grad: bool = False) -> Any:
        return sg.tensor(normal(*shape), device=context.device).requires_grad_(grad)

    matrix, line = 4 * n * n, 4 * n
    x, g, w, b = tensor(n, n), tensor(n, n), tensor(n), tensor(n)
    leaf, leaf_w, leaf_b = tensor(n, n, grad=True), tensor(n, grad=True), tensor(n, grad=True)

    def both(form: Callable[..., Any], *leaves: Any) -> Callable[[], Any]:
        def work() -> Any:
            y = form(*leaves)
            grads = sg.autograd.grad(y, leaves, g)
            return y.detach(), grads

        return work

    plain = lambda v: chain(v, sg.relu, sg.tanh)  # noqa: E731
    normed = lambda *a: layer_norm_of_ops(sg, *a)  # noqa: E731
    yield "chain of 8", 2 * matrix, lambda: plain(x)
    yield "chain of 8 with backward", 4 * matrix, both(plain, leaf)
    for name in ("softmax", "log_softmax"):
        form = lambda v, name=name: getattr(sg, name)(v, 1)  # noqa: E731
        yield name, 2 * matrix, lambda form=form: form(x)
        yield f"{name} with backward", 4 * matrix, both(form, leaf)
    yield "layer norm of ops", 2 * matrix + 2 * line, lambda: normed(x, w, b)
    constant = lambda v: normed(v, w, b)  # noqa: E731
    yield "layer norm of ops with backward to x", 4 * matrix + 2 * line, both(constant, leaf)
    yield "layer norm of ops with backward", 4 * matrix + 4 * line, both(normed, leaf, leaf_w, leaf_b)


@row("moved")
def moved(context: Context) -> Iterator[Result]:
    """Bytes that the steps of a plan move over the least that is possible, and how many steps there are.

    The bytes are the plan's: each element of each view that a step reads or writes, once.
    """
    for what, least, work in groups(context):
        kept = work()
        sg.synchronize()
        del kept
        with sg.profiler.profile() as profile:
            kept = work()
            sg.synchronize()
        del kept
        steps = [e for e in profile.events() if e.category in ("step", "kernel")]
        value = sum(e.bytes for e in steps) / least
        facts = {"bytes": sum(e.bytes for e in steps), "least": least, "steps": [[e.name, e.bytes] for e in steps]}
        where = str(context.device)
        yield Result("moved", what, "spirograd", where, value, "x the least", None, judged(value, 1.05), facts)
        yield Result("moved", what, "spirograd", where, len(steps), "steps")


def deep(nn: Any, layers: int, width: int) -> Any:
    parts: list[Any] = []
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def peak_ours(context: Context, layers: int, width: int, batch: int) -> int:
    memory = sg.accelerator.memory
    net = deep(sg.nn, layers, width).to(context.device)
    optimizer = sg.optim.Adam(net.parameters(), lr=1e-4)
    x = sg.tensor(normal(batch, width), device=context.device)

    def step() -> float:
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    for _ in range(3):
        step()
    sg.synchronize()
    memory.reset_peak_memory_stats(context.device)
    if not all(np.isfinite(step()) for _ in range(3)):
        raise ArithmeticError("benchmark: the loss is not finite")
    sg.synchronize()
    return int(memory.max_memory_allocated(context.device))


def peak_torch(torch: Any, layers: int, width: int, batch: int) -> int:
    t = torch.torch
    net = deep(t.nn, layers, width).to(torch.device)
    optimizer = t.optim.Adam(net.parameters(), lr=1e-4)
    x = torch.array(normal(batch, width))

    def step() -> None:
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    for _ in range(3):
        step()
    torch.wait()
    t.cuda.reset_peak_memory_stats()
    for _ in range(3):
        step()
    torch.wait()
    return int(t.cuda.max_memory_allocated())


@row("peak", cpu=False)
def peak(context: Context) -> Iterator[Result]:
    """The most memory that tensors hold in a training step with Adam of an MLP of 20 layers."""
    layers, width, batch = (20, 64, 64) if context.quick else (20, 1024, 8192)
    sg.empty_cache()
    case, where = f"{layers} layers of {width}, batch {batch:,}", str(context.device)
    before = sg.accelerator.memory.memory_allocated(context.device)
    ours = peak_ours(context, layers, width, batch) - before
    yield Result("peak", case, "spirograd", where, ours / 2**20, "MiB")
    if torch := torch_for(context) if "torch" in context.anchors else None:
        held = torch.torch.cuda.memory_allocated()
        theirs = peak_torch(torch, layers, width, batch) - held
        yield Result("peak", case, "torch", where, theirs / 2**20, "MiB")
        value = ours / theirs
        facts = {"anchor": "torch", "reached": value <= 1}
        yield Result("peak", case, "ratio", where, value, "x memory of torch", None, judged(value, 1.0), facts)
