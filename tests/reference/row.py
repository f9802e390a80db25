"""What a row of the table of reference results is, and how far off a result may be."""

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


# ---- what reductions are tried with ----------------------------------------------------------------------------------
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


# ---- bounds ----------------------------------------------------------------------------------------------------------
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


SOFT = "a row's exponentials are summed in float32: the error grows with the size of the logits, not of the result"


def soft(name: str, op: Callable[..., Any], oracle: Callable[..., Array], shapes: Sequence[Sequence[Shape]]) -> Row:
    """Of logits, by sums of exponentials."""
    return Row(name, op, oracle, shapes, FLOATS, ((-8, 8),), bound=relative(8), reason=SOFT)


def arrays_for(row: Row, arrays: Sequence[Array]) -> list[Array]:
    """What the oracle is given: float32 as float64, float64 as long double, others as they are."""
    wider = {"float32": np.float64, "float64": np.longdouble}
    return [a.astype(wider.get(a.dtype.name, a.dtype)) for a in arrays]


# On Windows a long double is a double: NumPy rounds as often as what it is compared with.
EXACT = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


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
    if got.dtype == np.float64 and not EXACT:
        limit = 4 * limit
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
