"""One row for each op: what NumPy says, on which inputs, and how far off a result may be.

All tests of ops loop over ROWS; an op without a row (or a reason in NOT_OPS) fails test_ops.py. To add an op, add its
row. Bounds: `ulp` counts units in the last place of the exact result; reductions are off by at most 2 sqrt(n) eps
times the sum of absolute values; products by 4 times the error of NumPy's float32 product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import spirograd as sg

from . import convolution, indexing, pointwise, pooling, products, shapes, sort, statistics
from .row import (
    EACH,
    EVERY,
    FLOATS,
    FOLDED,
    FOLDS,
    INTEGERS,
    NUMBERS,
    Array,
    Row,
    Shape,
    arrays_for,
    check,
    eps,
    product_bound,
    soft,
    ulps,
)

__all__ = [
    "ALIASES",
    "EVERY",
    "FLOATS",
    "INTEGERS",
    "IN_PLACE",
    "NOT_OPS",
    "NUMBERS",
    "ROWS",
    "Array",
    "Row",
    "Shape",
    "arrays_for",
    "check",
    "ulps",
]


# ---- reductions ------------------------------------------------------------------------------------------------------
def fold_rows(name: str, oracle: Callable[..., Array], dtypes: Sequence[str], exact: bool) -> list[Row]:
    rows = []
    for label, arguments in FOLDS:
        numpy_arguments = {"axis": arguments.get("dim"), "keepdims": arguments.get("keepdim", False)}

        def bound(x: Array, want: Array, got: Array, to: dict[str, Any] = numpy_arguments) -> Array:
            n = max(x.size / max(want.size, 1), 1)
            total = np.abs(x).sum(**to)
            if name == "mean":
                total = total / n
            return np.asarray(2 * np.sqrt(n) * eps(got.dtype) * total)

        rows.append(
            Row(
                f"{name}:{label}",
                lambda x, a=arguments: getattr(sg, name)(x, **a),
                lambda x, a=numpy_arguments: oracle(x, **a),
                FOLDED if exact and name.startswith("am") else [*FOLDED, [(0, 3)]] if label == "first" else FOLDED,
                dtypes,
                bound=None if exact else bound,
            )
        )
    return rows


def int_sum(x: Array, **to: Any) -> Array:
    return np.asarray(x.sum(**to, dtype=x.dtype if x.dtype.kind == "f" else np.int64))


# ---- products --------------------------------------------------------------------------------------------------------
PRODUCTS: Sequence[Sequence[Shape]] = [
    [(2, 3), (3, 4)],
    [(1, 1), (1, 1)],
    [(7, 127), (127, 13)],
    [(64, 64), (64, 64)],
    [(129, 65), (65, 33)],
    [(1, 1009), (1009, 1)],
    [(0, 3), (3, 2)],
    [(2, 0), (0, 3)],
    [(5, 2, 3), (5, 3, 4)],
    [(5, 2, 3), (1, 3, 4)],
    [(1, 2, 3), (5, 3, 4)],
    [(5, 2, 3), (3, 4)],
    [(2, 3), (5, 3, 4)],
    [(3,), (3,)],
    [(2, 3), (3,)],
    [(3,), (3, 4)],
    [(5, 2, 3), (3,)],
    [(3,), (5, 3, 4)],
]


# ---- composites ------------------------------------------------------------------------------------------------------
def softmax(x: Array, dim: int) -> Array:
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


def log_softmax(x: Array, dim: int) -> Array:
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.zeros_like(x)
    shifted = x - x.max(axis=dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def classes(x: sg.Tensor) -> sg.Tensor:
    n, c = x.shape
    return sg.tensor(np.arange(n) * 5 % c, device=x.device)


def cross_entropy(x: Array, reduction: str) -> Array:
    n, c = x.shape
    loss = -log_softmax(x, 1)[np.arange(n), np.arange(n) * 5 % c]
    return np.asarray(loss if reduction == "none" else getattr(loss, reduction)())


LOGIT_ROWS: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(1009, 2)], [(3, 4, 5)], [(0, 3)]]
LOGITS: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(64, 10)]]


# ---- views and movement ----------------------------------------------------------------------------------------------
def view(name: str, op: Callable[..., Any], shapes: Sequence[Sequence[Shape]]) -> Row:
    return Row(name, op, op, shapes, EVERY)


def creation(name: str, op: Callable[[Any], sg.Tensor], oracle: Callable[..., Array], dtypes: Sequence[str]) -> Row:
    """Made from the place and type of the input alone."""
    return Row(name, op, oracle, [[(2, 3)], [()], [(0, 3)], [(7, 127)]], dtypes, differentiable=False)


def to(dtype: str, differentiable: bool) -> Row:
    # 1.5 and the like truncate; 0.05 <= |x| so that no boolean depends on rounding.
    oracle = (lambda x: x.astype(dtype)) if dtype not in FLOATS else (lambda x: x.astype(np.longdouble))
    name = f"cast:{dtype}"
    return Row(name, lambda x: x.to(getattr(sg, dtype)), oracle, EACH, EVERY, ulp=0.5, differentiable=differentiable)


B23: Sequence[Sequence[Shape]] = [[(2, 3)], [(7, 127)], [(1, 1)]]

ROWS: list[Row] = [
    *indexing.ROWS,
    *shapes.ROWS,
    *sort.ROWS,
    *statistics.ROWS,
    *products.ROWS,
    *convolution.ROWS,
    *pooling.ROWS,
    *pointwise.ROWS,
    *fold_rows("sum", int_sum, EVERY, exact=False),
    *fold_rows("mean", lambda x, **a: np.asarray(x.mean(**a, dtype=np.longdouble)), NUMBERS, exact=False),
    *fold_rows("amax", np.amax, EVERY, exact=True),
    *fold_rows("amin", np.amin, EVERY, exact=True),
    Row("matmul", lambda a, b: a @ b, np.matmul, PRODUCTS, NUMBERS, bound=product_bound),
    Row(
        "matmul:nt",
        lambda a, b: a @ b.T,
        lambda a, b: a @ b.T,
        [[(7, 127), (13, 127)], [(64, 65), (33, 65)]],
        FLOATS,
        bound=lambda a, b, want, got: product_bound(a, b.T, want, got),
    ),
    Row(
        "matmul:tn",
        lambda a, b: a.T @ b,
        lambda a, b: a.T @ b,
        [[(127, 7), (127, 13)], [(65, 64), (65, 33)]],
        FLOATS,
        bound=lambda a, b, want, got: product_bound(a.T, b, want, got),
    ),
    Row(
        "matmul:tt",
        lambda a, b: a.T @ b.T,
        lambda a, b: a.T @ b.T,
        [[(127, 7), (13, 127)], [(65, 64), (33, 65)]],
        FLOATS,
        bound=lambda a, b, want, got: product_bound(a.T, b.T, want, got),
    ),
    view("reshape", lambda x: x.reshape(x.shape[1], -1) if 0 not in x.shape else x.reshape(-1, 1), B23),
    view("reshape:copy", lambda x: (x.transpose(0, 1) if isinstance(x, sg.Tensor) else x.T).reshape(-1), B23),
    Row("flatten", lambda x: x.flatten(), lambda x: x.reshape(-1), EACH, EVERY),
    Row("transpose", lambda x: x.transpose(0, 1), lambda x: x.swapaxes(0, 1), [*B23, [(2, 3, 4)], [(0, 3)]], EVERY),
    Row("permute", lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), [[(2, 3, 4)], [(7, 1, 5)]], EVERY),
    Row("expand", lambda x: x.expand(4, *x.shape), lambda x: np.broadcast_to(x, (4, *x.shape)), EACH, EVERY),
    Row("unsqueeze", lambda x: x.unsqueeze(-1), lambda x: x[..., None], EACH, EVERY),
    Row("squeeze", lambda x: x.squeeze(0), lambda x: x[0], [[(1, 3)], [(1,)], [(1, 2, 1)]], EVERY),
    view("slice", lambda x: x[1:, ::2], [[(2, 3)], [(7, 127)], [(5, 4, 3)], [(1, 1)]]),
    view("slice:index", lambda x: x[-1, 1:3], [[(2, 3)], [(7, 127)], [(5, 4, 3)]]),
    Row("contiguous", lambda x: x.transpose(0, 1).contiguous(), lambda x: x.swapaxes(0, 1), B23, EVERY, pointwise=True),
    Row("clone", lambda x: x.clone(), lambda x: x, EACH, EVERY, pointwise=True),
    *(
        soft(f"softmax:{dim}", lambda x, d=dim: x.softmax(d), lambda x, d=dim: softmax(x, d), LOGIT_ROWS)
        for dim in (0, 1)
    ),
    *(
        soft(f"log_softmax:{dim}", lambda x, d=dim: x.log_softmax(d), lambda x, d=dim: log_softmax(x, d), LOGIT_ROWS)
        for dim in (0, 1)
    ),
    *(
        soft(
            f"cross_entropy:{r}",
            lambda x, r=r: sg.cross_entropy(x, classes(x), reduction=r),
            lambda x, r=r: cross_entropy(x, r),
            LOGITS,
        )
        for r in ("mean", "sum", "none")
    ),
    soft(
        "nll_loss",
        lambda x: sg.nll_loss(x, classes(x)),
        lambda x: np.asarray(-np.asarray(x)[np.arange(len(x)), np.arange(len(x)) * 5 % x.shape[1]].mean()),
        LOGITS,
    ),
    creation("zeros_like", sg.zeros_like, np.zeros_like, EVERY),
    creation("ones_like", sg.ones_like, np.ones_like, EVERY),
    creation("zeros", lambda x: sg.zeros(x.shape, dtype=x.dtype, device=x.device), np.zeros_like, EVERY),
    creation(
        "ones",
        lambda x: sg.ones(*x.shape, dtype=x.dtype, device=x.device) if x.shape else sg.ones_like(x),
        np.ones_like,
        EVERY,
    ),
    creation(
        "full", lambda x: sg.full(x.shape, 3, dtype=x.dtype, device=x.device), lambda x: np.full_like(x, 3), EVERY
    ),
    creation(
        "arange",
        lambda x: sg.arange(3, 50, 4, dtype=x.dtype, device=x.device),
        lambda x: np.arange(3, 50, 4, dtype=x.dtype),
        NUMBERS,
    ),
    creation(
        "linspace",
        lambda x: sg.linspace(-2, 13, 31, dtype=x.dtype, device=x.device),
        lambda x: np.linspace(-2, 13, 31).astype(x.dtype),
        NUMBERS,
    ),
    creation(
        "eye",
        lambda x: sg.eye(3, 5, dtype=x.dtype, device=x.device),
        lambda x: np.eye(3, 5, dtype=x.dtype),
        EVERY,
    ),
    *(to(dtype, dtype == "float64") for dtype in EVERY),
]

# Other names of pointwise ops (what their text says), and forms in place.
ELEMENTWISE = {row.name for row in pointwise.ROWS}
ALIASES: dict[str, str] = {
    name: found[1]
    for name, (_, _, doc) in {**sg._core._methods, **sg._core._tensor_functions}.items()
    if (found := re.match(r"The same as (\w+)\.", doc)) and found[1] in ELEMENTWISE
}
IN_PLACE = sorted(name for name in sg._core._methods if name[-1] == "_" and name[:-1] in {*ELEMENTWISE, *ALIASES})

# Names of the module and of Tensor that are no ops, or are ops under another name, by what stands for them.
NOT_OPS: dict[str, str] = {
    "_take_view": "the torch folder calls it: porting/programs/in_place_shapes.py",
    **dict.fromkeys(["rand", "randn", "rand_like", "randn_like", "randint",
                     "randint_like", "randperm", "multinomial", "random_", "normal", "bernoulli", "uniform_", "normal_",
                     "bernoulli_", "exponential_", "manual_seed", "seed", "initial_seed", "get_rng_state",
                     "set_rng_state"], "random numbers: test_random.py"),
    **dict.fromkeys(["empty", "empty_like", "new_empty", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor",
                     "logspace", "as_tensor", "asarray"], "new tensors: test_creation.py"),
    **dict.fromkeys(["__dlpack__", "__dlpack_device__", "from_dlpack"],
                    "memory shared with other libraries: test_interop.py"),
    **dict.fromkeys(["tensor", "from_numpy", "numpy", "__array__", "item", "tolist", "cpu", "gpu", "cuda",
                     "_repr_html_", "__reduce_ex__", "__copy__", "__deepcopy__", "__format__", "numpy_async",
                     "item_async", "to_sparse"],
                    "values in and out, and to another device: test_python_api.py, test_interop.py, test_printing.py, "
                    "test_later_reads.py, test_sparse.py"),
    **dict.fromkeys(["to", "type", "type_as", "float", "double", "half", "bfloat16", "int", "long", "short", "char",
                     "byte", "bool"], "conversion to another type: test_dtypes.py"),
    **dict.fromkeys(["view", "view_as"], "reshape"),
    **dict.fromkeys(["concat", "concatenate"], "cat"),
    **dict.fromkeys(["swapaxes", "swapdims"], "transpose"),
    **{"permute_dims": "permute", "movedim": "moveaxis", "expand_dims": "unsqueeze", "ger": "outer", "vdot": "dot"},
    **dict.fromkeys(["equal", "allclose", "broadcast_shapes"], "results that are not tensors: test_shapes.py"),
    **dict.fromkeys(["size", "numel", "nelement", "dim", "ndimension", "stride", "is_contiguous", "is_floating_point",
                     "element_size", "storage_offset", "data_ptr", "get_device", "is_same_size", "is_signed",
                     "is_complex", "is_inference", "is_tensor", "promote_types", "result_type", "can_cast",
                     "set_default_dtype", "get_default_dtype", "device", "set_default_device", "get_default_device",
                     "is_grad_enabled"], "facts about tensors, types, devices and modes: test_python_api.py"),
    **dict.fromkeys(["set_float32_matmul_precision", "get_float32_matmul_precision"],
                    "how exactly products are computed: test_matmul_precision.py"),
    **dict.fromkeys(["explain", "stats", "reset_stats", "empty_cache", "synchronize"],
                    "running what is pending, counters, memory: test_rules.py"),
    **dict.fromkeys(["detach", "requires_grad_", "backward"], "gradients: test_grad.py"),
    **dict.fromkeys(["detach_", "retain_grad", "register_hook", "register_post_accumulate_grad_hook"],
                    "the gradient graph and its hooks: test_autograd.py"),
    **dict.fromkeys(["tril_", "triu_", "masked_fill_", "addmm_", "baddbmm_"], "in place: test_shapes.py"),
    **dict.fromkeys(["copy_", "fill_", "zero_"], "writing values into a tensor: test_grad.py, test_rules.py"),
    "argwhere": "nonzero",
    **dict.fromkeys(["scatter_", "scatter_add_", "scatter_reduce_", "index_add_", "index_copy_", "index_fill_",
                     "index_put_", "masked_scatter_"], "in place: test_indexing.py"),
    **ALIASES,
    **dict.fromkeys(IN_PLACE, "operations in place: test_pointwise.py"),
    **dict.fromkeys(["graph", "plan", "realize"], "showing or running what is pending: test_rules.py"),
}  # fmt: skip
