"""Rows about matrices: sums, softmax, layer norm, the transposed copy, products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.common import Result
from harness.rows import Context, row
from rows.ops.compare import Form, Goal, Operation, normal

COPIES = 32
EPS = 1e-5


def copies(context: Context, elements: int) -> int:
    """Sets of inputs on a GPU, worked on before one wait: so many that the wait is not what is measured, as far as
    memory goes. `elements` are those of the largest input."""
    if not context.gpu or context.quick:
        return 1
    return max(1, min(COPIES, context.device.memory_total // (48 * elements)))


def side(context: Context, full: int) -> int:
    return 256 if context.quick else full


@row("sums")
def sums(context: Context) -> Iterator[Result]:
    """Sums of a matrix over all elements, over axis 0 and over axis 1 (4096 x 4096; on a GPU 8192 x 8192)."""
    n = side(context, 8192 if context.gpu else 4096)
    x = normal(n, n)
    if context.gpu:
        goal: Goal | None = Goal(("torch",), speed=0.9)
    else:
        goal = Goal(("torch", "jax.jit", "numpy"), most=1.0)
    for axis, what in ((None, "all"), (0, "axis 0"), (1, "axis 1")):
        if axis is None and not context.gpu:
            continue

        def total(x: Any, axis: int | None = axis) -> Any:
            return x.sum() if axis is None else x.sum(axis)

        form: Form = lambda _, x, total=total: total(x)  # noqa: E731
        truth = np.atleast_1d(total(x.astype(np.float64)))
        operation = Operation(
            (x,), form, {"torch": form, "jax.jit": form, "numpy": form},
            copies=copies(context, n * n), truth=truth, tolerance=1e-3,
        )  # fmt: skip
        yield from operation.run(context, "sums", f"[{n}, {n}], sum over {what}", goal)


@row("short_sums", gpu=False)
def short_sums(context: Context) -> Iterator[Result]:
    """Sums of 16,384 rows of 64 floats, and of 1,000,000 rows of 8."""
    for rows, columns in ((16384, 64), (1_000_000, 8)):
        x = normal(side(context, rows), columns)
        form: Form = lambda _, x: x.sum(1)  # noqa: E731
        others = {"torch": form, "jax.jit": form, "numpy": form}
        operation = Operation((x,), form, others, truth=x.astype(np.float64).sum(1), tolerance=1e-3)
        yield from operation.run(context, "short_sums", f"[{len(x)}, {columns}]", Goal(("torch",), most=1.0))


def exact_softmax(x: Any, log: bool) -> Any:
    x = x.astype(np.float64)
    shifted = x - x.max(1, keepdims=True)
    total = np.exp(shifted).sum(1, keepdims=True)
    return shifted - np.log(total) if log else np.exp(shifted) / total


def softmax_row(context: Context, name: str, shape: tuple[int, int]) -> Iterator[Result]:
    log = name == "log_softmax"
    x = normal(*shape)

    def with_numpy(_: Any, x: Any) -> Any:
        shifted = x - x.max(1, keepdims=True)
        e = np.exp(shifted)
        return shifted - np.log(e.sum(1, keepdims=True)) if log else e / e.sum(1, keepdims=True)

    torch: Form = lambda t, x: getattr(t, name)(x, 1)  # noqa: E731
    others = {"torch": torch, "jax.jit": lambda j, x: getattr(j.jax.nn, name)(x, 1), "numpy": with_numpy}
    for backward in (False, True):
        if context.gpu:
            goal: Goal | None = Goal(("torch",), speed=1.3 if backward else 1.6)
        else:
            goal = None if backward or log else Goal(("torch", "jax.jit", "numpy"), most=1.0)
        operation = Operation(
            (x,), lambda s, x: getattr(s, name)(x, 1), others,
            upstream=normal(*shape, seed=1) if backward else None,
            copies=copies(context, x.size), truth=exact_softmax(x[:16], log),
        )  # fmt: skip
        yield from operation.run(context, name, f"{list(shape)} over rows{', forward and backward' * backward}", goal)


@row("softmax")
def softmax(context: Context) -> Iterator[Result]:
    """Softmax over rows, forward and with backward (4096 x 1024; on a GPU 8192 x 8192)."""
    n = side(context, 8192)
    yield from softmax_row(context, "softmax", (n, n) if context.gpu else (side(context, 4096), side(context, 1024)))


@row("log_softmax")
def log_softmax(context: Context) -> Iterator[Result]:
    """Its logarithm, the same way."""
    n = side(context, 8192)
    yield from softmax_row(
        context, "log_softmax", (n, n) if context.gpu else (side(context, 4096), side(context, 1024))
    )


def layer_norm_of_ops(_: Any, x: Any, w: Any, b: Any) -> Any:
    """Layer norm written from ops that every library has."""
    n = x.shape[1]
    d = x - x.sum(1).reshape(-1, 1) / n
    return d * ((d * d).sum(1).reshape(-1, 1) / n + EPS) ** -0.5 * w + b


@row("layer_norm")
def layer_norm(context: Context) -> Iterator[Result]:
    """Layer norm written from ops, forward and with backward (4096 x 1024; on a GPU 8192 x 8192).

    PyTorch has a kernel of its own; "torch of ops" is the same formula.
    """
    rows, columns = (side(context, 8192),) * 2 if context.gpu else (side(context, 4096), side(context, 1024))
    x, w, b = normal(rows, columns), normal(columns, seed=2), normal(columns, seed=3)
    own: Form = lambda t, x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b, EPS)  # noqa: E731
    others = {"torch": own, "torch of ops": layer_norm_of_ops}
    if not context.gpu:
        others |= {"torch.compile": layer_norm_of_ops, "jax.jit": layer_norm_of_ops}
    for backward in (False, True):
        if context.gpu:
            goal: Goal | None = Goal(("torch",), speed=1.3 if backward else 1.6)
        else:
            goal = Goal(("torch", "torch.compile", "jax.jit"), most=1.0) if backward else None
        operation = Operation(
            (x, w, b), layer_norm_of_ops, others, upstream=normal(rows, columns, seed=1) if backward else None,
            copies=copies(context, x.size), truth=layer_norm_of_ops(None, x[:16].astype(np.float64), w, b),
        )  # fmt: skip
        yield from operation.run(
            context, "layer_norm", f"[{rows}, {columns}]{', forward and backward' * backward}", goal
        )


@row("transposed")
def transposed(context: Context) -> Iterator[Result]:
    """The copy of a transposed matrix (4096 x 4096; on a GPU 8192 x 8192)."""
    n = side(context, 8192 if context.gpu else 4096)
    x = normal(n, n)
    forms: dict[str, Form] = {
        "torch": lambda _, x: x.t().contiguous(),
        "jax.jit": lambda j, x: j.jnp.transpose(x).copy(),
        "numpy": lambda _, x: np.ascontiguousarray(x.T),
    }
    goal = Goal(("torch",), speed=2.0) if context.gpu else Goal(("jax.jit",), most=0.5)
    operation = Operation((x,), forms["torch"], forms, copies=copies(context, x.size), truth=x.T[:16], tolerance=0)
    yield from operation.run(context, "transposed", f"[{n}, {n}]", goal)


@row("products", gpu=False)
def products(context: Context) -> Iterator[Result]:
    """Products of square float32 matrices, beside NumPy with its BLAS."""
    form: Form = lambda _, a, b: a @ b  # noqa: E731
    for n in (64, 128) if context.quick else (128, 256, 512, 1024, 2048):
        a, b = normal(n, n), normal(n, n, seed=1)
        truth = a[0].astype(np.float64) @ b.astype(np.float64)
        operation = Operation(
            (a, b), form, {"numpy": form, "torch": form, "jax.jit": form}, truth=truth, tolerance=1e-4
        )
        yield from operation.run(context, "products", f"{n} x {n} x {n}", Goal(("numpy",), speed=0.95))


@row("vectors", gpu=False)
def vectors(context: Context) -> Iterator[Result]:
    """A float32 matrix of 512 and of 2048 sides times a vector, from both sides."""
    for n in (64,) if context.quick else (512, 2048):
        m, v = normal(n, n), normal(n, seed=1)
        for case, form in ("matrix x vector", lambda _, m, v: m @ v), ("vector x matrix", lambda _, m, v: v @ m):
            truth = form(None, m.astype(np.float64), v)
            operation = Operation((m, v), form, {"numpy": form, "torch": form}, truth=truth, tolerance=1e-4)
            yield from operation.run(context, "vectors", f"{case}, {n} x {n}", Goal(("torch",), most=1.0))
