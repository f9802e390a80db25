"""inv, solve, solve_triangular and cholesky, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..autograd import Function
from ._lapack import check_matrices, eye_like, lapack, name_of, or_complex


class _Inv(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = lapack("linalg.inv", "is singular and has no inverse; see linalg.pinv", np.linalg.inv, a)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return -(y.mT @ g @ y.mT)


@or_complex
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices: [..., n, n] -> [..., n, n].

    Raises:
        LinAlgError: a matrix is singular.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    check_matrices("linalg.inv", A, square=True)
    out: Tensor = _Inv.apply(A)
    return out


class _Solve(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        (out,) = lapack("linalg.solve", "is singular; see linalg.pinv", np.linalg.solve, a, b)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, x = ctx.saved_tensors
        by_b = solve(a.mT, g)
        return -(by_b @ x.mT) if ctx.needs_input_grad[0] else None, by_b


@or_complex
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X for which A @ X = B: [..., n, n], [..., n, k] -> [..., n, k]; leading dimensions broadcast.

    Args:
        A: square matrices.
        B: right-hand sides; vectors when it is of one dimension, or of the shape of A without its last.
        left: False solves X @ A = B.

    Raises:
        LinAlgError: a matrix is singular.
        TypeError: a tensor is neither float32 nor float64, or the two differ.
        ValueError: the shapes do not fit.

    Example:
        >>> sg.linalg.solve(sg.tensor([[2.0, 0.0], [0.0, 4.0]]), sg.tensor([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    op = "linalg.solve"
    check_matrices(op, A, square=True)
    if not isinstance(B, Tensor):
        raise TypeError(f"{op}: B is a {type(B).__name__}; a tensor is needed")
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors and not left:
        raise ValueError(f"{op}: left=False with vectors B of shape {list(B.shape)}; use B.unsqueeze(-2)")
    if vectors:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    check_matrices(op, B, name="B")
    if A.dtype != B.dtype or A.device != B.device:
        raise TypeError(
            f"{op}: A is {name_of(A)} on {A.device} and B is {name_of(B)} on {B.device}; convert one with .to()"
        )
    if not left:
        return solve(A.mT, B.mT).mT
    if A.shape[-1] != B.shape[-2]:
        raise ValueError(f"{op}: A {list(A.shape)} and B {list(B.shape)} do not fit; A @ X = B needs as many rows")
    batch = _core.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    out: Tensor = _Solve.apply(A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:]))
    return out


@or_complex
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """solve() with one triangle of A, whatever the other one holds.

    Args:
        A: square matrices [..., n, n].
        B: right-hand sides [..., n, k]; leading dimensions broadcast.
        upper: the upper triangle, or else the lower one.
        left: False solves X @ A = B.
        unitriangular: the diagonal counts as ones.

    Raises:
        LinAlgError: a diagonal has a zero.
        TypeError: a tensor is neither float32 nor float64, or the two differ.
        ValueError: the shapes do not fit.

    Example:
        >>> A = sg.tensor([[2.0, 9.0], [1.0, 4.0]])
        >>> sg.linalg.solve_triangular(A, sg.tensor([[2.0], [5.0]]), upper=False).tolist()
        [[1.0], [1.0]]
    """
    check_matrices("linalg.solve_triangular", A, square=True)
    diagonal = int(unitriangular)
    triangle = A.triu(diagonal) if upper else A.tril(-diagonal)
    return solve(triangle + eye_like(A) if unitriangular else triangle, B, left=left)


class _Cholesky(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = lapack("linalg.cholesky", "is not positive definite", np.linalg.cholesky, a)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        # Murray, "Differentiation of the Cholesky decomposition" (2016).
        (factor,) = ctx.saved_tensors
        inverse = inv(factor)
        inner = factor.mT @ g
        half = inner.tril() - 0.5 * _core.diag_embed(inner.diagonal(0, -2, -1))
        full = inverse.mT @ half @ inverse
        return (full + full.mT) * 0.5


@or_complex
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with A = L @ L.mT, of symmetric positive definite matrices: [..., n, n] -> [..., n, n].

    Args:
        A: only its lower triangles are read.
        upper: gives L.mT.

    Raises:
        LinAlgError: a matrix is not positive definite.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> sg.linalg.cholesky(sg.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    check_matrices("linalg.cholesky", A, square=True)
    factor: Tensor = _Cholesky.apply(A)
    return factor.mT if upper else factor
