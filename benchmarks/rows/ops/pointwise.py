"""Rows about pointwise ops: fused chains, one addition, the smallest op there is, and random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import jax_for, torch_for
from harness.common import Result, Timing, measure
from harness.formulas import chain, close
from harness.rows import Context, microseconds, milliseconds, row
from rows.ops.compare import Goal, Operation, Work, normal
from rows.ops.reduce import copies


def chain_operation(n: int, backward: bool) -> Operation:
    x = normal(n)
    check = x[:100_000].astype(np.float64)
    torch = lambda t, x: chain(x, t.relu, t.tanh)  # noqa: E731
    return Operation(
        (x,),
        lambda s, x: chain(x, s.relu, s.tanh),
        {"torch": torch, "torch.compile": torch, "jax.jit": lambda j, x: chain(x, j.jax.nn.relu, j.jnp.tanh)},
        upstream=normal(n, seed=1) if backward else None,
        truth=chain(check, lambda v: np.maximum(v, 0), np.tanh),
    )


@row("chains", gpu=False)
def chains(context: Context) -> Iterator[Result]:
    """A chain of 8 pointwise ops over 1M and 16M floats, and forward with backward over 1M."""
    goal = Goal(("torch.compile", "jax.jit"), most=1.0)
    for millions, backward in ((1, False), (16, False), (1, True)):
        n = millions * (2**14 if context.quick else 2**20)
        case = f"8 pointwise ops, {n:,} float32{', forward and backward' * backward}"
        yield from chain_operation(n, backward).run(context, "chains", case, goal)


@row("add16", gpu=False)
def add16(context: Context) -> Iterator[Result]:
    """The sum of two vectors of 16M floats, in a new result; PyTorch's goes into an old one (`out=`)."""
    n = 2**18 if context.quick else 2**24
    a, b = normal(n), normal(n, seed=1)
    out: list[Any] = []  # PyTorch's

    def into(t: Any, x: Any, y: Any) -> Any:
        if not out:
            out.append(t.empty_like(x))
        return t.add(x, y, out=out[0])

    operation = Operation(
        (a, b), lambda s, x, y: x + y, {"torch out=": into, "torch": lambda t, x, y: x + y}, truth=a + b
    )
    yield from operation.run(context, "add16", f"x + y, {n:,} float32", Goal(("torch out=",), most=1.1))


def repeated(once: Work, times: int) -> Work:
    def work() -> Any:
        for _ in range(times):
            value = once()
        return value

    return work


def within(timings: dict[str, Timing], microseconds_: float) -> str:
    return f"<= {microseconds_:g} us{'' if timings['spirograd'].median * 1e6 <= microseconds_ else ': MISSED'}"


@row("smallest", gpu=False)
def smallest(context: Context) -> Iterator[Result]:
    """`x + 1` on 10 floats, and the gradient of `(x * 2 + 1).sum()` on them, read back: the cost of the way."""
    start = np.arange(10, dtype=np.float32)
    torch, jax = torch_for(context), jax_for(context)
    x = sg.tensor(start, device=context.device)
    w = sg.tensor(start, device=context.device).requires_grad_()

    def gradient() -> Any:
        (w * 2 + 1).sum().backward()
        g = w.grad.numpy()
        w.grad = None
        return g

    once: dict[str, Work] = {"spirograd": lambda: (x + 1).numpy()}
    grads: dict[str, Work] = {"spirograd": gradient}
    if "numpy" in context.anchors:
        once["numpy"] = lambda: start + 1
    if torch and "torch" in context.anchors:
        tx, tw = torch.array(start), torch.array(start).requires_grad_()

        def torch_gradient() -> Any:
            (tw * 2 + 1).sum().backward()
            g = tw.grad.cpu().numpy()
            tw.grad = None
            return g

        once["torch"] = lambda: (tx + 1).cpu().numpy()
        grads["torch"] = torch_gradient
    if jax:
        jx, plus, grad = (
            jax.array(start),
            jax.jax.jit(lambda v: v + 1),
            jax.jax.jit(jax.jax.grad(lambda v: (v * 2 + 1).sum())),
        )
        once["jax.jit"] = lambda: np.asarray(plus(jx))
        grads["jax.jit"] = lambda: np.asarray(grad(jx))
    close(once["spirograd"](), start + 1, 0)
    close(gradient(), np.full(10, 2, np.float32), 0)
    inside = 100
    for case, works, most in (("x + 1", once, 3), ("gradient of (x * 2 + 1).sum()", grads, 15)):
        timings = measure({n: repeated(f, inside) for n, f in works.items()}, calls_inside=inside, **context.turns)
        case = f"{case}, 10 floats, to NumPy"
        yield from context.results("smallest", case, timings, "us", microseconds, within(timings, most))


@row("randn", cpu=False)
def randn(context: Context) -> Iterator[Result]:
    """Normal random numbers."""
    n = 2**16 if context.quick else 2**26
    inside = copies(context, n)

    def ours() -> Any:
        kept = [sg.randn(n, device=context.device) for _ in range(inside)]
        sg.synchronize()
        return kept

    works: dict[str, Work] = {"spirograd": ours}
    if "torch" in context.anchors and (torch := torch_for(context)):

        def theirs() -> Any:
            kept = [torch.torch.randn(n, device=torch.device) for _ in range(inside)]
            torch.wait()
            return kept

        works["torch"] = theirs
    values = ours()[-1]
    if abs(values.mean().item()) > 10 / n**0.5 or abs((values * values).mean().item() - 1) > 20 / n**0.5:
        raise ArithmeticError("benchmark: these numbers are not normal")
    del values
    timings = measure(works, calls_inside=inside, **context.turns)
    goal, case = Goal(("torch",), most=1.0), f"{n:,} float32"
    yield from context.results("randn", case, timings, "ms", milliseconds, goal.text())
    yield from goal.result(context, "randn", case, timings)
