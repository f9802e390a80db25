"""One operation in several libraries on the same values: what runs, what is checked, and the ratio that comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import jax_for, torch_for
from harness.common import Result, Timing, measure
from harness.formulas import close
from harness.rows import Context, microseconds, milliseconds

Work = Callable[[], Any]  # does the work, waits for it
Form = Callable[..., Any]  # of the operation: a library, then one tensor an input

SCALES = {"ms": milliseconds, "us": microseconds}


@dataclass(frozen=True)
class Goal:
    """`most` x the time of the best of some libraries, or `speed` x as fast as it; `ours` is what must reach it."""

    of: tuple[str, ...]
    most: float = 0.0
    speed: float = 0.0
    ours: str = "spirograd"

    def text(self) -> str:
        return f">= {self.speed:g} x as fast" if self.speed else f"<= {self.most:g} x the time"

    def result(self, context: Context, row: str, case: str, timings: dict[str, Timing]) -> Iterator[Result]:
        """The ratio, when one of the libraries was there."""
        best = min((name for name in self.of if name in timings), key=lambda n: timings[n].median, default=None)
        if best is None:
            return

        def ratio(part: str) -> float:
            ours, theirs = getattr(timings[self.ours], part), getattr(timings[best], part)
            return theirs / ours if self.speed else ours / theirs

        value = ratio("median")
        reached = value >= self.speed if self.speed else value <= self.most
        unit = f"x {'speed' if self.speed else 'time'} of {best}"
        facts = {"anchor": best, "reached": reached, "of_least": ratio("least")}
        target = f"{self.text()}{'' if reached else ': MISSED'}"
        yield Result(row, case, "ratio", str(context.device), value, unit, None, target, facts)


def first(result: Any) -> Any:
    return result[0] if isinstance(result, (tuple, list)) else result


@dataclass
class Operation:
    """An operation and its inputs.

    Attributes:
        inputs: NumPy arrays.
        ours: the operation with spirograd.
        others: library -> the operation with it. "torch.compile" and "jax.jit" are compiled here, all other names that
            begin with torch run eagerly; "numpy" is left out on a GPU and where gradients are asked for.
        upstream: None for the result alone; else the gradient of the result, and what is asked for is the result and
            the gradients of all inputs of floating type.
        copies: sets of inputs, all worked on before one wait: what is measured is then neither the wait nor a cache.
        truth: the first elements of the result, for a check, and how far it may be off.
    """

    inputs: tuple[Any, ...]
    ours: Form
    others: dict[str, Form]
    upstream: Any = None
    copies: int = 1
    truth: Any = None
    tolerance: float = 1e-5

    def run(self, context: Context, row: str, case: str, goal: Goal | None, unit: str = "ms") -> Iterator[Result]:
        """Checks and measures it everywhere."""
        works = self.works(context)
        if self.truth is not None:
            result = first(first(works["spirograd"]())).numpy()
            close(result.reshape(-1)[: self.truth.size].astype(np.float64), self.truth.reshape(-1), self.tolerance)
            del result
        timings = measure(works, calls_inside=self.copies, **context.turns)
        yield from context.results(row, case, timings, unit, SCALES[unit], goal.text() if goal else "")
        if goal:
            yield from goal.result(context, row, case, timings)

    def works(self, context: Context) -> dict[str, Work]:
        works = {"spirograd": self.spirograd_work(context)}
        torch, jax = torch_for(context), jax_for(context)
        for name, form in self.others.items():
            if name == "torch.compile" and torch and "compile" in context.anchors:
                works[name] = self.torch_work(torch, torch.torch.compile(lambda *x, f=form, t=torch.torch: f(t, *x)))
            elif name.startswith("torch") and name != "torch.compile" and torch and "torch" in context.anchors:
                works[name] = self.torch_work(torch, lambda *x, f=form, t=torch.torch: f(t, *x))
            elif name == "jax.jit" and jax:
                works[name] = self.jax_work(jax, lambda *x, f=form, j=jax: f(j, *x))
            elif name == "numpy" and name in context.anchors and not context.gpu and self.upstream is None:
                works[name] = lambda f=form: [f(np, *self.inputs) for _ in range(self.copies)]
        return works

    def wanted(self) -> list[int]:
        return [i for i, a in enumerate(self.inputs) if a.dtype.kind == "f"]

    def eager_work(self, form: Form, array: Any, wait: Work, grad: Any) -> Work:
        sets = [[array(a) for a in self.inputs] for _ in range(self.copies)]
        if self.upstream is None:

            def forward() -> Any:
                kept = [form(*x) for x in sets]  # alive: so each is computed and written
                wait()
                return kept

            return forward
        g, wanted = array(self.upstream), self.wanted()
        for x in sets:
            for i in wanted:
                x[i].requires_grad_()

        def both() -> Any:
            kept = []
            for x in sets:
                y = form(*x)
                grads = grad(y, [x[i] for i in wanted], g)
                kept.append((y.detach(), grads))
                del y
            wait()
            return kept

        return both

    def spirograd_work(self, context: Context) -> Work:
        def array(a: Any) -> Any:
            return sg.tensor(a, device=context.device)

        return self.eager_work(lambda *x: self.ours(sg, *x), array, sg.synchronize, sg.autograd.grad)

    def torch_work(self, torch: Any, form: Form) -> Work:
        return self.eager_work(form, torch.array, torch.wait, torch.torch.autograd.grad)

    def jax_work(self, jax: Any, form: Form) -> Work:
        sets = [[jax.array(a) for a in self.inputs] for _ in range(self.copies)]
        if self.upstream is None:
            fast = jax.jax.jit(form)
            return lambda: jax.jax.block_until_ready([fast(*x) for x in sets])
        g, wanted = jax.array(self.upstream), self.wanted()

        def both(g: Any, *x: Any) -> Any:
            def of(*leaves: Any) -> Any:
                full = list(x)
                for i, leaf in zip(wanted, leaves, strict=True):
                    full[i] = leaf
                return form(*full)

            y, pull = jax.jax.vjp(of, *(x[i] for i in wanted))
            return y, pull(g)

        fast = jax.jax.jit(both)
        return lambda: jax.jax.block_until_ready([fast(g, *x) for x in sets])


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
