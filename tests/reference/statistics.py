"""Rows of what is made of folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import EVERY, FLOATS, FOLDED, FOLDS, INTEGERS, NUMBERS, PAIRS, Array, Row, Shape, eps, relative, soft

SPREAD: Sequence[Sequence[Shape]] = [[(2, 3)], [(7, 127)], [(3, 4, 5)]]


def spread(name: str) -> list[Row]:
    """var and std over what FOLDS names, with each correction."""
    oracle = {"var": np.var, "std": np.std}[name]
    return [
        Row(
            f"{name}:{label}_{correction}",
            lambda x, a=arguments, c=correction: getattr(sg, name)(x, **a, correction=c),
            lambda x, a=arguments, c=correction: np.asarray(
                oracle(x, axis=a.get("dim"), keepdims=a.get("keepdim", False), ddof=c)
            ),
            SPREAD,
            NUMBERS,
            bound=relative(16),
        )
        for label, arguments in FOLDS
        for correction in (0, 1)
    ]


def logsumexp(x: Array, axis: Any) -> Array:
    top = x.max(axis=axis, keepdims=True)
    return np.squeeze(np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top, axis)


def norm(x: Array, p: float, axis: Any = None) -> Array:
    if p == 0:
        return np.asarray((x != 0).sum(axis=axis).astype(np.longdouble))
    if np.isinf(p):
        return np.asarray(np.abs(x).max(axis=axis) if p > 0 else np.abs(x).min(axis=axis))
    return np.asarray((np.abs(x) ** p).sum(axis=axis, dtype=np.longdouble) ** (1 / np.longdouble(p)))


def extreme(name: str) -> list[Row]:
    """max or min with the place beside the value."""
    arg = getattr(np, f"arg{name}")
    rows = [
        Row(f"{name}:values", lambda x: getattr(x, name)(-1).values, lambda x: getattr(np, name)(x, -1), FOLDED, EVERY),
        Row(
            f"{name}:indices",
            lambda x: getattr(x, name)(0, True).indices,
            lambda x: arg(x, 0, keepdims=True),
            FOLDED,
            EVERY,
            differentiable=False,
        ),
        Row(f"{name}:all", lambda x: getattr(x, name)(), lambda x: getattr(np, name)(x), FOLDED, EVERY),
        Row(
            f"{name}:two",
            lambda a, b: getattr(a, name)(b),
            np.maximum if name == "max" else np.minimum,
            PAIRS,
            NUMBERS,
            pointwise=True,
        ),
    ]
    for dim in (None, 0, -1):
        rows.append(
            Row(
                f"arg{name}:{dim}",
                lambda x, d=dim: getattr(sg, f"arg{name}")(x, d),
                lambda x, d=dim: np.asarray(arg(x, d)),
                FOLDED,
                EVERY,
                differentiable=False,
            )
        )
    return rows


def with_nan(x: Any) -> Any:
    """NaN where x is above 1, for NumPy and for us."""
    if isinstance(x, sg.Tensor):
        return sg.where(x > 1, float("nan"), x) if x.is_floating_point() else x
    return np.where(x > 1, np.nan, x) if x.dtype.kind == "f" else x


ROWS: list[Row] = [
    *(
        Row(
            f"prod:{label}",
            lambda x, a=arguments: sg.prod(x, **a),
            lambda x, a=arguments: np.asarray(x.prod(axis=a.get("dim"), keepdims=a.get("keepdim", False))),
            [*FOLDED, [(0, 3)]],
            FLOATS,
            ((0.98, 1.02),),
            bound=lambda x, want, got: max(x.size, 1) * eps(got.dtype) * np.abs(want),
        )
        for label, arguments in FOLDS
    ),
    Row(
        "prod:integers",
        lambda x: x.prod(0),
        lambda x: x.prod(0, dtype=np.int64),
        [[(2, 3)], [(5, 7)], [(0, 3)]],
        (*INTEGERS, "bool"),
        ((-2, 2),),
        differentiable=False,
    ),
    Row(
        "nansum",
        lambda x: with_nan(x).nansum(0),
        lambda x: np.nansum(with_nan(x), 0),
        FOLDED,
        ("float32",),
        bound=lambda x, want, got: 2 * len(x) ** 0.5 * eps(got.dtype) * np.abs(x).sum(0),
        differentiable=False,
    ),
    Row(
        "nanmean",
        lambda x: with_nan(x).nanmean(1),
        lambda x: np.nanmean(with_nan(x), 1),
        FOLDED[:1] + FOLDED[2:4],
        ("float32",),
        bound=relative(16),
        differentiable=False,
    ),
    Row(
        "sum:dtype",
        lambda x: x.sum(0, dtype=sg.float64),
        lambda x: x.sum(0, dtype=np.longdouble),
        FOLDED,
        NUMBERS,
        bound=lambda x, want, got: 2 * len(x) ** 0.5 * eps(got.dtype) * np.abs(x).sum(0),
    ),
    Row(
        "sum:int32",
        lambda x: x.sum(dtype=sg.int32),
        lambda x: np.asarray(x.astype(np.int32).sum()),
        FOLDED,
        (*INTEGERS, "bool"),
        differentiable=False,
    ),
    *(
        Row(
            f"{name}:{label}",
            lambda x, a=arguments, n=name: getattr(sg, n)(x, **a),
            lambda x, a=arguments, n=name: np.asarray(
                getattr(np, n)(x, axis=a.get("dim"), keepdims=a.get("keepdim", False))
            ),
            [*FOLDED, [(0, 3)]],
            EVERY,
            ((-1, 1),),
            differentiable=False,
        )
        for name in ("any", "all")
        for label, arguments in FOLDS
    ),
    *(
        Row(
            f"count_nonzero:{dim}",
            lambda x, d=dim: x.count_nonzero(d),
            lambda x, d=dim: np.asarray(np.count_nonzero(x, axis=d)),
            [*FOLDED, [(0, 3)]],
            EVERY,
            differentiable=False,
        )
        for dim in (None, 0, (0, 1))
    ),
    *(
        Row(
            f"aminmax:{i}",
            lambda x, i=i: x.aminmax(dim=0)[i],
            lambda x, i=i: [np.amin, np.amax][i](x, 0),
            FOLDED,
            EVERY,
        )
        for i in (0, 1)
    ),
    *(
        Row(
            f"{name}:{dim}",
            lambda x, n=name, d=dim: getattr(sg, n)(x) if d is None else getattr(sg, n)(x, d).values,
            lambda x, n=name, d=dim: np.asarray(
                getattr(np, n.replace("median", "quantile"))(x.astype(np.float64), 0.5, axis=d, method="lower")
            ),
            FOLDED,
            FLOATS,
        )
        for name in ("median", "nanmedian")
        for dim in (None, 0, -1)
    ),
    *extreme("max"),
    *extreme("min"),
    *spread("var"),
    *spread("std"),
    *(
        Row(
            f"{name}_mean:{i}",
            lambda x, n=name, i=i: getattr(sg, f"{n}_mean")(x, 0)[i],
            lambda x, n=name, i=i: np.mean(x, 0) if i else getattr(np, n)(x, 0, ddof=1),
            SPREAD,
            bound=relative(16),
        )
        for name in ("var", "std")
        for i in (0, 1)
    ),
    *(
        soft(f"logsumexp:{dim}", lambda x, d=dim: x.logsumexp(d), lambda x, d=dim: logsumexp(x, d), FOLDED)
        for dim in (0, -1, (0, 1))
    ),
    *(
        Row(
            f"norm:{p}",
            lambda x, p=p: x.norm(p, 0),
            lambda x, p=p: norm(x, p, 0),
            [[(2, 3)], [(7, 127)], [(3, 4, 5)]],
            bound=relative(32),
            differentiable=p != 0,
            kinks=(0.0,),
        )
        for p in (0, 1, 2, 3, float("inf"), -float("inf"))
    ),
    Row("norm:all", lambda x: x.norm(), lambda x: norm(x, 2), FOLDED, bound=relative(32)),
    Row("cov", lambda x: x.cov(), lambda x: np.cov(x), [[(2, 3)], [(5, 7)], [(9,)]], bound=relative(32)),
    Row("corrcoef", lambda x: x.corrcoef(), lambda x: np.corrcoef(x), [[(2, 3)], [(5, 7)]], bound=relative(32)),
    Row(
        "isclose",
        lambda a, b: sg.isclose(a, b, rtol=0.5, atol=0.25),
        lambda a, b: np.isclose(a, b, rtol=0.5, atol=0.25),
        PAIRS,
        NUMBERS,
        differentiable=False,
        pointwise=True,
    ),
]
