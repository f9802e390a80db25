"""One row for each op: what NumPy says, on which inputs, and how far off a result may be.

All tests of ops loop over ROWS; an op without a row (or a reason in NOT_OPS) fails test_ops.py. To add an op, add its
row. Bounds: `ulp` counts units in the last place of the exact result; reductions are off by at most 2 sqrt(n) eps
times the sum of absolute values; products by 4 times the error of NumPy's float32 product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import spirograd as sg

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64")
NUMBERS = FLOATS + INTEGERS
EVERY = (*NUMBERS, "bool")


@dataclass(frozen=True)
class Row:
    """An op as tests see it.

    Attributes:
        name: the op, with what distinguishes this row behind a colon.
        op: on tensors.
        oracle: on NumPy arrays: float64 for floating inputs, their own type for others.
        shapes: samples; each is the shapes of the inputs.
        dtypes: types of the inputs that the op takes.
        domains: the range of each input's values; the last one repeats.
        ulp: bound of a pointwise result; 0: exact.
        bound: absolute bound from (inputs as float64, result as float64), instead of ulp.
        reason: why a bound is looser than the common ones.
        differentiable: has a gradient for floating inputs.
        kinks: input values around which gradients jump.
        pointwise: element by element, so fusion must not change a bit.
    """

    name: str
    op: Callable[..., sg.Tensor]
    oracle: Callable[..., Array]
    shapes: Sequence[Sequence[Shape]]
    dtypes: Sequence[str] = FLOATS
    domains: Sequence[tuple[float, float]] = ((-3.0, 3.0),)
    ulp: float = 0.0
    bound: Callable[..., Array] | None = None
    reason: str = ""
    differentiable: bool = True
    kinks: Sequence[float] = ()
    pointwise: bool = False
    arity: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arity", len(self.shapes[0]))

    def inputs(self, shapes: Sequence[Shape], dtype: str, seed: int = 0) -> list[Array]:
        """Values of the row's domain, away from its kinks."""
        random = np.random.default_rng([seed, len(self.name), *(s for shape in shapes for s in shape)])
        out = []
        for i, shape in enumerate(shapes):
            low, high = self.domains[min(i, len(self.domains) - 1)]
            if dtype == "bool":
                values = random.integers(0, 2, shape).astype(bool)
            elif dtype in INTEGERS:
                values = random.integers(int(np.ceil(low)), int(high) + 1, shape)
            else:
                values = random.uniform(low, high, shape)
                for kink in self.kinks:
                    near = np.abs(values - kink) < 0.05
                    values = np.where(near, kink + 0.1, values)
            out.append(values.astype(dtype))
        return out


EACH: Sequence[Sequence[Shape]] = [[(2, 3)], [()], [(1,)], [(0, 3)], [(7, 127)], [(1009,)], [(2, 3, 5, 7)]]
PAIRS: Sequence[Sequence[Shape]] = [
    [(2, 3), (2, 3)],
    [(2, 3), (3,)],
    [(4, 1), (1, 5)],
    [(), (3,)],
    [(0, 3), (3,)],
    [(1,), (1,)],
    [(7, 127), (7, 1)],
    [(1009,), (1009,)],
    [(3, 1, 5), (4, 1)],
]


def unary(
    name: str,
    oracle: Callable[..., Array],
    low: float = -3.0,
    high: float = 3.0,
    ulp: float = 0.0,
    dtypes: Sequence[str] = NUMBERS,
    kinks: Sequence[float] = (),
) -> Row:
    op = getattr(sg, name)
    return Row(name, op, oracle, EACH, dtypes, ((low, high),), ulp, kinks=kinks, pointwise=True)


def binary(
    name: str,
    op: Callable[..., sg.Tensor],
    oracle: Callable[..., Array],
    dtypes: Sequence[str] = NUMBERS,
    domains: Sequence[tuple[float, float]] = ((-3.0, 3.0),),
    ulp: float = 0.5,
    differentiable: bool = True,
) -> Row:
    return Row(name, op, oracle, PAIRS, dtypes, domains, ulp, differentiable=differentiable, pointwise=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


# ---- reductions ------------------------------------------------------------------------------------------------------
FOLDS: list[tuple[str, dict[str, Any]]] = [
    ("all", {}),
    ("last", {"dim": -1}),
    ("first", {"dim": 0}),
    ("first_kept", {"dim": 0, "keepdim": True}),
    ("several", {"dim": (0, -1)}),
    ("several_kept", {"dim": (0, -1), "keepdim": True}),
]
FOLDED: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(127, 7)], [(3, 4, 5)], [(1009, 3)]]


def eps(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


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


def product_bound(a: Array, b: Array, want: Array, got: Array) -> Array:
    """4 times NumPy's own error in the type; where that happens to be nil, the rounding of k additions."""
    own = np.abs(a.astype(got.dtype) @ b.astype(got.dtype) - want)
    k = a.shape[-1]
    floor = np.sqrt(k + 1) * eps(got.dtype) * (np.abs(a) @ np.abs(b))
    return np.asarray(np.maximum(4 * own.max(initial=0), floor))


def relative(factor: float) -> Callable[..., Array]:
    def bound(*values: Array) -> Array:
        want, got = values[-2:]
        return np.asarray(factor * eps(got.dtype) * (1 + np.abs(want)))

    return bound


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


ROWS_OF_SOFTMAX: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(1009, 2)], [(3, 4, 5)], [(0, 3)]]
LOGITS: Sequence[Sequence[Shape]] = [[(2, 3)], [(1, 1)], [(7, 127)], [(64, 10)]]
SOFT = "a row's exponentials are summed in float32: the error grows with the size of the logits, not of the result"


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
WHERE: Sequence[Sequence[Shape]] = [[(2, 3), (2, 3), (2, 3)], [(3,), (2, 1), (2, 3)], [(0,), (1,), ()], [(7, 127)] * 3]

ROWS: list[Row] = [
    binary("add", lambda a, b: a + b, np.add),
    binary("sub", lambda a, b: a - b, np.subtract),
    binary("mul", lambda a, b: a * b, np.multiply),
    binary("div", lambda a, b: a / b, np.divide, domains=((-3, 3), (1, 4))),
    binary("pow", lambda a, b: a**b, np.power, domains=((0.2, 4), (0, 3)), ulp=4),
    binary("maximum", sg.maximum, np.maximum, ulp=0),
    binary("minimum", sg.minimum, np.minimum, ulp=0),
    *(
        binary(name, op, oracle, EVERY, ((-2, 2),), 0, False)
        for name, op, oracle in (
            ("lt", lambda a, b: a < b, np.less),
            ("le", lambda a, b: a <= b, np.less_equal),
            ("gt", lambda a, b: a > b, np.greater),
            ("ge", lambda a, b: a >= b, np.greater_equal),
            ("eq", lambda a, b: a == b, np.equal),
            ("ne", lambda a, b: a != b, np.not_equal),
        )
    ),
    Row(
        "where",
        lambda c, a, b: sg.where(c > 0, a, b),
        lambda c, a, b: np.where(c > 0, a, b),
        WHERE,
        NUMBERS,
        kinks=(0.0,),
        pointwise=True,
    ),
    unary("neg", np.negative),
    unary("abs", np.abs, kinks=(0.0,)),
    unary("square", np.square, ulp=0.5),
    unary("sqrt", np.sqrt, 0.1, 9, ulp=0.5),
    unary("exp", np.exp, ulp=4),
    unary("log", np.log, 0.1, 9, ulp=4),
    unary("tanh", np.tanh, ulp=4),
    unary("sigmoid", sigmoid, ulp=4),
    unary("relu", lambda x: np.maximum(x, 0), kinks=(0.0,)),
    unary("sin", np.sin, -50, 50, ulp=4),
    unary("cos", np.cos, -50, 50, ulp=4),
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
        Row(
            f"softmax:{dim}",
            lambda x, d=dim: x.softmax(d),
            lambda x, d=dim: softmax(x, d),
            ROWS_OF_SOFTMAX,
            FLOATS,
            ((-8, 8),),
            bound=relative(8),
            reason=SOFT,
        )
        for dim in (0, 1)
    ),
    *(
        Row(
            f"log_softmax:{dim}",
            lambda x, d=dim: x.log_softmax(d),
            lambda x, d=dim: log_softmax(x, d),
            ROWS_OF_SOFTMAX,
            FLOATS,
            ((-8, 8),),
            bound=relative(8),
            reason=SOFT,
        )
        for dim in (0, 1)
    ),
    *(
        Row(
            f"cross_entropy:{r}",
            lambda x, r=r: sg.cross_entropy(x, classes(x), reduction=r),
            lambda x, r=r: cross_entropy(x, r),
            LOGITS,
            FLOATS,
            ((-8, 8),),
            bound=relative(8),
            reason=SOFT,
        )
        for r in ("mean", "sum", "none")
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
    *(to(dtype, dtype == "float64") for dtype in EVERY),
]

# Names of the module and of Tensor that are no ops, or are ops under another name, by what stands for them.
NOT_OPS: dict[str, str] = {
    **dict.fromkeys(["rand", "randn", "manual_seed"], "test_random.py"),
    **dict.fromkeys(["tensor", "from_numpy", "numpy", "__array__", "item", "tolist", "cpu", "_repr_html_",
                     "__reduce_ex__", "__deepcopy__"], "moves values, computes none: test_python_api.py"),
    **dict.fromkeys(["to", "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"], "cast"),
    **dict.fromkeys(["max", "min"], "amax, amin"),
    "view": "reshape",
    **dict.fromkeys(["size", "numel", "dim", "stride", "is_contiguous", "is_floating_point", "element_size"], "facts"),
    **dict.fromkeys(["detach", "requires_grad_", "backward"], "test_grad.py"),
    **dict.fromkeys(["copy_", "fill_", "zero_", "add_", "sub_", "mul_", "div_"], "assign: test_grad.py, test_rules.py"),
    **dict.fromkeys(["graph", "plan", "realize"], "looking: test_rules.py"),
}  # fmt: skip


def arrays_for(row: Row, arrays: Sequence[Array]) -> list[Array]:
    """What the oracle is given: float32 as float64, float64 as long double, others as they are."""
    wider = {"float32": np.float64, "float64": np.longdouble}
    return [a.astype(wider.get(a.dtype.name, a.dtype)) for a in arrays]


def check(row: Row, arrays: Sequence[Array], got: Array, note: str = "") -> None:
    """Fails when `got` is further from the oracle than the row allows."""
    exact = arrays_for(row, arrays)
    with np.errstate(all="ignore"):
        want = np.asarray(row.oracle(*exact))
    assert got.shape == want.shape, f"{row.name}{note}: shape {got.shape}, NumPy {want.shape}"
    if got.size == 0:
        return
    if got.dtype.kind != "f":
        assert want.dtype.kind != "f" or np.all(want == np.trunc(want)), (
            f"{row.name}{note}: {got.dtype} from {want.dtype}"
        )
        np.testing.assert_array_equal(got, want, err_msg=f"{row.name}{note}")
        return
    if row.bound is not None and any(a.dtype.kind == "f" for a in arrays):
        error, limit = np.abs(got - want), np.broadcast_to(row.bound(*exact, want, got), want.shape)
    elif row.bound is not None:  # of integers: one rounding
        error, limit = ulps(got, want), np.float64(4)
    else:
        error, limit = ulps(got, want), np.float64(row.ulp if arrays[0].dtype.kind == "f" else max(row.ulp, 0.5))
    bad = ~((error <= limit) | (np.isnan(want) & np.isnan(got)))
    if bad.any():
        at = np.unravel_index(np.argmax(np.where(bad, error, -1)), want.shape)
        raise AssertionError(
            f"{row.name}{note}: {int(bad.sum())} of {want.size} differ; at {[int(i) for i in at]}: {got[at]!r}, "
            f"NumPy {want[at]!r}, error {np.broadcast_to(error, want.shape)[at]:.4g}, "
            f"bound {np.broadcast_to(limit, want.shape)[at]:.4g}"
        )


def ulps(got: Array, want: Array) -> Array:
    """Distance in units in the last place of `want` in got's type; denormals may count as zero."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), info.tiny)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - want) / unit
        distance = np.where((np.abs(want) < info.tiny) & (np.abs(got) <= info.tiny), 0, distance)
        same = (got == rounded) | (np.isnan(got) & np.isnan(want))
        return np.asarray(np.where(same, np.minimum(distance, 0.5), np.where(np.isnan(distance), np.inf, distance)))
