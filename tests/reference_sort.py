"""Rows of ops that sort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import spirograd as sg
from row import FLOATS, NUMBERS, Row, Shape

SORTED: Sequence[Sequence[Shape]] = [[(2, 3)], [(1,)], [(7, 127)], [(1009,)], [(2, 3, 5)], [(3, 0)]]

ROWS = [
    Row("sort", lambda x: sg.sort(x).values, lambda x: np.sort(x), SORTED, NUMBERS),
    Row("sort:first", lambda x: x.sort(0).values, lambda x: np.sort(x, 0), SORTED, FLOATS),
    Row(
        "sort:descending",
        lambda x: x.sort(descending=True).values,
        lambda x: -np.sort(-x),
        SORTED,
        FLOATS,
    ),
    Row("msort", sg.msort, lambda x: np.sort(x, 0), SORTED, FLOATS),
    Row("argsort", sg.argsort, lambda x: np.argsort(x, -1, kind="stable"), SORTED, FLOATS, differentiable=False),
    Row("topk", lambda x: x.topk(1).values, lambda x: x.max(-1, keepdims=True), SORTED[:-1], NUMBERS),
    Row(
        "topk:long",
        lambda x: x.topk(5, largest=False).values,
        lambda x: np.sort(x)[..., :5],
        [[(5000,)], [(2, 4999)]],
        FLOATS,
    ),
]
