"""Rows about computed places: rows and elements by index, sorting, scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.common import Result
from harness.rows import Context, row
from rows.ops.compare import Form, Goal, Operation, normal
from rows.ops.reduce import copies


@row("take_rows", gpu=False)
def take_rows(context: Context) -> Iterator[Result]:
    """16,384 rows of 256 floats by index out of 50,000, and the gradient of that."""
    count, table, width = (256, 1000, 64) if context.quick else (16_384, 50_000, 256)
    weight = normal(table, width)
    index = np.random.default_rng(1).integers(0, table, count)
    forms: dict[str, Form] = {
        "torch": lambda t, w, i: t.nn.functional.embedding(i, w),
        "jax.jit": lambda j, w, i: w[i],
        "numpy": lambda _, w, i: w[i],
    }
    for backward in (False, True):
        operation = Operation(
            (weight, index), lambda _, w, i: w[i], forms,
            upstream=normal(count, width, seed=2) if backward else None, truth=weight[index], tolerance=0,
        )  # fmt: skip
        case = f"{count:,} rows of {width} out of {table:,}{', forward and backward' * backward}"
        yield from operation.run(context, "take_rows", case, Goal(("jax.jit",), most=1.0))


def elements(context: Context) -> int:
    return 2**16 if context.quick else 2**24


@row("gather", cpu=False)
def gather(context: Context) -> Iterator[Result]:
    """16M floats by random index."""
    n = elements(context)
    x, index = normal(n), np.random.default_rng(1).integers(0, n, n)
    form: Form = lambda m, x, i: m.gather(x, 0, i)  # noqa: E731
    operation = Operation(
        (x, index), form, {"torch": form}, copies=copies(context, x.size), truth=x[index], tolerance=0
    )
    yield from operation.run(context, "gather", f"{n:,} float32", Goal(("torch",), most=1.0))


@row("scatter_add", cpu=False)
def scatter_add(context: Context) -> Iterator[Result]:
    """16M floats added to places by random index; ours always adds in the same order."""
    n = elements(context)
    x, source, index = np.zeros(n, np.float32), normal(n), np.random.default_rng(1).integers(0, n, n)
    form: Form = lambda m, x, s, i: m.scatter_add(x, 0, i, s)  # noqa: E731
    truth = np.bincount(index, source.astype(np.float64), n)
    operation = Operation((x, source, index), form, {"torch": form}, copies=copies(context, x.size), truth=truth)
    yield from operation.run(context, "scatter_add", f"{n:,} float32", Goal(("torch",), most=3.0))


@row("sort", cpu=False)
def sort(context: Context) -> Iterator[Result]:
    """16M floats sorted, with their places."""
    x = normal(elements(context))
    form: Form = lambda m, x: tuple(m.sort(x))  # noqa: E731
    operation = Operation((x,), form, {"torch": form}, copies=copies(context, x.size), truth=np.sort(x), tolerance=0)
    yield from operation.run(context, "sort", f"{x.size:,} float32", Goal(("torch",), most=3.0))


@row("topk", cpu=False)
def topk(context: Context) -> Iterator[Result]:
    """The largest 100 of 16M floats."""
    x = normal(elements(context))
    form: Form = lambda m, x: tuple(m.topk(x, 100))  # noqa: E731
    truth = np.sort(np.partition(x, -100)[-100:])[::-1]
    operation = Operation((x,), form, {"torch": form}, copies=copies(context, x.size), truth=truth, tolerance=0)
    yield from operation.run(context, "topk", f"100 of {x.size:,} float32", Goal(("torch",), most=2.0))


@row("cumsum")
def cumsum(context: Context) -> Iterator[Result]:
    """Running sums of 16M floats."""
    x: Any = normal(elements(context))
    form: Form = lambda m, x: m.cumsum(x, 0)  # noqa: E731
    truth = np.cumsum(x.astype(np.float64))
    operation = Operation((x,), form, {"torch": form}, copies=copies(context, x.size), truth=truth, tolerance=1e-4)
    yield from operation.run(context, "cumsum", f"{x.size:,} float32", Goal(("torch",), most=2.0))


@row("scans", gpu=False)
def scans(context: Context) -> Iterator[Result]:
    """Running sums and largest values along 1,024 rows of 1,024, and values by index along them."""
    n = 64 if context.quick else 1024
    random = np.random.default_rng(1)
    x, whole, places = normal(n, n), random.integers(0, 100, (n, n)), random.integers(0, n, (n, n))
    sums: Form = lambda m, x: m.cumsum(x, 1)  # noqa: E731
    cases: dict[str, tuple[tuple[Any, ...], Form, Any]] = {
        "cumsum int64": ((whole,), sums, np.cumsum(whole, 1)),
        "cumsum float64": ((x.astype(np.float64),), sums, np.cumsum(x.astype(np.float64), 1)),
        "cummax float32": ((x,), lambda m, x: m.cummax(x, 1)[0], np.maximum.accumulate(x, 1)),
        "gather float32": ((x, places), lambda m, x, i: m.gather(x, 1, i), np.take_along_axis(x, places, 1)),
    }
    for case, (inputs, form, truth) in cases.items():
        operation = Operation(inputs, form, {"torch": form}, truth=truth, tolerance=1e-12)
        yield from operation.run(context, "scans", f"{case}, {n:,} x {n:,}", Goal(("torch",), most=2.0))
