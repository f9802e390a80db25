"""Matrices of complex numbers: values against NumPy's, gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import linalg

Array = np.ndarray[Any, Any]
random = np.random.default_rng(3)


def numbers(*shape: int) -> Array:
    return random.normal(size=shape) + 1j * random.normal(size=shape)


def put(x: Array, device: Any = "cpu", dtype: Any = sg.complex128) -> Any:
    return sg.tensor(x, dtype=dtype, device=device)


A, B, TALL, WIDE = numbers(2, 3, 3) + 2 * np.eye(3), numbers(2, 3, 2), numbers(4, 3), numbers(3, 4)


def hermitian(a: Any) -> Any:
    return a @ (a.mH if not isinstance(a, np.ndarray) else a.conj().swapaxes(-2, -1))


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "cholesky": (lambda a: linalg.cholesky(hermitian(a)), lambda a: np.linalg.cholesky(hermitian(a))),
    "cond": (lambda a: linalg.svdvals(a).amax(-1) / linalg.svdvals(a).amin(-1), np.linalg.cond),
    "det": (linalg.det, np.linalg.det),
    "eigvalsh": (lambda a: linalg.eigvalsh(hermitian(a)), lambda a: np.linalg.eigvalsh(hermitian(a))),
    "inv": (linalg.inv, np.linalg.inv),
    "logabsdet": (lambda a: linalg.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1]),
    "matrix_exp": (lambda a: linalg.matrix_exp(a * 0.1), lambda a: sum_of_powers(a * 0.1)),
    "matrix_norm nuc": (lambda a: linalg.matrix_norm(a, "nuc"), lambda a: np.linalg.norm(a, "nuc", (-2, -1))),
    "matrix_norm 1": (lambda a: linalg.matrix_norm(a, 1), lambda a: np.linalg.norm(a, 1, (-2, -1))),
    "matrix_norm 2": (lambda a: linalg.matrix_norm(a, 2), lambda a: np.linalg.norm(a, 2, (-2, -1))),
    "matrix_norm fro": (linalg.matrix_norm, lambda a: np.linalg.norm(a, "fro", (-2, -1))),
    "matrix_power": (lambda a: linalg.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2)),
    "pinv": (linalg.pinv, np.linalg.pinv),
    "sign": (lambda a: linalg.slogdet(a).sign, lambda a: np.linalg.slogdet(a)[0]),
    "solve": (lambda a: linalg.solve(a, put(B, a.device, a.dtype)), lambda a: np.linalg.solve(a, B)),
    "solve from the right": (
        lambda a: linalg.solve(a, put(B.swapaxes(1, 2).copy(), a.device, a.dtype), left=False),
        lambda a: np.linalg.solve(a.swapaxes(1, 2), B).swapaxes(1, 2),
    ),
    "solve_triangular": (
        lambda a: linalg.solve_triangular(a, put(B, a.device, a.dtype), upper=False),
        lambda a: np.linalg.solve(np.tril(a), B),
    ),
    "svdvals": (linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False)),
}


def sum_of_powers(a: Array) -> Array:
    term = total = np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(complex)
    for k in range(1, 30):
        term = term @ a / k
        total = total + term
    return total


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_numpy(name: str, device: sg.Device) -> None:
    ours, theirs = VALUES[name]
    got = ours(put(A, device, sg.complex64)).cpu().numpy()
    np.testing.assert_allclose(got, theirs(A), rtol=2e-3, atol=2e-4)


def test_factors_give_the_matrix_again(device: sg.Device) -> None:
    for x in (A, TALL, WIDE):
        for full in (False, True):
            u, s, vh = linalg.svd(put(x, device), full)
            k = s.shape[-1]
            np.testing.assert_allclose((u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :]).numpy(), x, atol=1e-10)
        q, r = linalg.qr(put(x, device))
        np.testing.assert_allclose((q @ r).numpy(), x, atol=1e-10)
        np.testing.assert_allclose((q.mH @ q).numpy(), np.broadcast_to(np.eye(3), (q.mH @ q).shape), atol=1e-10)
    w, v = linalg.eigh(put(hermitian(A), device))
    np.testing.assert_allclose((v * w.unsqueeze(-2) @ v.mH).numpy(), hermitian(A), atol=1e-10)
    values, vectors = linalg.eig(put(A, device))
    np.testing.assert_allclose((put(A, device) @ vectors).numpy(), (vectors * values.unsqueeze(-2)).numpy(), atol=1e-10)


def pairs(x: Array) -> sg.Tensor:
    return sg.tensor(np.stack([x.real, x.imag], -1), dtype=sg.float64, requires_grad=True)


def real(x: Any) -> sg.Tensor:
    return x if isinstance(x, sg.Tensor) else sg.view_as_real(x)


# Of vectors, what does not hang on their phase.
FACTORS: dict[str, tuple[Array, Callable[[Any], Any]]] = {
    "eigh vectors": (A, lambda a: linalg.eigh(hermitian(a)).eigenvectors.abs()),
    "eig": (A, lambda a: linalg.eigvals(a)),
    "eig vectors": (A, lambda a: linalg.eig(a).eigenvectors.abs()),
    "svd": (A, lambda a: linalg.svd(a).U.abs()),
    "svd tall": (TALL, lambda a: real_of_products(*linalg.svd(a, False))),
    "svd wide": (WIDE, lambda a: real_of_products(*linalg.svd(a, False))),
    "qr": (TALL, lambda a: linalg.qr(a).R.abs()),
    "qr Q": (TALL, lambda a: linalg.qr(a).Q.abs()),
    "pinv": (TALL, linalg.pinv),
    "svdvals": (WIDE, linalg.svdvals),
}


def real_of_products(u: Any, s: Any, vh: Any) -> Any:
    return (u.abs().sum(-2) * s + vh.abs().square().sum(-1) * s) + (u @ vh).real.sum()


@pytest.mark.parametrize("name", [*VALUES, *FACTORS])
def test_gradients_are_those_of_differences(name: str) -> None:
    matrix, function = FACTORS[name] if name in FACTORS else (A, VALUES[name][0])
    assert sg.autograd.gradcheck(lambda x: real(function(sg.view_as_complex(x))), [pairs(matrix)], atol=1e-4)


def test_equal_values_have_gradients_of_zeros_between_them() -> None:
    a = sg.tensor(np.eye(3), dtype=sg.complex128).requires_grad_()
    (g,) = sg.autograd.grad(linalg.eigvalsh(a).sum(), a)
    assert g.real.tolist() == np.eye(3).tolist()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.inv: the matrix is singular"):
        linalg.inv(put(np.zeros((2, 2))))
    with pytest.raises(ValueError, match=r"linalg\.det: A has matrices of 2 x 3; they must be square"):
        linalg.det(put(numbers(2, 3)))
    with pytest.raises(ValueError, match=r"linalg\.lu_factor: pivot is False"):
        linalg.lu_factor(put(A), pivot=False)
    with pytest.raises(ValueError, match=r"linalg\.householder_product: A has shape \[2, 3\]"):
        linalg.householder_product(put(numbers(2, 3)), put(numbers(3)))
    assert sg.finfo(sg.complex64).eps == sg.finfo(sg.float32).eps
