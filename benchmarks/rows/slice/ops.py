"""Rows about tensors: chains of pointwise ops, softmax, products, and the smallest op there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import jax_for, torch_for
from harness.common import Result, Timing, measure
from harness.formulas import chain, close, plain_chain
from harness.rows import Context, microseconds, milliseconds, row

Work = Callable[..., Any]  # does the work, waits for it


def chain_libraries(context: Context, values: Any, copies: int, rounds: int, chain: Any) -> dict[str, Work]:
    """`copies` inputs, so that what is measured is memory and not a cache; `rounds` over them all before one wait."""
    inputs = [sg.tensor(values, device=context.device) for _ in range(copies)]

    def ours() -> Any:
        for _ in range(rounds):
            kept = [chain(x, sg.relu, sg.tanh).realize() for x in inputs]  # each one started, so each one written
        sg.synchronize()
        return kept

    works: dict[str, Work] = {"spirograd": ours}
    if torch := torch_for(context):
        t = torch.torch
        theirs = [torch.array(values) for _ in range(copies)]
        compiled = t.compile(lambda x: chain(x, t.relu, t.tanh))

        def work(once: Work) -> Work:
            def repeated() -> None:
                for _ in range(rounds):
                    kept = [once(x) for x in theirs]
                torch.wait()
                del kept

            return repeated

        if "torch" in context.anchors:
            works["torch"] = work(lambda x: chain(x, t.relu, t.tanh))
        if "compile" in context.anchors:
            works["torch.compile"] = work(compiled)
    if jax := jax_for(context):
        arrays = [jax.array(values) for _ in range(copies)]
        fast = jax.jax.jit(lambda x: chain(x, jax.jax.nn.relu, jax.jnp.tanh))
        works["jax.jit"] = lambda: [jax.jax.block_until_ready([fast(x) for x in arrays]) for _ in range(rounds)]
    check = slice(0, 100_000)
    truth = chain(values[check].astype(np.float64), lambda v: np.maximum(v, 0), np.tanh)
    close(ours()[0].numpy()[check], truth, 2e-6)
    return works


def chain_row(context: Context, name: str, millions: int, target: str, plain: bool = False) -> Iterator[Result]:
    n = millions * 2**20
    values = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    copies, rounds = (4, 8) if context.gpu else (1, 1)
    works = chain_libraries(context, values, copies, rounds, plain_chain if plain else chain)
    timings = measure(works, calls_inside=copies * rounds, **context.turns)
    case = f"8 pointwise ops{'' if plain else ', one of them tanh'}, {millions}M float32"
    yield from context.results(name, case, timings, "ms", milliseconds, target)
    moved = 8 * n  # one read and one write are needed, whatever a library does
    yield from context.results(name, case, timings, "TB/s", lambda s: moved / s / 1e12)


@row("chain1", gpu=False)
def chain1(context: Context) -> Iterator[Result]:
    """A chain of 8 pointwise ops over 1M floats."""
    yield from chain_row(context, "chain1", 1, "<= 1.1 x jax.jit")


@row("chain16", gpu=False)
def chain16(context: Context) -> Iterator[Result]:
    """The same over 16M floats."""
    yield from chain_row(context, "chain16", 16, "<= 0.6 x jax.jit")


@row("chain64", cpu=False)
def chain64(context: Context) -> Iterator[Result]:
    """The same over 64M floats, as a share of the memory's speed."""
    millions = 1 if context.quick else 64
    yield from chain_row(context, "chain64", millions, "<= 0.145 ms", plain=True)
    yield from chain_row(context, "chain64", millions, "")


@row("dependent")
def dependent(context: Context) -> Iterator[Result]:
    """1,000 dependent `x = x * a + b` on 1,024 floats: building the graph, running it, both."""
    start = np.random.default_rng(0).standard_normal(1024, dtype=np.float32)
    repeats, a, b = 1000, 0.999, 0.001
    x0 = sg.tensor(start, device=context.device)
    build: list[float] = []
    run: list[float] = []

    def loop(x: Any) -> Any:
        for _ in range(repeats):
            x = x * a + b
        return x

    def ours() -> Any:
        t0 = time.perf_counter()
        x = loop(x0)
        t1 = time.perf_counter()
        result = x.numpy()
        build.append(t1 - t0)
        run.append(time.perf_counter() - t1)
        return result

    works: dict[str, Work] = {"spirograd": ours}
    if "torch" in context.anchors and (torch := torch_for(context)):
        t0 = torch.array(start)
        works["torch"] = lambda: loop(t0).cpu().numpy()
    if jax := jax_for(context):
        j0, fast = jax.array(start), jax.jax.jit(loop)
        works["jax.jit"] = lambda: np.asarray(fast(j0))
    close(ours(), loop(start.astype(np.float64)), 1e-4)
    for _ in range(3):
        ours()
    build.clear(), run.clear()
    timings = measure(works, **context.turns)
    case = "1,000 dependent x * a + b, 1,024 floats"
    yield from context.results("dependent", f"{case}, in total", timings, "us", microseconds)
    parts = {"building": Timing.of(build), "running and reading": Timing.of(run)}
    for part, timing in parts.items():
        yield from context.results("dependent", f"{case}, {part}", {"spirograd": timing}, "us", microseconds)


@row("softmax")
def softmax(context: Context) -> Iterator[Result]:
    """Softmax over the rows of a matrix, made of ops and fused."""
    n = 8192 if context.gpu and not context.quick else 2048
    values = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32)
    inside = 4 if context.gpu else 1  # matrices between two waits, so that what is measured is not the wait
    inputs = [sg.tensor(values, device=context.device) for _ in range(inside)]

    def ours() -> Any:
        kept = [sg.softmax(x, 1) for x in inputs]  # alive: so each is computed and written
        sg.synchronize()
        return kept[-1]

    works: dict[str, Work] = {"spirograd": ours}
    if torch := torch_for(context):
        t, theirs = torch.torch, [torch.array(values) for _ in range(inside)]

        def eager_work() -> None:
            kept = [t.softmax(x, 1) for x in theirs]
            torch.wait()
            del kept

        works["torch"] = eager_work
    if jax := jax_for(context):
        jx, fast = jax.array(values), jax.jax.jit(lambda v: jax.jax.nn.softmax(v, 1))
        works["jax.jit"] = lambda: [fast(jx) for _ in range(inside)][-1].block_until_ready()
    wide = values[:16].astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    close(ours().numpy()[:16], e / e.sum(1, keepdims=True), 1e-5)
    timings = measure(works, calls_inside=inside, **context.turns)
    moved = 2 * values.nbytes
    yield from context.results("softmax", f"[{n}, {n}] over rows", timings, "TB/s", lambda s: moved / s / 1e12)
    yield from context.results("softmax", f"[{n}, {n}] over rows", timings, "ms", milliseconds)


def product_libraries(context: Context, a: Any, inside: int, dtype: str = "float32") -> dict[str, Work]:
    """`inside` products, each needing the one before, so that none can be left out; one element of the last is read."""
    sa = sg.tensor(a, device=context.device).to(getattr(sg, dtype))

    def ours() -> float:
        x = sa
        for _ in range(inside):
            x = sa @ x
        return float(x[0, 0].item())

    works: dict[str, Work] = {"spirograd": ours}
    if torch := torch_for(context):
        ta = torch.array(a).to(getattr(torch.torch, dtype))

        def theirs() -> float:
            x = ta
            for _ in range(inside):
                x = ta @ x
            return float(x[0, 0].item())

        works["torch"] = theirs
    if jax := jax_for(context):
        ja, fast = jax.array(a).astype(dtype), jax.jax.jit(lambda p, q: p @ q)

        def products() -> float:
            x = ja
            for _ in range(inside):
                x = fast(ja, x)
            return float(x[0, 0])

        works["jax.jit"] = products
    row0, column0 = (x.cpu().double().numpy() for x in (sa[0], sa[:, 0]))
    close(np.float64((sa @ sa)[0, 0].item()), float(row0 @ column0), 1e-3 if dtype == "float32" else 1e-2)
    return works


@row("matmul")
def matmul(context: Context) -> Iterator[Result]:
    """Products of square float32 matrices."""
    largest = 8192 if context.gpu else 2048
    sizes = [n for n in (512, 1024, 2048, 4096, 8192) if n <= (1024 if context.quick else largest)]
    for n in sizes:
        # Scaled so that products of products neither grow nor vanish.
        a = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32) / np.float32(n**0.5)
        inside = max(2, min(32, 2**36 // (2 * n**3))) if context.gpu and context.device.type != "software" else 2
        timings = measure(product_libraries(context, a, inside), calls_inside=inside, **context.turns)
        work = 2 * n**3
        yield from context.results("matmul", f"{n} x {n} x {n}", timings, "TFLOP/s", lambda s, w=work: w / s / 1e12)


@row("matmul_half")
def matmul_half(context: Context) -> Iterator[Result]:
    """Products of square matrices of half types; SPIROGRAD_MATRIX chooses the path to the matrix units."""
    sizes = (1024, 2048, 4096, 8192) if context.gpu else (256, 512, 1024, 2048)
    for dtype in ("float16", "bfloat16") if context.gpu else ("bfloat16",):
        for n in sizes[:1] if context.quick else sizes:
            a = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32) / np.float32(n**0.5)
            inside = max(2, min(32, 2**39 // (2 * n**3))) if context.device.type != "software" else 2
            timings = measure(product_libraries(context, a, inside, dtype), calls_inside=inside, **context.turns)
            work, case = 2 * n**3, f"{dtype}, {n} x {n} x {n}"
            yield from context.results("matmul_half", case, timings, "TFLOP/s", lambda s, w=work: w / s / 1e12)


def attention_libraries(
    context: Context, arrays: list[Any], inside: int, dtype: str, backward: bool
) -> dict[str, Work]:
    """`inside` causal attentions, each of the result before; with `backward`, their gradients. One element is read."""

    def attending(functional: Any, leaves: list[Any], finish: Callable[..., Any]) -> Work:
        def work() -> float:
            x, k, v = leaves
            for _ in range(inside):
                x = functional.scaled_dot_product_attention(x, k, v, is_causal=True)
            return float(finish(x)[0, 0, 0, 0].item())

        return work

    sg_leaves = [sg.tensor(a, device=context.device).to(getattr(sg, dtype)) for a in arrays]
    works: dict[str, Work] = {}
    for name, library, leaves, grad in (
        ("spirograd", sg.nn.functional, sg_leaves, sg.autograd.grad),
        *(
            ("torch", torch.torch.nn.functional, [torch.array(a).to(getattr(torch.torch, dtype)) for a in arrays],
             torch.torch.autograd.grad)
            for torch in (torch_for(context),) if torch
        ),
    ):  # fmt: skip
        *inputs, g = leaves
        if backward:
            inputs = [x.requires_grad_() for x in inputs]
        finish = (lambda x, i=inputs, g=g, grad=grad: grad(x, i, g)[1]) if backward else (lambda x: x)
        works[name] = attending(library, inputs, finish)
    return works


@row("attention", cpu=False)
def attention(context: Context) -> Iterator[Result]:
    """Causal attention [batch, heads, rows, elements], forward and with backward; SPIROGRAD_MATRIX chooses the path."""
    shapes = [(1, 2, 64, 64)] if context.quick else [(8, 16, 1024, 64), (2, 16, 4096, 128)]
    for dtype in ("float32", "bfloat16"):
        for shape in shapes:
            arrays = [np.random.default_rng(i).standard_normal(shape, dtype=np.float32) for i in range(4)]
            for backward in (False, True):
                inside = 4 if context.device.type != "software" else 1
                works = attention_libraries(context, arrays, inside, dtype, backward)
                timings = measure(works, calls_inside=inside, **context.turns)
                case = f"{dtype}, {list(shape)}{', forward and backward' * backward}"
                yield from context.results("attention", case, timings, "ms", milliseconds)


@row("plus_one")
def plus_one(context: Context) -> Iterator[Result]:
    """`x + 1` on 10 elements, read back: the cost of the way there and back."""
    start = np.arange(10, dtype=np.float32)
    x = sg.tensor(start, device=context.device)
    works: dict[str, Work] = {}
    inside = 100 if not context.gpu else 10

    def repeated(once: Work) -> Work:
        def work() -> Any:
            for _ in range(inside):
                value = once()
            return value

        return work

    works["spirograd"] = repeated(lambda: (x + 1).numpy())
    if "torch" in context.anchors and (torch := torch_for(context)):
        tx = torch.array(start)
        works["torch"] = repeated(lambda: (tx + 1).cpu().numpy())
    if jax := jax_for(context):
        jx, fast = jax.array(start), jax.jax.jit(lambda v: v + 1)
        works["jax.jit"] = repeated(lambda: np.asarray(fast(jx)))
    close(works["spirograd"](), start + 1, 0)
    timings = measure(works, calls_inside=inside, **context.turns)
    target = "" if context.gpu else "<= 5 us"
    yield from context.results("plus_one", "x + 1, 10 floats, to NumPy", timings, "us", microseconds, target)
