"""The row about attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.common import Result
from harness.rows import Context, row
from rows.ops.compare import Form, Goal, Operation, normal
from rows.ops.reduce import copies


def exact(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of one head, in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.where(np.tril(np.ones((len(q), len(k)), bool)), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


@row("attention")
def attention(context: Context) -> Iterator[Result]:
    """Causal attention in float32, forward and with backward; shapes are [batch, heads, rows, elements]."""
    sizes = [(12, 4, 64, 32), (2, 4, 512, 64)] if not context.gpu else [(8, 16, 1024, 64), (64, 6, 256, 64)]
    ours: Form = lambda s, q, k, v: s._core._attention(q, k, v, q.shape[-1] ** -0.5, True)  # noqa: E731
    theirs: Form = lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    for shape in [(2, 2, 32, 16)] if context.quick else sizes:
        inputs = tuple(normal(*shape, seed=i) for i in range(3))
        for backward in (False, True):
            limit = (2.6 if backward else 2.4) if context.gpu else 1.0
            operation = Operation(
                inputs, ours, {"torch": theirs}, upstream=normal(*shape, seed=3) if backward else None,
                copies=copies(context, inputs[0].size), truth=exact(*(x[0, 0] for x in inputs)), tolerance=1e-4,
            )  # fmt: skip
            case = f"{list(shape)}{', forward and backward' * backward}"
            yield from operation.run(context, "attention", case, Goal(("torch",), most=limit))
