"""LU factors and what is made of them, and the exponential of matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Tensor
from ..autograd import Function
from ._inverses import solve_triangular
from ._lapack import Array, check_matrices, eye_like, lapack, name_of, or_complex


class LUResult(NamedTuple):
    """P @ L @ U is the matrix."""

    P: Tensor
    L: Tensor
    U: Tensor


class LUFactorResult(NamedTuple):
    """L below the diagonal and U from it on, in one matrix; and which rows were exchanged, counted from 1."""

    LU: Tensor
    pivots: Tensor


def eliminate(a: Array) -> tuple[Array, Array]:
    """Gauss's elimination with the largest pivot of each column, for all matrices of a batch at once."""
    lu = np.array(a)
    rows, columns = lu.shape[-2:]
    least = min(rows, columns)
    batch = np.indices(lu.shape[:-2])
    pivots = np.zeros((*lu.shape[:-2], least), np.int32)
    for k in range(least):
        at = k + (np.abs(lu[..., k:, k].real) + np.abs(lu[..., k:, k].imag)).argmax(-1)
        pivots[..., k] = at + 1
        here, there = (*batch, k), (*batch, at)
        lu[here], lu[there] = lu[there].copy(), lu[here].copy()
        pivot = lu[..., k : k + 1, k]
        lu[..., k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        lu[..., k + 1 :, k + 1 :] -= lu[..., k + 1 :, k, None] * lu[..., None, k, k + 1 :]
    return lu, pivots


def gradient_by_factors(lu: Any, pivots: Tensor, g: Any) -> Any:
    """The gradient by matrices, of that by their factors in one matrix."""
    # dA = P (dL U + L dU), so L^-1 P^T dA U^-1 has L^-1 dL below its diagonal and dU U^-1 from it on.
    # Rows below a square have L2 = B2 U^-1, columns beside it U2 = L^-1 B2, with B = P^T A.
    P, L, U = lu_unpack(lu, pivots)
    k = min(lu.shape[-2:])
    L, U, square = L[..., :k, :], U[..., :k], g[..., :k, :k]
    low, high = square.tril(-1), square.triu()
    below = beside = None
    if lu.shape[-2] > k:
        below = solve_triangular(U.mH, g[..., k:, :], upper=False, left=False)
        high = high - (lu[..., k:, :].mH @ below).triu()
    if lu.shape[-1] > k:
        beside = solve_triangular(L.mH, g[..., k:], upper=True, unitriangular=True)
        low = low - (beside @ lu[..., k:].mH).tril(-1)
    inner = (L.mH @ low).tril(-1) + (high @ U.mH).triu()
    left = solve_triangular(L.mH, inner, upper=True, unitriangular=True)
    by_b = solve_triangular(U.mH, left, upper=False, left=False)
    if below is not None:
        by_b = _core.cat([by_b, below], -2)
    if beside is not None:
        by_b = _core.cat([by_b, beside], -1)
    return P @ by_b


class _LUFactor(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        lu, pivots = lapack("linalg.lu_factor", "has no factors", eliminate, a)
        ctx.save_for_backward(lu, pivots)
        ctx.mark_non_differentiable(pivots)
        return lu, pivots

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Any) -> Any:
        lu, pivots = ctx.saved_tensors
        return gradient_by_factors(lu, pivots, g)


@or_complex
def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactorResult:
    """LU factors with the largest pivot of each column: [..., m, n] -> [..., m, n], [..., min(m, n)].

    Elimination runs on the CPU, in NumPy.

    Args:
        A: matrices.
        pivot: False is an error.

    Raises:
        TypeError: A has another type than float32, float64, complex64 and complex128.
        ValueError: pivot is False.

    Example:
        >>> sg.linalg.lu_factor(sg.tensor([[0.0, 2.0], [4.0, 1.0]])).LU.tolist()
        [[4.0, 1.0], [0.0, 2.0]]
    """
    check_matrices("linalg.lu_factor", A)
    if not pivot:
        raise ValueError("linalg.lu_factor: pivot is False; factors are found with pivots only")
    return LUFactorResult(*_LUFactor.apply(A))


def lu_unpack(LU: Tensor, pivots: Tensor) -> LUResult:
    """The three factors of what lu_factor() gives: [..., m, m], [..., m, k], [..., k, n], k the less of m and n.

    The permutation is made on the CPU, in NumPy.

    Example:
        >>> P, L, U = sg.linalg.lu_unpack(*sg.linalg.lu_factor(sg.tensor([[0.0, 2.0], [4.0, 1.0]])))
        >>> (P @ L @ U).tolist()
        [[0.0, 2.0], [4.0, 1.0]]
    """
    rows, columns = LU.shape[-2:]
    least = min(rows, columns)

    def permutation(pivots: Array) -> Array:
        swaps = pivots - 1
        order = np.broadcast_to(np.arange(rows), (*swaps.shape[:-1], rows)).copy()
        batch = np.indices(swaps.shape[:-1])
        for k in range(least):
            here, there = (*batch, k), (*batch, swaps[..., k])
            order[here], order[there] = order[there].copy(), order[here].copy()
        return np.ascontiguousarray(np.swapaxes(np.eye(rows, dtype=name_of(LU))[order], -1, -2))

    (P,) = lapack("linalg.lu_unpack", "has no permutation", permutation, pivots)
    L = LU[..., :, :least].tril(-1) + _core.eye(rows, least, dtype=LU.dtype, device=LU.device)
    return LUResult(P, L, LU[..., :least, :].triu())


def lu(A: Tensor, *, pivot: bool = True) -> LUResult:
    """P, L and U with P @ L @ U = A: a permutation, a lower triangle with ones, an upper triangle.

    Args:
        A: matrices [..., m, n].
        pivot: False is an error.

    Raises:
        TypeError: A has another type than float32, float64, complex64 and complex128.
        ValueError: pivot is False.

    Example:
        >>> sg.linalg.lu(sg.tensor([[0.0, 2.0], [4.0, 1.0]])).P.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    return lu_unpack(*lu_factor(A, pivot=pivot))


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X for which A @ X = B, from the factors of A: [..., n, k] -> [..., n, k].

    Args:
        LU: from lu_factor().
        pivots: from lu_factor().
        B: right-hand sides.
        left: False solves X @ A = B.
        adjoint: True solves A.mH @ X = B.

    Example:
        >>> A = sg.tensor([[0.0, 2.0], [4.0, 0.0]])
        >>> sg.linalg.lu_solve(*sg.linalg.lu_factor(A), sg.tensor([[2.0], [4.0]])).tolist()
        [[1.0], [1.0]]
    """
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    P, L, U = lu_unpack(LU, pivots)
    if adjoint:
        middle = solve_triangular(U.mH, B, upper=False)
        return P @ solve_triangular(L.mH, middle, upper=True, unitriangular=True)
    middle = solve_triangular(L, P.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(U, middle, upper=True)


@or_complex
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices, 1 + A + A @ A / 2 + ...: [..., n, n] -> [..., n, n], on their device.

    The series is taken of A / 2**s, whose norm is 1/2 or less, and squared s times (Moler and Van Loan, "Nineteen
    dubious ways to compute the exponential of a matrix", 2003). The norm is read.
    Half types are computed in float32.

    Raises:
        TypeError: A is not of a floating type.
        ValueError: the matrices are not square.

    Example:
        >>> sg.linalg.matrix_exp(sg.tensor([[0.0, 3.0], [0.0, 0.0]])).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    if A.dtype in (_core.float16, _core.bfloat16):
        return matrix_exp(A.float()).to(A.dtype)
    check_matrices("linalg.matrix_exp", A, square=True)
    if A.numel() == 0:
        return A.clone()
    norm = float(A.detach().abs().sum(-2).amax())
    if not math.isfinite(norm):
        return A * math.nan
    squarings = max(0, math.ceil(math.log2(2 * norm))) if norm > 0 else 0
    small, one = A / 2.0**squarings, eye_like(A)
    total = one + small * 0
    for k in range(9 if A.dtype == _core.float32 else 15, 0, -1):
        total = one + (small @ total) / k
    for _ in range(squarings):
        total = total @ total
    return total
