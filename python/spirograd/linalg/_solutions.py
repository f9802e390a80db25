"""Solutions and what they say about themselves: least squares, ranks, condition numbers, and functions that report the
matrices on which they fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from ..base.dtypes import finfo
from ..base.out import placed
from ._decompositions import eigvalsh, qr, svd, svdvals
from ._factors import lu_factor
from ._inverses import cholesky, inv, solve, solve_triangular
from ._lapack import LinAlgError
from ._norms import matrix_norm
from ._products import pinv

__all__ = ["cholesky_inverse", "cholesky_solve", "pca_lowrank", "svd_lowrank"]  # those of `spirograd` itself


class Factor(NamedTuple):
    """A triangular factor, and what went wrong."""

    L: Tensor
    info: Tensor


class Inverse(NamedTuple):
    """An inverse, and what went wrong."""

    inverse: Tensor
    info: Tensor


class Solution(NamedTuple):
    """A solution, and what went wrong."""

    result: Tensor
    info: Tensor


class Factors(NamedTuple):
    """Both factors in one matrix, which rows were exchanged, and what went wrong."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class LeastSquares(NamedTuple):
    """The solution, the squares of what remains, the rank and the singular values; empty where they are not known."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _no_errors(A: Tensor) -> Tensor:
    return _core.zeros(A.shape[:-2], dtype=_core.int32, device=A.device)


def _each(function: Callable[[Tensor], Tensor], A: Tensor, check_errors: bool) -> tuple[Tensor, Tensor]:
    """function(A), and for each matrix 0, or 1 where it raises LinAlgError: its result is NaN then."""
    try:
        return function(A), _no_errors(A)
    except LinAlgError:
        if check_errors:
            raise
    parts, errors = [], []
    for matrix in A.reshape(-1, *A.shape[-2:]).unbind(0):
        try:
            parts.append(function(matrix))
            errors.append(0)
        except LinAlgError:
            parts.append(matrix * float("nan"))
            errors.append(1)
    info = _core.tensor(errors, dtype=_core.int32, device=A.device)
    return _core.stack(parts).reshape(A.shape), info.reshape(A.shape[:-2])


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """cholesky(), and for each matrix 0, or 1 where it is not positive definite: [..., n, n] -> [..., n, n], [...].

    Args:
        A: symmetric matrices.
        upper: the factor is the upper one.
        check_errors: raises instead.
        out: two tensors for the results.

    Raises:
        LinAlgError: check_errors is true, and a matrix is not positive definite. Its factor is NaN else.

    Example:
        >>> sg.linalg.cholesky_ex(sg.tensor([[[4.0]], [[-1.0]]])).info.tolist()
        [0, 1]
    """
    made = Factor(*_each(lambda a: cholesky(a, upper=upper), A, check_errors))
    return made if out is None else placed("cholesky_ex", made, out)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """inv(), and for each matrix 0, or 1 where it is singular: [..., n, n] -> [..., n, n], [...].

    Args:
        A: square matrices.
        check_errors: raises instead.
        out: two tensors for the results.

    Raises:
        LinAlgError: check_errors is true, and a matrix is singular. Its inverse is NaN else.

    Example:
        >>> sg.linalg.inv_ex(sg.tensor([[[4.0]], [[0.0]]])).info.tolist()
        [0, 1]
    """
    made = Inverse(*_each(inv, A, check_errors))
    return made if out is None else placed("inv_ex", made, out)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """How much solving with A may enlarge an error, the norm of A times that of its inverse: [..., n, n] -> [...].

    Args:
        A: square matrices; with p=None, 2 and -2 others too.
        p: the norm, see matrix_norm(); None is 2.

    Example:
        >>> sg.linalg.cond(sg.tensor([[4.0, 0.0], [0.0, 0.5]])).item()
        8.0
    """
    if p in (None, 2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number of singular values above a bound: [..., m, n] -> [...], of int64.

    Args:
        A: matrices.
        tol: atol by its old name.
        hermitian: A is symmetric, and the absolute eigenvalues are counted.
        atol: the least bound.
        rtol: the bound as a part of the largest one; default: the larger size times eps, 0 beside an atol.

    Example:
        >>> sg.linalg.matrix_rank(sg.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    atol = tol if atol is None else atol
    if A.numel() == 0:
        return _core.zeros(A.shape[:-2], dtype=_core.int64, device=A.device)
    s = eigvalsh(A).abs() if hermitian else svdvals(A)
    if rtol is None:
        rtol = 0.0 if atol is not None else max(A.shape[-2:]) * finfo(A.dtype).eps
    atol, rtol = (x.unsqueeze(-1) if isinstance(x, Tensor) else x for x in (0.0 if atol is None else atol, rtol))
    bound = rtol * s.amax(-1, keepdim=True)
    return (s > _core.maximum(bound, _core.zeros_like(bound) + atol)).sum(-1)


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> LeastSquares:
    """The X with the smallest A @ X - B, of several the smallest: [..., m, n], [..., m, k] -> [..., n, k].

    Args:
        A: matrices.
        B: right-hand sides.
        rcond: singular values below this part of the largest count as 0 in the rank.
        driver: the function of LAPACK that decides what comes beside the solution: "gels" gives no rank, "gelsy" no
            squares of what remains, and these two no singular values. None: "gelsy" on the CPU, "gels" on a GPU.

    Raises:
        ValueError: there is no such driver.

    Example:
        >>> line = sg.linalg.lstsq(sg.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), sg.tensor([[1.0], [3.0], [5.0]]))
        >>> [round(v, 4) for v in line.solution.flatten().tolist()]
        [1.0, 2.0]
    """
    driver = driver or ("gels" if A.device.kind == "gpu" else "gelsy")
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"linalg.lstsq: driver {driver!r} is unknown; use 'gels', 'gelsy', 'gelsd' or 'gelss'")
    rank = matrix_rank(A, rtol=rcond)
    if A.shape[-2] >= A.shape[-1] and (rank == A.shape[-1]).all():
        q, r = qr(A)
        solution = solve_triangular(r, q.mH @ B, upper=True)
    else:
        solution = pinv(A) @ B
    none = A.new_empty(0)
    more = A.shape[-2] > A.shape[-1] and driver != "gelsy"
    residuals = (A @ solution - B).abs().square().sum(-2) if more else none
    singular = svdvals(A.detach()) if driver in ("gelsd", "gelss") else none
    return LeastSquares(solution, residuals, none.to(_core.int64) if driver == "gels" else rank, singular)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Solution:
    """solve() and zeros: [..., n, n], [..., n, k] -> [..., n, k], [...]. A singular matrix raises LinAlgError."""
    return Solution(solve(A, B, left=left), _no_errors(A))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Factors:
    """lu_factor() and zeros: [..., m, n] -> [..., m, n], [..., min(m, n)], [...]."""
    return Factors(*lu_factor(A, pivot=pivot), _no_errors(A))


def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The X for which tensordot(A, X, X.ndim) = B.

    Args:
        A: the shape of B, then that of X, as many elements in both parts.
        B: a tensor.
        dims: dimensions of A that are moved to its end first.

    Example:
        >>> sg.linalg.tensorsolve(2 * sg.eye(6).reshape(2, 3, 6), sg.ones(2, 3)).tolist()
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(A.shape[B.ndim :])


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse with respect to tensordot(): the first dimensions and the last change places.

    Args:
        A: as many elements in the first `ind` dimensions as in the others.
        ind: how many dimensions are the first ones.

    Example:
        >>> sg.linalg.tensorinv(sg.eye(6).reshape(6, 2, 3), ind=1).shape
        (2, 3, 6)
    """
    rows = math.prod(A.shape[:ind])
    return inv(A.reshape(rows, -1)).reshape(*A.shape[ind:], *A.shape[:ind])


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The X for which A @ X = B, from the triangular factor of A: [..., n, k], [..., n, n] -> [..., n, k].

    Args:
        B: right-hand sides.
        L: what cholesky() gives.
        upper: L is the upper factor.

    Example:
        >>> sg.cholesky_solve(sg.tensor([[8.0]]), sg.tensor([[2.0]])).tolist()
        [[2.0]]
    """
    half = solve_triangular(L.mH if upper else L, B, upper=False)
    return solve_triangular(L if upper else L.mH, half, upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix with the triangular factor L: [..., n, n] -> [..., n, n].

    Example:
        >>> sg.cholesky_inverse(sg.tensor([[2.0]])).tolist()
        [[0.25]]
    """
    return cholesky_solve(_core.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand(L.shape), L, upper)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the largest q singular values of A - M: [..., m, n] -> [..., m, q], [..., q], [..., n, q].

    Args:
        A: matrices.
        q: how many values.
        niter: without a meaning: they are exact.
        M: what is subtracted first, or None.

    Example:
        >>> sg.svd_lowrank(sg.tensor([[3.0, 0.0], [0.0, 2.0]]), q=1)[1].tolist()
        [3.0]
    """
    u, s, vh = svd(A if M is None else A - M, full_matrices=False)
    return u[..., :q], s[..., :q], vh[..., :q, :].transpose(-2, -1)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """svd_lowrank() of the rows less their mean: the principal components of points [..., m, n].

    Args:
        A: points.
        q: how many components; default: at most 6.
        center: whether the mean is subtracted.
        niter: without a meaning: they are exact.

    Example:
        >>> sg.pca_lowrank(sg.tensor([[0.0, 1.0], [2.0, 1.0]]), q=1)[1].item() ** 2 > 1.99
        True
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q)
