"""Calls of reductions, scans, products and linear algebra."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from torch_draw import EVERY, OFTEN, OFTEN_FLOAT, Draw, call, distinct, keep, size
from torch_oracle import FLOATS, Given, Type

# ---- reductions ------------------------------------------------------------------------------------------------------


@call("sum mean prod nansum nanmean", loose=4)
def total(d: Draw) -> Any:
    x = d.tensor()
    dims = d.dims(x.values.ndim)
    more = {} if dims is None else {"dim": dims, **keep(d)}
    if d.twenty() < 17:
        return [x], more
    return [d.tensor(x.values.shape, special=False)], {**more, "dtype": Type(d.pick(*EVERY))}


@call("amax amin all any count_nonzero")
def extreme(d: Draw) -> Any:
    x = d.tensor()
    dims = d.dims(x.values.ndim) or None  # of no dimension: all() and any() of PyTorch fold none, the others all
    if x.dtype == "uint8":  # whose all() and any() PyTorch has in uint8, for the time before bool
        x.dtype, x.values = "bool", x.values != 0
    return [x], {} if dims is None else {"dim": dims, **keep(d)}


@call("logsumexp", loose=4)
def logsumexp(d: Draw) -> Any:
    x = d.tensor()
    dims = d.dims(x.values.ndim)
    return [x], {"dim": dims or 0, **keep(d)}


@call("var std var_mean std_mean", loose=8)
def variance(d: Draw) -> Any:
    x = d.tensor(special=False)
    dims = d.dims(x.values.ndim) or None
    more = {} if dims is None else {"dim": dims, **keep(d)}
    kind = d.twenty()
    if kind > 14:
        more["unbiased"] = d.often()
    elif kind > 8:
        more["correction"] = d.pick(0, 1, 2)
        x.wants_grad = x.wants_grad and more["correction"] < 2  # of fewer numbers than that: 0 / 0, by other ways
    return [x], more


@call("argmax argmin")
def argmax(d: Draw) -> Any:
    x = d.tensor(special=False)
    return [x], {} if d.often() else {"dim": d.dim(x.values.ndim), **keep(d)}


@call("max min median nanmedian")
def max_of(d: Draw) -> Any:
    x = d.tensor(d.shape(sizes=(1, 2, 3, 5, 7)))  # of nothing: PyTorch has an answer of its own for each type
    x.layout = "plain" if x.layout == "repeated" else x.layout  # of which PyTorch's median reads beside the memory
    return [x], {} if d.often() else {"dim": d.dim(x.values.ndim), **keep(d)}


@call("aminmax")
def aminmax(d: Draw) -> Any:
    x = d.tensor()
    return [x], {} if d.often() else {"dim": d.dim(x.values.ndim), **keep(d)}


@call("norm", loose=4)
def norm(d: Draw) -> Any:
    x = d.tensor(dtypes=OFTEN_FLOAT)
    dims = d.dims(x.values.ndim)
    more = {} if dims is None else {"dim": dims, **keep(d)}
    p = d.pick((), (2,), (1,), (0,), (math.inf,), (-math.inf,), (3,), (0.5,), ("fro",))
    if p == ("fro",):
        more = {}  # of three dimensions PyTorch has none
    x.wants_grad = x.wants_grad and p != (0,)  # a count has no gradient
    return [x, *p], more


@call("kthvalue")
def kthvalue(d: Draw) -> Any:
    x = d.tensor()
    dim = d.dim(x.values.ndim)
    n = x.values.shape[dim] if -x.values.ndim <= dim < x.values.ndim else 1
    distinct(d, x)
    return [x, d.pick(*range(1, n + 1), n + 1, 0) if d.rarely() else d.pick(*range(1, max(n, 1) + 1)), dim], keep(d)


@call("quantile nanquantile", loose=4)
def quantile(d: Draw) -> Any:
    x = d.tensor(dtypes=("float32", "float64"), special=False)
    distinct(d, x)
    if d.rarely():
        x.values, x.wants_grad = np.where(x.values > 2, np.nan, x.values), False
    q = (
        d.pick(0.5, 0.0, 1.0, 0.3, 1.5)
        if d.often()
        else Given(np.array(d.pick([0.25, 0.75], [0.5], [], 0.4, [[0.5]])), x.dtype)
    )
    more = {} if d.often() else {"dim": d.dim(x.values.ndim), **keep(d)}
    if d.often():
        more["interpolation"] = d.pick("linear", "lower", "higher", "nearest", "midpoint", "what")
    return [x, q], more


@call("cov", loose=8)
def cov(d: Draw) -> Any:
    return [d.tensor(d.shape(0, 2), special=False)], {"correction": d.pick(0, 1, 2)} if d.often() else {}


@call("corrcoef", loose=8)
def corrcoef(d: Draw) -> Any:
    return [d.tensor(d.shape(0, 2), special=False)]


# ---- scans -----------------------------------------------------------------------------------------------------------
@call("cumsum cumprod", loose=4)
def scan(d: Draw) -> Any:
    x = d.tensor()
    return [x, d.dim(x.values.ndim)], {"dtype": Type(d.pick(*EVERY))} if d.twenty() > 16 else {}


@call("cummax cummin")
def running(d: Draw) -> Any:
    x = d.tensor(d.shape(sizes=(1, 2, 3, 5, 7)))  # of nothing: PyTorch takes every dimension
    return x, d.dim(x.values.ndim)


@call("logcumsumexp", loose=4)
def logcumsumexp(d: Draw) -> Any:
    x = d.tensor(dtypes=OFTEN_FLOAT)
    return x, d.dim(x.values.ndim)


@call("diff")
def diff(d: Draw) -> Any:
    x = d.tensor()
    n, dim = d.pick(1, 1, 2, 3, 9), d.dim(x.values.ndim)
    more = {}
    for word in ("prepend", "append"):
        if d.twenty() > 15:
            more[word] = d.tensor(x.values.shape, (x.dtype,) if d.often() else OFTEN)
    return [x, n, dim], more


# ---- products --------------------------------------------------------------------------------------------------------
NUMBERS = (*OFTEN_FLOAT, "float64", "int64", "int32", "uint8")  # booleans have no product here


def like(d: Draw, x: Given, *shape: int) -> Given:
    """Of the same type, mostly of this shape."""
    return d.tensor(d.shape() if d.rarely() else shape, (x.dtype,), False)


@call("matmul", loose=8)
def matmul(d: Draw) -> Any:
    kind = d.pick("vv", "mv", "vm", "mm", "bmm", "bm", "mb", "bv", "vb")
    m, k, n = size(d), size(d), size(d)
    batch = d.shape(1, 2, (1, 2, 3))
    a = {"v": (k,), "m": (m, k), "b": (*batch, m, k)}[kind[0]]
    b = {"v": (k,), "m": (k, n), "b": (*d.broadcast(batch), k, n)}[kind[1] if kind != "bmm" else "b"]
    x = d.tensor(a, NUMBERS, False)
    return x, like(d, x, *b)


@call("mm chain_matmul", loose=8)
def mm(d: Draw) -> Any:
    x = d.tensor((size(d), size(d)), NUMBERS, False)
    return x, like(d, x, x.values.shape[1], size(d))


@call("mv", loose=8)
def mv(d: Draw) -> Any:
    x = d.tensor((size(d), size(d)), NUMBERS, False)
    return x, like(d, x, x.values.shape[1])


@call("bmm", loose=8)
def bmm(d: Draw) -> Any:
    x = d.tensor((size(d), size(d), size(d)), NUMBERS, False)
    return x, like(d, x, x.values.shape[0], x.values.shape[2], size(d))


@call("dot vdot", loose=8)
def dot(d: Draw) -> Any:
    x = d.tensor((size(d),), NUMBERS, False)
    return x, like(d, x, *x.values.shape)


@call("outer ger")
def outer(d: Draw) -> Any:
    x = d.tensor((size(d),), OFTEN, False)
    return x, d.tensor(d.shape() if d.rarely() else (size(d),), OFTEN, False)


@call("inner", loose=8)
def inner(d: Draw) -> Any:
    x = d.tensor(None, NUMBERS, False)
    return x, like(d, x, *(d.shape(0, 2) if x.values.ndim else ()), *x.values.shape[-1:])


def scaled(d: Draw) -> dict[str, Any]:
    return {k: d.pick(1, 2, 3, -1) for k in ("beta", "alpha") if d.twenty() > 12}


@call("addmm", loose=8)
def addmm(d: Draw) -> Any:
    a, b = mm(d)
    shape = d.broadcast((a.values.shape[0], b.values.shape[-1] if b.values.ndim else 1))
    return [like(d, a, *shape), a, b], scaled(d)


@call("addmv", loose=8)
def addmv(d: Draw) -> Any:
    a, b = mv(d)
    if not a.values.size:  # PyTorch forgets to broadcast
        return [d.tensor(a.values.shape[:1], (a.dtype,), False), a, b], scaled(d)
    return [like(d, a, *d.broadcast(a.values.shape[:1])), a, b], scaled(d)


@call("baddbmm", loose=8)
def baddbmm(d: Draw) -> Any:
    a, b = bmm(d)
    shape = d.broadcast((*a.values.shape[:2], b.values.shape[-1] if b.values.ndim else 1))
    return [like(d, a, *shape), a, b], scaled(d)


@call("addbmm", loose=8)
def addbmm(d: Draw) -> Any:
    a, b = bmm(d)
    shape = d.broadcast((a.values.shape[1], b.values.shape[-1] if b.values.ndim else 1))
    return [like(d, a, *shape), a, b], scaled(d)


@call("einsum", loose=8)
def einsum(d: Draw) -> Any:
    n = {letter: size(d) for letter in "ijkb"}
    equation = d.pick(
        "ij,jk->ik", "ij,jk", "ii", "ii->i", "ij->ji", "bij,bjk->bik", "i,j->ij", "ij,ij->", "ij->j", "i,i",
        "...ij,...jk->...ik", "ij,kj,ik->", "...i->...", "ij,j", "bij->b", "ij->k", "ij,jk->ijz",
        "i j, j k -> i k", "ijk->ik", "iji->j",
    )  # fmt: skip
    left = equation.replace(" ", "").replace("...", "").split("->")[0].split(",")
    dtype = d.pick(*(NUMBERS if len(left) > 1 else FLOATS))  # PyTorch widens integers where it only adds up
    operands = [d.tensor(tuple(n.get(c, 2) for c in part), (dtype,), False) for part in left]
    return [equation, *operands]


@call("tensordot", loose=8)
def tensordot(d: Draw) -> Any:
    shared = d.shape(0, 2)
    dtype = d.pick(*NUMBERS)
    a = d.tensor((*d.shape(0, 1), *shared), (dtype,), False)
    b = d.tensor((*shared, *d.shape(0, 1)), (dtype,), False)
    if d.often():
        return [a, b], {"dims": len(shared)}
    free = a.values.ndim - len(shared)
    return [a, b], {"dims": ([free + i for i in range(len(shared))], list(range(len(shared))))}


@call("kron")
def kron(d: Draw) -> Any:
    return d.tensor(d.shape(0, 2), special=False), d.tensor(d.shape(0, 3), special=False)


# ---- linear algebra --------------------------------------------------------------------------------------------------
LAPACK = ("float32", "float64", "float64")


def matrices(d: Draw, kind: str = "square") -> Given:
    """Far from singular; positive definite ones are symmetric."""
    n = d.pick(1, 2, 3, 5)
    x = d.tensor(
        (*d.shape(0, 1, (1, 2, 3)), *(d.shape(2, 2, (1, 2, 3, 5)) if kind == "any" else (n, n))), LAPACK, False
    )
    if kind == "positive":
        x.values = (x.values + np.swapaxes(x.values, -1, -2)) / 8
    if kind != "any":
        x.values = x.values + np.diag(np.arange(n) * 2 + 8.0)
    if x.layout == "repeated":
        x.layout = "plain"
    return x


@call("linalg_det linalg_inv", loose=100)
def determinant(d: Draw) -> Any:
    return [matrices(d, "any" if d.rarely() else "square")]


@call("linalg_slogdet", loose=100)
def slogdet(d: Draw) -> Any:
    x = matrices(d)
    x.wants_grad = False  # PyTorch's sign wants one, as that of a complex number does
    return [x]


@call("linalg_cholesky linalg_eigvalsh", loose=100)
def symmetric(d: Draw) -> Any:
    return [matrices(d, "positive")]


@call("linalg_solve", loose=100)
def solve(d: Draw) -> Any:
    x = matrices(d)
    return [x, d.tensor((*x.values.shape[:-1], d.pick(1, 2, 3)), (x.dtype,), False)]


@call("linalg_svdvals linalg_pinv", loose=100)
def svdvals(d: Draw) -> Any:
    x = matrices(d, "any")
    x.wants_grad = False  # of random matrices with equal singular values
    return [x]


@call("linalg_matrix_power", loose=100)
def matrix_power(d: Draw) -> Any:
    return [matrices(d), d.pick(1, 2, 3, -1)]


@call("linalg_vector_norm", loose=8)
def vector_norm(d: Draw) -> Any:
    (x, *p), more = norm(d)
    return [x, *(q for q in p if q != "fro")], more


@call("linalg_matrix_norm", loose=8)
def matrix_norm(d: Draw) -> Any:
    return [matrices(d, "any"), *d.pick((), ("fro",), (1,), (math.inf,), (-1,))], keep(d)


@call("linalg_multi_dot", loose=8)
def multi_dot(d: Draw) -> Any:
    sizes = [d.pick(1, 2, 3) for _ in range(d.pick(3, 4))]
    dtype = d.pick(*LAPACK)
    return [[d.tensor(pair_of, (dtype,), False) for pair_of in itertools.pairwise(sizes)]]
