"""Functions in Python that belong to no module, and those of small modules: against NumPy, gradients, on the GPU."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import spirograd as sg

Array = Any
F, L = sg.nn.functional, sg.linalg
DRAW = np.random.default_rng(5)
V, W = DRAW.normal(size=4), DRAW.normal(size=4)
A, B = DRAW.normal(size=(3, 4)), DRAW.normal(size=(3, 4))
S = A[:, :3] + 3 * np.eye(3)
P = S @ S.T
THREE, OTHER = DRAW.normal(size=(2, 3)), DRAW.normal(size=(2, 3))
NANS = np.array([np.nan, 1.0, np.nan, -2.0])
WHOLE, FACTORS = np.array([12, -9, 0, 7]), np.array([8, 6, 5, 0])
MASK = np.array([True, False, True, True])
PLACES = np.array([2, 0])


class Case(NamedTuple):
    """A call, what NumPy says of the same arrays, and whether there is a gradient."""

    name: str
    ours: Callable[..., Any]
    oracle: Callable[..., Any]
    arrays: tuple[Array, ...]
    smooth: bool = True


def written(x: Array, key: Any, y: Array) -> Array:
    x = x.copy()
    x[key] = y
    return x


CASES = [
    # element by element
    Case("copysign", sg.copysign, np.copysign, (V, W)),
    Case("copysign:number", lambda x: sg.copysign(x, -0.0), lambda x: np.copysign(x, -0.0), (V,)),
    Case("float_power", lambda x: sg.float_power(x, 3), lambda x: np.float_power(x, 3), (V,)),
    Case("fmax", sg.fmax, np.fmax, (NANS, W), False),
    Case("fmin", sg.fmin, np.fmin, (NANS, W), False),
    Case("frexp", lambda x: sg.frexp(x).mantissa, lambda x: np.frexp(x)[0], (1e3 * V,), False),
    Case("frexp:exponent", lambda x: sg.frexp(x).exponent, lambda x: np.frexp(x)[1], (1e3 * V,), False),
    Case("gcd", sg.gcd, np.gcd, (WHOLE, FACTORS), False),
    Case("lcm", sg.lcm, np.lcm, (WHOLE, FACTORS), False),
    Case("heaviside", lambda x: sg.heaviside(x, sg.tensor(0.5, dtype=x.dtype, device=x.device)),
         lambda x: np.heaviside(x, 0.5), (np.array([-1.0, 0.0, 2.0]),), False),
    Case("ldexp", lambda x: sg.ldexp(x, sg.tensor([1, -2, 0, 3], device=x.device)),
         lambda x: np.ldexp(x, [1, -2, 0, 3]), (V,)),
    Case("logaddexp2", sg.logaddexp2, np.logaddexp2, (V, W)),
    Case("nextafter", sg.nextafter, np.nextafter, (V, W), False),
    Case("rsub", lambda x, y: sg.rsub(x, y, alpha=2), lambda x, y: y - 2 * x, (V, W)),
    Case("signbit", sg.signbit, np.signbit, (np.array([0.0, -0.0, -3.0, 3.0]),), False),
    Case("isposinf", sg.isposinf, np.isposinf, (np.array([np.inf, -np.inf, 0.0]),), False),
    Case("isneginf", sg.isneginf, np.isneginf, (np.array([np.inf, -np.inf, 0.0]),), False),
    # vectors and matrices
    Case("cross", sg.cross, np.cross, (THREE, OTHER)),
    Case("vecdot", L.vecdot, lambda x, y: (x * y).sum(-1), (A, B)),
    Case("trace", sg.trace, np.trace, (A,)),
    Case("addr", lambda m, x, y: sg.addr(m, x, y, beta=2), lambda m, x, y: 2 * m + np.outer(x, y), (S, V[:3], W[:3])),
    Case("cdist", sg.cdist, lambda x, y: np.linalg.norm(x[:, None] - y[None], axis=-1), (A, B + 3)),
    Case("pdist", F.pdist, lambda x: np.array([np.linalg.norm(a - b) for a, b in itertools.combinations(x, 2)]), (A,)),
    Case("dist", lambda x, y: sg.dist(x, y, 3), lambda x, y: (abs(x - y) ** 3).sum() ** (1 / 3), (A, B)),
    Case("renorm", lambda x: sg.renorm(x, 2, 0, 1.0),
         lambda x: x / np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True) + 1e-7), (A,)),
    Case("vander", sg.vander, np.vander, (V,)),
    Case("cond", L.cond, np.linalg.cond, (S,)),
    Case("cond:1", lambda x: L.cond(x, 1), lambda x: np.linalg.cond(x, 1), (S,)),
    Case("matrix_rank", L.matrix_rank, np.linalg.matrix_rank, (np.outer(V, W),), False),
    Case("lstsq", lambda a, b: L.lstsq(a, b).solution, lambda a, b: np.linalg.lstsq(a, b, None)[0], (A.T, B.T)),
    Case("tensorsolve", lambda a, b: L.tensorsolve(a.reshape(3, 1, 3), b.reshape(3, 1)), np.linalg.solve, (S, V[:3])),
    Case("tensorinv", lambda a: L.tensorinv(a.reshape(3, 1, 3)),
         lambda a: np.linalg.tensorinv(a.reshape(3, 1, 3)), (S,)),
    Case("cholesky_solve", lambda b, p: sg.cholesky_solve(b, L.cholesky(p)), lambda b, p: np.linalg.solve(p, b),
         (A, P), False),
    Case("cholesky_inverse", lambda p: sg.cholesky_inverse(L.cholesky(p)), np.linalg.inv, (P,), False),
    Case("svd_lowrank", lambda x: (lambda u, s, v: u * s @ v.mT)(*sg.svd_lowrank(x, 3)), lambda x: x, (A,)),
    Case("ormqr", lambda x: sg.ormqr(*sg.geqrf(x), sg.geqrf(x).a.triu()), lambda x: x, (A,), False),
    Case("ldl_solve", lambda p, b: L.ldl_solve(*L.ldl_factor(p), b), np.linalg.solve, (P - 9 * np.eye(3), A), False),
    # shapes and places
    Case("diagflat", sg.diagflat, np.diagflat, (THREE,)),
    Case("column_stack", lambda x, y: sg.column_stack([x, y]), lambda x, y: np.column_stack([x, y]), (V[:3], A)),
    Case("combinations", lambda x: sg.combinations(x, 3), lambda x: np.array(list(itertools.combinations(x, 3))), (V,)),
    Case("dsplit", lambda x: sg.dsplit(x.unsqueeze(0), [1])[1], lambda x: np.dsplit(x[None], [1])[1],
         (A.reshape(2, 2, 3)[0][None],)),
    Case("unravel_index", lambda i: sg.unravel_index(i, (3, 4))[1], lambda i: np.unravel_index(i, (3, 4))[1],
         (np.array([0, 5, 11]),), False),
    Case("put", lambda x, y: sg.put(x, sg.tensor([1, -1], device=x.device), y),
         lambda x, y: written(x.ravel(), [1, -1], y).reshape(x.shape), (A, V[:2])),
    Case("index_reduce", lambda x, y: sg.index_reduce(x, 0, sg.tensor(PLACES, device=x.device), y, "prod"),
         lambda x, y: written(x, PLACES, x[PLACES] * y), (A, B[:2])),
    Case("select_scatter", lambda x, y: sg.select_scatter(x, y, 1, 2), lambda x, y: written(x, np.s_[:, 2], y),
         (A, V[:3])),
    Case("slice_scatter", lambda x, y: sg.slice_scatter(x, y, 1, 0, None, 2),
         lambda x, y: written(x, np.s_[:, ::2], y), (A, B[:, :2])),
    Case("diagonal_scatter", sg.diagonal_scatter, lambda x, y: written(x, (range(3), range(3)), y), (A, V[:3])),
    Case("as_strided_scatter", lambda x, y: sg.as_strided_scatter(x, y, (2,), (2,)),
         lambda x, y: written(x, np.s_[::2], y), (V, W[:2])),
    Case("segment_reduce", lambda x: sg.segment_reduce(x, "max", lengths=sg.tensor([1, 3], device=x.device)),
         lambda x: np.array([x[0], x[1:].max()]), (V,)),
    Case("nonzero_static", lambda x: sg.nonzero_static(x, size=3), lambda x: np.array([[1], [3], [-1]]),
         (np.array([0.0, 2.0, 0.0, 1.0]),), False),
    # counts, integrals, slopes
    Case("histc", lambda x: sg.histc(x, 5, -2, 2), lambda x: np.histogram(x, 5, (-2, 2))[0].astype(x.dtype), (A,),
         False),
    Case("histogram", lambda x, w: sg.histogram(x, 4, weight=w, density=True).hist,
         lambda x, w: np.histogram(x, 4, weights=w, density=True)[0], (A, abs(B)), False),
    Case("histogramdd", lambda x: sg.histogramdd(x, [2, 3]).hist,
         lambda x: np.histogramdd(x, [2, 3])[0].astype(x.dtype), (A.reshape(6, 2),), False),
    Case("mode", lambda x: sg.mode(x).values, lambda x: np.array([1, 5]),
         (np.array([[3, 1, 1, 3], [5, 5, 5, 2]]),), False),
    Case("trapezoid", sg.trapezoid, lambda y, x: ((y[:, 1:] + y[:, :-1]) * np.diff(x) / 2).sum(-1), (A, np.sort(V))),
    Case("cumulative_trapezoid", lambda y: sg.cumulative_trapezoid(y, dx=2.0),
         lambda y: np.cumsum(y[:, 1:] + y[:, :-1], -1), (A,)),
    Case("gradient", lambda y: sg.gradient(y, dim=1, edge_order=2)[0],
         lambda y: np.gradient(y, axis=1, edge_order=2), (A,)),
    Case("fake_quantize", lambda x: sg.fake_quantize_per_tensor_affine(x, 0.25, 1, -3, 3),
         lambda x: (np.clip(np.round(x / 0.25) + 1, -3, 3) - 1) * 0.25, (A,), False),
    # other modules
    Case("masked.mean", lambda x: sg.masked.mean(x, mask=sg.tensor(MASK, device=x.device)), lambda x: x[MASK].mean(),
         (V,)),
    Case("masked.var", lambda x: sg.masked.var(x, mask=sg.tensor(MASK, device=x.device)),
         lambda x: x[MASK].var(ddof=1), (V,)),
    Case("nested", lambda x: sg.nested.to_padded_tensor(sg.nested.as_nested_tensor([x[:1], x[1:]]) * 2, 0.0),
         lambda x: np.array([[2 * x[0], 0 * x[0]], [2 * x[1], 2 * x[2]]]), (A,)),
    Case("affine_grid", lambda t: F.affine_grid(t, (1, 1, 1, 2)),
         lambda t: np.array([[[t[0] @ [-0.5, 0, 1], t[0] @ [0.5, 0, 1]]]]), (A[None, :2, :3],)),
    Case("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=True),
         lambda x, g: x[..., :1, :1] * 0.5 + x[..., :1, 1:2] * 0.5,
         (A.reshape(1, 2, 2, 3), np.array([-0.5, -1.0]).reshape(1, 1, 1, 2)), False),
    Case("associative_scan", lambda x: sg.func.associative_scan(lambda a, b: a * b, x, 1),
         lambda x: np.cumprod(x, 1), (A,)),
    Case("special.legendre", lambda x: sg.special.legendre_polynomial_p(x, 2), lambda x: 1.5 * x * x - 0.5, (V,),
         False),
]  # fmt: skip
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.mark.parametrize("file", [place for place in sg._PLACES if "_functions" in place])
def test_spirograd_shows_what_a_file_lists(file: str) -> None:
    listed = importlib.import_module(f"spirograd.{file}").__all__
    assert sorted(listed) == sorted(sg._PLACES[file].split())
    assert all(getattr(sg, name).__module__ == f"spirograd.{file}" for name in listed)


def arrays(case: Case, dtype: str) -> list[Array]:
    return [a.astype(dtype) if a.dtype.kind == "f" else a for a in case.arrays]


@EACH
def test_values_are_numpys(case: Case) -> None:
    given = arrays(case, "float64")
    got, want = case.ours(*map(sg.tensor, given)).numpy(), np.asarray(case.oracle(*given))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case.smooth], ids=lambda case: case.name)
def test_gradients(case: Case) -> None:
    leaves = [sg.tensor(a, requires_grad=True) for a in arrays(case, "float64")]
    assert sg.autograd.gradcheck(case.ours, leaves, atol=1e-5, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::spirograd.FallbackWarning")
@EACH
def test_on_the_gpu_as_on_the_cpu(case: Case, gpu: sg.Device) -> None:
    if case.name == "float_power" and dict(gpu.features).get("shaderFloat64") == "no":
        pytest.skip(f"{gpu.name} has no float64")
    given = arrays(case, "float32")
    found = [case.ours(*(sg.tensor(a, device=place) for a in given)) for place in ("cpu", gpu)]
    assert str(found[1].device).startswith("gpu")
    np.testing.assert_allclose(found[1].numpy(), found[0].numpy(), rtol=1e-5, atol=1e-5)
