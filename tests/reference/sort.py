"""Rows of ops that sort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import spirograd as sg

from .row import FLOATS, NUMBERS, Row, Shape

SORTED: Sequence[Sequence[Shape]] = [[(2, 3)], [(1,)], [(7, 127)], [(1009,)], [(2, 3, 5)], [(3, 0)]]

EDGES = np.array([-1.5, -0.5, 0.0, 0.25, 2.0], "float32")


def edges(x: sg.Tensor) -> sg.Tensor:
    return sg.tensor(EDGES, device=x.device)


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
    Row("kthvalue", lambda x: x.kthvalue(1, 0).values, lambda x: x.min(0), [[(2, 3)], [(1,)], [(7, 127)]], NUMBERS),
    Row(
        "quantile",
        lambda x: x.quantile(0.3, 0),
        lambda x: np.quantile(x, 0.3, 0),
        [[(2, 3)], [(7, 127)], [(1009,)]],
        bound=lambda x, _, __: np.asarray(1e-6),
        reason="two roundings of the position between two elements",
    ),
    Row(
        "nanquantile",
        lambda x: x.nanquantile(0.5),
        lambda x: np.nanquantile(x, 0.5),
        [[(2, 3)], [(7, 127)]],
        bound=lambda x, _, __: np.asarray(1e-6),
        reason="two roundings of the position between two elements",
    ),
    Row(
        "searchsorted",
        lambda x: sg.searchsorted(edges(x), x),
        lambda x: np.searchsorted(EDGES, x),
        SORTED,
        FLOATS,
        differentiable=False,
    ),
    Row(
        "bucketize",
        lambda x: sg.bucketize(x, edges(x), right=True),
        lambda x: np.searchsorted(EDGES, x, "right"),
        SORTED,
        FLOATS,
        differentiable=False,
    ),
    Row(
        "isin",
        lambda x: sg.isin(x, sg.tensor([1, 2], device=x.device)),
        lambda x: np.isin(x, [1, 2]),
        SORTED,
        NUMBERS,
        differentiable=False,
    ),
    Row("unique", lambda x: x.unique(), lambda x: np.unique(x), [[(2, 3)], [(7, 127)]], NUMBERS, differentiable=False),
    Row(
        "unique_consecutive",
        lambda x: x.unique_consecutive(),
        lambda x: x.ravel()[np.append(True, np.diff(x.ravel()) != 0)],
        [[(2, 3)], [(7, 127)]],
        NUMBERS,
        differentiable=False,
    ),
    Row(
        "bincount",
        lambda x: x.bincount(minlength=9),
        lambda x: np.bincount(x, minlength=9),
        [[(3,)], [(1009,)]],
        ("int32", "int64"),
        ((0.0, 6.0),),
        differentiable=False,
    ),
]
