"""Rows of products beside matmul."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import NUMBERS, Array, Row, Shape, eps, product_bound, relative

BATCHES: Sequence[Sequence[Shape]] = [
    [(2, 3, 4, 5), (2, 3, 5, 6)],
    [(2, 1, 4, 5), (3, 5, 6)],
    [(2, 3, 4, 5), (5, 2)],
    [(4, 5), (2, 3, 5, 2)],
    [(2, 3, 2, 5), (5,)],
    [(5,), (2, 3, 5, 2)],
    [(2, 0, 2, 3), (3, 2)],
    [(1, 1, 7, 3), (2, 1, 3, 5)],
]
EQUATIONS: Sequence[tuple[str, Sequence[Shape]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ji,jk->ik", [(3, 2), (3, 4)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...,...", [(2, 3), (3,)]),
    ("i,i->", [(7,), (7,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("iij,jii->ij", [(3, 3, 2), (2, 3, 3)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("ba", [(2, 3)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,i->j", [(2, 3), (2,)]),
    ("ijk,kl->lij", [(2, 3, 4), (4, 5)]),
    ("i,ij,j->", [(3,), (3, 4), (4,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("b i d , b j d -> b i j", [(2, 3, 4), (2, 5, 4)]),
    ("ij,kj->ik", [(0, 3), (2, 3)]),
    (",ij->ij", [(), (2, 3)]),
]


def einsum_bound(equation: str) -> Callable[..., Array]:
    def bound(*values: Array) -> Array:
        *inputs, want, got = values
        size = max(int(np.prod([x.size for x in inputs])) // max(want.size, 1), 1)
        return np.asarray(4 * size**0.5 * eps(got.dtype) * np.einsum(equation, *(np.abs(x) for x in inputs)))

    return bound


def combination(name: str, op: Callable[..., Any], oracle: Callable[..., Any], shapes: Sequence[Shape]) -> Row:
    return Row(name, op, oracle, [shapes], NUMBERS, bound=relative(64))


ROWS: list[Row] = [
    Row("matmul:batches", sg.matmul, np.matmul, BATCHES, NUMBERS, bound=product_bound),
    *(
        Row(name, getattr(sg, name), np.matmul, shapes, NUMBERS, bound=product_bound)
        for name, shapes in (
            ("mm", [[(2, 3), (3, 4)], [(0, 3), (3, 2)], [(65, 129), (129, 7)]]),
            ("bmm", [[(5, 2, 3), (5, 3, 4)], [(1, 2, 3), (1, 3, 1)]]),
            ("mv", [[(2, 3), (3,)], [(7, 127), (127,)]]),
            ("dot", [[(3,), (3,)], [(1009,), (1009,)], [(0,), (0,)]]),
        )
    ),
    combination("inner", sg.inner, np.inner, [(2, 3), (4, 3)]),
    combination("inner:1d", sg.inner, np.inner, [(3,), (3,)]),
    Row("outer", sg.outer, np.outer, [[(3,), (4,)], [(7,), (127,)], [(0,), (3,)]], NUMBERS, ulp=0.5),
    Row("kron", sg.kron, np.kron, [[(2, 3), (3, 2)], [(3,), (2, 2)], [(), (2,)]], NUMBERS, ulp=0.5),
    combination("addmm", sg.addmm, lambda c, a, b: c + a @ b, [(2, 4), (2, 3), (3, 4)]),
    combination(
        "addmm:scaled",
        lambda c, a, b: sg.addmm(c, a, b, beta=2, alpha=3),
        lambda c, a, b: 2 * c + 3 * (a @ b),
        [(4,), (2, 3), (3, 4)],
    ),
    combination("addmv", sg.addmv, lambda c, a, b: c + a @ b, [(2,), (2, 3), (3,)]),
    combination("baddbmm", sg.baddbmm, lambda c, a, b: c + a @ b, [(1, 4), (5, 2, 3), (5, 3, 4)]),
    combination("addbmm", sg.addbmm, lambda c, a, b: c + (a @ b).sum(0), [(2, 4), (5, 2, 3), (5, 3, 4)]),
    combination("chain_matmul", sg.chain_matmul, lambda a, b, c: a @ b @ c, [(2, 3), (3, 4), (4, 2)]),
    *(
        combination(
            f"tensordot:{i}",
            lambda a, b, d=dims: sg.tensordot(a, b, dims=d),
            lambda a, b, d=dims: np.asarray(np.tensordot(a, b, axes=d)),
            shapes,
        )
        for i, (dims, shapes) in enumerate(
            [
                (1, [(2, 3), (3, 4)]),
                (2, [(2, 3, 4), (3, 4, 5)]),
                (0, [(2, 3), (2,)]),
                (([0, -1], [1, 0]), [(2, 3, 4), (4, 2, 5)]),
            ]
        )
    ),
    *(
        Row(
            f"einsum:{equation.replace(' ', '')}",
            lambda *x, e=equation: sg.einsum(e, *x),
            lambda *x, e=equation: np.asarray(np.einsum(e, *x)),
            [shapes],
            NUMBERS,
            bound=einsum_bound(equation),
        )
        for equation, shapes in EQUATIONS
    ),
]
