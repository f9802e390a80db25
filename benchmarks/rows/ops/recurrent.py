"""The row about recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.common import Result
from harness.rows import Context, row
from rows.ops.compare import Form, Goal, Operation, normal
from spirograd.nn._recurrence import Lstm, run


def ours(s: Any, x: Any, of_input: Any, of_state: Any, bias: Any) -> Any:
    start = s.zeros(x.shape[1], of_state.shape[1], device=x.device)
    return run(Lstm(), s.nn.functional.linear(x, of_input, bias), of_state, None, (start, start), False)[0]


def theirs(t: Any, x: Any, of_input: Any, of_state: Any, bias: Any) -> Any:
    start = t.zeros(1, x.shape[1], of_state.shape[1], device=x.device)
    weights = [of_input, of_state, bias, t.zeros_like(bias)]
    return t.lstm(x, (start, start), weights, True, 1, 0.0, True, False, False)[0]


def exact(x: Any, of_input: Any, of_state: Any, bias: Any) -> Any:
    """The first step, in float64."""
    i, _, g, o = np.split(x[0].astype(np.float64) @ of_input.T + bias, 4, 1)
    return np.tanh(np.tanh(g) / (1 + np.exp(-i))) / (1 + np.exp(-o))


@row("lstm")
def lstm(context: Context) -> Iterator[Result]:
    """A layer of LSTM in float32, forward and with backward; [time, batch], features to features."""
    time, batch, features, hidden = (128, 64, 128, 256) if context.gpu else (64, 32, 128, 256)
    if context.quick:
        time, batch, features, hidden = 4, 2, 8, 8
    shapes = (time, batch, features), (4 * hidden, features), (4 * hidden, hidden), (4 * hidden,)
    scales = 1.0, hidden**-0.5, hidden**-0.5, 0.1
    inputs = tuple(normal(*shape, seed=i) * np.float32(scales[i]) for i, shape in enumerate(shapes))
    form: Form = ours
    for backward in (False, True):
        upstream = normal(time, batch, hidden, seed=5) if backward else None
        operation = Operation(inputs, form, {"torch": theirs}, upstream, truth=exact(*inputs), tolerance=1e-4)
        case = f"[{time}, {batch}], {features} to {hidden}{', forward and backward' * backward}"
        yield from operation.run(context, "lstm", case, Goal(("torch",), most=1.6 if context.gpu else 1.0))
