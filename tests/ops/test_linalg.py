"""sg.linalg: against NumPy and PyTorch, gradients of both orders, errors, and what a GPU tensor pays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
Run = Callable[..., str]
ORDERS: list[Any] = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


def matrices(*shape: int, seed: int = 0) -> Array:
    """Well conditioned, with singular values that differ."""
    a = np.random.default_rng(seed).normal(size=shape)
    return np.asarray(a + 2 * np.eye(shape[-2], shape[-1]))


def symmetric(x: Any) -> Any:
    return x + x.mT


def positive(x: Any) -> Any:
    return x @ x.mT + 1.0 * sg.eye(x.shape[-2], dtype=x.dtype, device=x.device)


def values(f: Callable[..., Any], *arrays: Array, device: Any = "cpu", dtype: str = "float64") -> list[Array]:
    made = f(*(sg.tensor(a.astype(dtype), device=device) for a in arrays))
    return [t.numpy() for t in (made if isinstance(made, tuple) else (made,))]


# Each function made of what is unique: no signs of vectors.
def svd_parts(x: Any, full: bool) -> Any:
    u, s, vh = sg.linalg.svd(x, full)
    k = s.shape[-1]
    return u[..., :k] ** 2, s, vh[..., :k, :] ** 2, (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]


def eigh_parts(x: Any) -> Any:
    w, v = sg.linalg.eigh(symmetric(x))
    return w, v**2


def eig_parts(x: Any) -> Any:
    w, v = sg.linalg.eig(x)
    return (w * w).real, w.imag.abs(), v.abs() ** 2


CASES: dict[str, tuple[Callable[..., Any], list[Array]]] = {
    "inv": (sg.linalg.inv, [matrices(3, 3)]),
    "inv:batch": (sg.linalg.inv, [matrices(2, 2, 2)]),
    "solve": (sg.linalg.solve, [matrices(3, 3), matrices(3, 2, seed=1)]),
    "solve:vectors": (sg.linalg.solve, [matrices(2, 2, 2), np.ones((2, 2))]),
    "solve:broadcast": (sg.linalg.solve, [matrices(2, 2), matrices(3, 2, 1, seed=1)]),
    "solve_triangular": (
        lambda a, b: sg.linalg.solve_triangular(a, b, upper=False),
        [matrices(3, 3), matrices(3, 2, seed=1)],
    ),
    "solve_triangular:unit": (
        lambda a, b: sg.linalg.solve_triangular(a, b, upper=True, left=False, unitriangular=True),
        [matrices(2, 3, 3), matrices(2, 2, 3, seed=1)],
    ),
    "solve:right": (lambda a, b: sg.linalg.solve(a, b, left=False), [matrices(2, 2), matrices(3, 2, seed=1)]),
    "cholesky": (lambda x: sg.linalg.cholesky(positive(x)), [matrices(3, 3)]),
    "cholesky:upper": (lambda x: sg.linalg.cholesky(positive(x), upper=True), [matrices(2, 2, 2)]),
    "lu_factor": (lambda x: sg.linalg.lu_factor(x).LU, [matrices(3, 3)]),
    "lu:wide": (lambda x: sg.linalg.lu(x)[1:], [matrices(3, 5)]),
    "lu:tall": (lambda x: sg.linalg.lu(x)[1:], [matrices(2, 5, 3)]),
    "lu:batch": (lambda x: sg.linalg.lu(x)[1:], [matrices(2, 3, 3)]),
    "lu_solve": (lambda a, b: sg.linalg.lu_solve(*sg.linalg.lu_factor(a), b), [matrices(3, 3), matrices(3, 2, seed=1)]),
    "matrix_exp": (sg.linalg.matrix_exp, [matrices(3, 3)]),
    "qr:square": (sg.linalg.qr, [matrices(3, 3)]),
    "qr:tall": (sg.linalg.qr, [matrices(4, 2)]),
    "qr:wide": (sg.linalg.qr, [matrices(2, 4)]),
    "qr:complete": (lambda x: sg.linalg.qr(x, "complete"), [matrices(2, 2, 3)]),
    "svd:tall": (lambda x: svd_parts(x, False), [matrices(4, 2)]),
    "svd:wide": (lambda x: svd_parts(x, False), [matrices(2, 3)]),
    "svd:full": (lambda x: svd_parts(x, True), [matrices(2, 3)]),
    "svdvals": (sg.linalg.svdvals, [matrices(2, 2, 3)]),
    "eig": (eig_parts, [matrices(3, 3)]),
    "eig:batch": (eig_parts, [matrices(2, 3, 3, seed=5)]),
    "eigh": (eigh_parts, [matrices(3, 3)]),
    "eigvalsh": (lambda x: sg.linalg.eigvalsh(symmetric(x)), [matrices(2, 2, 2)]),
    "det": (sg.linalg.det, [matrices(3, 3)]),
    "det:batch": (sg.linalg.det, [matrices(2, 2, 2)]),
    "det:singular": (sg.linalg.det, [np.array([[1.0, 0, 2], [3, 1, 5], [3, 0, 6]])]),
    "det:zero": (sg.linalg.det, [np.zeros((2, 2))]),
    "slogdet": (lambda x: sg.linalg.slogdet(x).logabsdet, [matrices(2, 2, 2)]),
    "logdet": (lambda x: sg.logdet(positive(x)), [matrices(2, 2)]),
    "pinv": (sg.linalg.pinv, [matrices(3, 2)]),
    "matrix_power": (lambda x: sg.linalg.matrix_power(x, 3), [matrices(2, 2)]),
    "matrix_power:inverse": (lambda x: sg.linalg.matrix_power(x, -2), [matrices(2, 2)]),
    "multi_dot": (lambda *x: sg.linalg.multi_dot(x), [matrices(2, 3), matrices(3, 1), matrices(1, 2)]),
    "vector_norm": (lambda x: sg.linalg.vector_norm(x, 3, -1), [matrices(2, 3)]),
    **{f"matrix_norm:{o}": (lambda x, o=o: sg.linalg.matrix_norm(x, o), [matrices(3, 2)]) for o in ORDERS},
}
EACH = pytest.mark.parametrize("case", CASES)


@EACH
def test_gradients_of_both_orders(case: str) -> None:
    f, arrays = CASES[case]
    xs = [sg.tensor(a, requires_grad=True) for a in arrays]
    assert sg.autograd.gradcheck(f, xs, atol=1e-5, rtol=1e-5)
    assert sg.autograd.gradgradcheck(f, xs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (0, 2, 2)], ids=str)
def test_square_matrices_against_numpy(shape: tuple[int, ...], dtype: str) -> None:
    """LAPACK's own results, through NumPy, in the same type."""
    a = matrices(*shape).astype(dtype)
    whole = a @ a.swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)
    for name in ("inv", "det", "slogdet", "eigh"):
        want = getattr(np.linalg, name)(whole)
        got = values(getattr(sg.linalg, name), whole, dtype=dtype)
        for w, g in zip(want if isinstance(want, tuple) else (want,), got, strict=True):
            assert g.dtype == dtype and g.shape == np.shape(w)
            np.testing.assert_array_equal(g, w, err_msg=name)
    np.testing.assert_array_equal(values(sg.linalg.cholesky, whole, dtype=dtype)[0], np.linalg.cholesky(whole))
    np.testing.assert_array_equal(values(sg.linalg.solve, whole, a, dtype=dtype)[0], np.linalg.solve(whole, a))


@pytest.mark.parametrize("upper", [True, False])
def test_solve_triangular_reads_one_triangle(device: sg.Device, upper: bool) -> None:
    a, b = matrices(2, 3, 3), matrices(3, 2, seed=1)
    triangle = (np.triu if upper else np.tril)(a)
    (got,) = values(lambda x, y: sg.linalg.solve_triangular(x, y, upper=upper).cpu(), a, b, device=device)
    np.testing.assert_allclose(got, np.linalg.solve(triangle, np.broadcast_to(b, (2, 3, 2))), rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 4, 3), (2, 3, 4), (0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("whole", [True, False], ids=["full", "reduced"])
def test_decompositions_multiply_back(shape: tuple[int, ...], whole: bool) -> None:
    a = matrices(*shape)
    m, n, k = *shape[-2:], min(shape[-2:])
    q, r = values(lambda x: sg.linalg.qr(x, "complete" if whole else "reduced"), a)
    u, s, vh = values(lambda x: sg.linalg.svd(x, whole), a)
    rows, columns = (m, n) if whole else (k, k)
    assert q.shape[-2:] == (m, rows) and r.shape[-2:] == (rows, n)
    assert u.shape[-2:] == (m, rows) and s.shape[-1:] == (k,) and vh.shape[-2:] == (columns, n)
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_allclose(r, np.triu(r), atol=0)
    np.testing.assert_allclose(
        q.swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(rows), (*shape[:-2], rows, rows)), atol=1e-12
    )
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=1e-12)
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    np.testing.assert_allclose(values(sg.linalg.pinv, a)[0], np.linalg.pinv(a), atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 6), (6, 3), (2, 4, 4), (3, 0, 0)])
def test_lu_factors_multiply_back(shape: tuple[int, ...]) -> None:
    a = matrices(*shape) if min(shape) else np.zeros(shape)
    P, L, U = sg.linalg.lu(sg.tensor(a))
    np.testing.assert_allclose((P @ L @ U).numpy(), a, atol=1e-13)
    assert (L.abs() <= 1).all() and sg.equal(L, L.tril()) and sg.equal(U, U.triu())


def test_lu_of_a_singular_matrix_and_without_pivots() -> None:
    P, L, U = sg.linalg.lu(sg.tensor([[0.0, 1.0], [0.0, 2.0]]))
    assert (P @ L @ U).tolist() == [[0.0, 1.0], [0.0, 2.0]]
    with pytest.raises(ValueError, match="pivot is False"):
        sg.linalg.lu(sg.eye(2), pivot=False)


def test_no_reflections_leave_the_first_columns_of_the_identity() -> None:
    assert sg.linalg.householder_product(sg.ones(3, 2), sg.empty(0)).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert sg.linalg.householder_product(sg.empty(2, 0, 0), sg.empty(2, 0)).shape == (2, 0, 0)


@pytest.mark.parametrize("dtype", [sg.float16, sg.bfloat16])
def test_matrix_exp_of_half_types(dtype: sg.dtype) -> None:
    found = sg.linalg.matrix_exp(sg.tensor([[0.0, 3.0], [0.0, 0.0]], dtype=dtype))
    assert found.dtype == dtype and found.tolist() == [[1, 3], [0, 1]]


def test_matrix_exp_on_the_device(device: sg.Device) -> None:
    a = matrices(2, 4, 4) * np.array([0.1, 9.0]).reshape(2, 1, 1)
    a = a - a.swapaxes(-1, -2)  # then the exponential is a rotation
    w, v = np.linalg.eig(a)
    want = ((v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)).real
    before = sg.stats()["fallbacks"]
    found = sg.linalg.matrix_exp(sg.tensor(a.astype(np.float32), device=device))
    np.testing.assert_allclose(found.numpy(), want, atol=2e-5)
    assert sg.stats()["fallbacks"] == before
    assert sg.linalg.matrix_exp(sg.zeros(2, 2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert sg.linalg.matrix_exp(sg.full((2, 2), float("inf"))).isnan().all()


def test_pinv_takes_small_singular_values_for_zero() -> None:
    a = sg.tensor([[4.0, 0.0], [0.0, 0.25]], dtype=sg.float64)
    exact, cut = [[0.25, 0.0], [0.0, 4.0]], [[0.25, 0.0], [0.0, 0.0]]
    assert sg.linalg.pinv(a).tolist() == sg.linalg.pinv(a, atol=0.2).tolist() == exact
    assert sg.linalg.pinv(a, 0.1).tolist() == sg.linalg.pinv(a, atol=0.3, hermitian=True).tolist() == cut
    assert sg.linalg.pinv(a, 0.01, atol=0.3).tolist() == cut


def test_qr_gives_r_alone() -> None:
    x = sg.tensor(matrices(4, 2))
    q, r = sg.linalg.qr(x, "r")
    assert q.shape == (0,) and sg.equal(r, sg.linalg.qr(x).R)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("ord", [None, *ORDERS], ids=str)
def test_norms_of_matrices(ord: Any, keepdim: bool, device: sg.Device) -> None:
    a = matrices(2, 4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.FallbackWarning)
        for axes in ((1, 2), (-1, 0), (2, 1)):
            want = np.linalg.norm(a, ord, axes, keepdim)
            got = sg.linalg.norm(sg.tensor(a, device=device), ord, axes, keepdim)
            assert got.device == device
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
        if ord is not None:
            got = sg.linalg.matrix_norm(sg.tensor(a, device=device), ord, keepdim=keepdim)
            np.testing.assert_allclose(got.numpy(), np.linalg.norm(a, ord, (-2, -1), keepdim), rtol=1e-12)


@pytest.mark.parametrize("ord", [None, 0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf], ids=str)
def test_norms_of_vectors(ord: Any, device: sg.Device) -> None:
    a = matrices(2, 4, 3)
    x = sg.tensor(a, device=device)
    np.testing.assert_allclose(sg.linalg.norm(x, ord, 1).numpy(), np.linalg.norm(a, ord, 1), rtol=1e-12)
    got = sg.linalg.vector_norm(x, 2 if ord is None else ord)
    np.testing.assert_allclose(got.item(), np.linalg.norm(a.ravel(), ord), rtol=1e-12)
    got = sg.linalg.vector_norm(x.float(), 2 if ord is None else ord, (0, 2), keepdim=True, dtype=sg.float64)
    assert got.shape == (1, 4, 1) and got.dtype == sg.float64


def test_multi_dot_takes_the_cheapest_order() -> None:
    a, b, c = (sg.tensor(matrices(*s)) for s in ((2, 40), (40, 2), (2, 40)))
    np.testing.assert_allclose(sg.linalg.multi_dot([a, b, c]).numpy(), (a @ b @ c).numpy(), rtol=1e-12)
    assert sg.linalg.multi_dot([a[0], b, c]).shape == (40,)
    assert sg.linalg.multi_dot([a[0], b, c[:, 0]]).shape == ()
    assert "[40, 40]" not in sg.linalg.multi_dot([a, b, c]).graph()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sg.linalg.inv(sg.zeros(2, 2)), sg.linalg.LinAlgError, "linalg.inv: the matrix is singular"),
        (
            lambda: sg.linalg.inv(sg.stack([sg.eye(2), sg.ones(2, 2)])),
            sg.linalg.LinAlgError,
            r"matrix \[1\] of the batch is singular",
        ),
        (lambda: sg.linalg.solve(sg.ones(2, 2), sg.ones(2)), sg.linalg.LinAlgError, "linalg.solve: the matrix is sing"),
        (lambda: sg.linalg.cholesky(-sg.eye(2)), sg.linalg.LinAlgError, "linalg.cholesky: .* not positive definite"),
        (lambda: sg.linalg.svd(sg.full((2, 2), float("nan"))), sg.linalg.LinAlgError, "linalg.svd: .*NaN"),
        (lambda: sg.linalg.inv(sg.ones(2, 3)), ValueError, "linalg.inv: A has matrices of 2 x 3"),
        (lambda: sg.linalg.det(sg.ones(2)), ValueError, r"linalg.det: A of shape \[2\] is not a matrix"),
        (lambda: sg.linalg.inv(sg.eye(2, dtype=sg.int64)), TypeError, "linalg.inv: A is int64"),
        (lambda: sg.linalg.eigh(sg.eye(2).half()), TypeError, "linalg.eigh: A is float16"),
        (lambda: sg.linalg.svd(np.eye(2)), TypeError, "linalg.svd: A is a ndarray"),
        (lambda: sg.linalg.solve(sg.eye(2), sg.ones(3, 1)), ValueError, "do not fit"),
        (lambda: sg.linalg.solve(sg.eye(2), sg.ones(2, 1).double()), TypeError, "A is float32.*B is float64"),
        (lambda: sg.linalg.qr(sg.eye(2), "economic"), ValueError, "mode 'economic' is unknown"),
        (lambda: sg.linalg.eigh(sg.eye(2), "X"), ValueError, "UPLO 'X'"),
        (lambda: sg.linalg.norm(sg.ones(2, 2), "max"), ValueError, "ord 'max' is unknown"),
        (lambda: sg.linalg.norm(sg.ones(2), "fro"), ValueError, "ord 'fro' is for matrices"),
        (lambda: sg.linalg.norm(sg.ones(2, 2, 2), 1), ValueError, "over 3 dimensions"),
        (lambda: sg.linalg.vector_norm(sg.ones(2, dtype=sg.int64)), TypeError, "the tensor is int64"),
        (lambda: sg.linalg.matrix_norm(sg.ones(2, 2), dim=(0, -2)), ValueError, "are not two dimensions"),
        (lambda: sg.linalg.matrix_norm(sg.ones(2, 2), dim=(0, 2)), IndexError, "out of range"),
        (lambda: sg.linalg.multi_dot([sg.eye(2)]), ValueError, "1 tensors"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_complete_tall_qr_has_no_gradient() -> None:
    x = sg.tensor(matrices(3, 2), requires_grad=True)
    with pytest.raises(sg.Error, match="mode='complete' has no gradient"):
        sg.linalg.qr(x, "complete").Q.sum().backward()


def test_eigenvalues_of_rotations_and_of_what_is_symmetric() -> None:
    turned = sg.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=sg.float64)
    w, v = sg.linalg.eig(turned)
    np.testing.assert_allclose(w.numpy(), [1j, -1j], atol=1e-15)
    np.testing.assert_allclose((sg.complex(turned, turned * 0) @ v - v * w).numpy(), 0, atol=1e-15)
    assert sg.linalg.eigvals(sg.eye(3)).numpy().tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"linalg.eig: A has matrices of 2 x 3; they must be square"):
        sg.linalg.eig(sg.ones(2, 3))
    with pytest.raises(sg.linalg.LinAlgError, match="has no decomposition"):
        sg.linalg.eig(sg.tensor([[np.nan, 1.0], [1.0, 1.0]]))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["inv", "solve", "cholesky", "lu_factor", "qr", "svd", "eigh", "det", "slogdet"])
def test_a_gpu_tensor_says_once_that_it_is_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirograd.linalg._lapack.warned", set())
    a = matrices(3, 3)
    arrays = [a @ a.T + np.eye(3), *([a] if name == "solve" else [])]
    f = getattr(sg.linalg, name)
    xs = [sg.tensor(x, device="gpu", requires_grad=True) for x in arrays]
    before = sg.stats()["fallbacks"]
    with pytest.warns(sg.FallbackWarning, match=f"linalg.{name}: it runs in NumPy on the CPU") as seen:
        made = f(*xs)
        f(*xs)
    assert len(seen) == 1 and seen[0].filename == __file__
    assert sg.stats()["fallbacks"] == before + 2
    for got, want in zip(made if isinstance(made, tuple) else (made,), values(f, *arrays), strict=True):
        assert got.device.kind == "gpu"
        np.testing.assert_array_equal(got.detach().numpy(), want)
    made = made if isinstance(made, tuple) else (made,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.FallbackWarning)
        found = []
        for device in ("cpu", "gpu"):
            xs = [sg.tensor(x, device=device, requires_grad=True) for x in arrays]
            y = f(*xs)
            sum((t**2).sum() for t in (y if isinstance(y, tuple) else (y,))).backward()  # type: ignore[union-attr]
            found.append([x.grad.numpy() for x in xs if x.grad is not None])
    for on_cpu, on_gpu in zip(*found, strict=True):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-9, atol=1e-9)


@pytest.mark.gpu
def test_a_permutation_is_made_on_the_cpu_which_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirograd.linalg._lapack.warned", {"linalg.lu_factor"})
    a = matrices(3, 4)
    factors = sg.linalg.lu_factor(sg.tensor(a, device="gpu"))
    with pytest.warns(sg.FallbackWarning, match="linalg.lu_unpack: it runs in NumPy on the CPU"):
        P, L, U = sg.linalg.lu_unpack(*factors)
    assert P.device.kind == "gpu" and P.dtype == L.dtype
    np.testing.assert_allclose((P @ L @ U).numpy(), a, atol=1e-12)


@pytest.mark.gpu
def test_no_other_function_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: set[str] = set()
    monkeypatch.setattr("spirograd.linalg._lapack.warned", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.FallbackWarning)
        for f, arrays in CASES.values():
            values(f, *arrays, device="gpu")
    names = ("inv", "solve", "cholesky", "lu_factor", "lu_unpack", "qr", "svd", "eig", "eigh", "det", "slogdet")
    assert warned == {f"linalg.{name}" for name in names}
    before = sg.stats()["fallbacks"]
    for ord in (None, "fro", 1, -1, np.inf, -np.inf):
        sg.linalg.norm(sg.tensor(matrices(3, 2), device="gpu"), ord).item()
    assert sg.stats()["fallbacks"] == before


@pytest.mark.gpu
def test_a_strict_program_refuses_the_copy(run_python: Run) -> None:
    out = run_python(
        "import spirograd as sg\n"
        "try: sg.linalg.inv(sg.eye(2, device='gpu'))\n"
        "except sg.Error as e: print(e)\n"
        "print(sg.linalg.inv(sg.eye(2)).tolist(), sg.linalg.norm(sg.ones(4, device='gpu')).item())\n"
        "print(sg.stats()['fallbacks'])",
        SPIROGRAD_STRICT="1",
    )
    refused, rest, count = out.splitlines()
    assert refused.startswith("linalg.inv: ") and "SPIROGRAD_STRICT=1" in refused and ".cpu()" in refused
    assert rest == "[[1.0, 0.0], [0.0, 1.0]] 2.0" and count == "0"


# PyTorch gives zeros for the first gradient of a singular matrix of rank n - 1.
@pytest.mark.parametrize("case", [c for c in CASES if c != "det:singular"])
def test_against_pytorch(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients of the same program."""
    torch = pytest.importorskip("torch")
    f, arrays = CASES[case]
    found = []
    for library in (sg, torch):
        monkeypatch.setitem(globals(), "sg", library)
        monkeypatch.setitem(f.__globals__, "sg", library)
        call = getattr(library.linalg, f.__name__) if f.__module__.startswith("spirograd.linalg") else f
        xs = [library.tensor(a, requires_grad=True) for a in arrays]
        made = call(*xs)
        made = tuple(made) if isinstance(made, tuple) else (made,)
        weights = [np.cos(np.arange(t.numel())).reshape(tuple(t.shape)) for t in made]
        sum((t * library.tensor(w)).sum() for t, w in zip(made, weights, strict=True)).backward()
        found.append([np.asarray(t.detach()) for t in made] + [np.asarray(x.grad) for x in xs])
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)
