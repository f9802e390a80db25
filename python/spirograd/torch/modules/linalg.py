"""The names of torch.linalg that spirograd lacks, made of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _core, conj, linalg
from ..._core import Tensor
from ...base.dtypes import finfo
from ...base.out import placed
from ..functions.algebra import cross as _cross
from ..functions.algebra import vander as _vander
from ..functions.factors import ldl_factor, ldl_factor_ex, ldl_solve

__all__ = [
    "cholesky_ex",
    "cond",
    "cross",
    "diagonal",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu_factor_ex",
    "matmul",
    "matrix_rank",
    "solve_ex",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
]

matmul = _core.matmul


class Factor(NamedTuple):
    L: Tensor
    info: Tensor


class Inverse(NamedTuple):
    inverse: Tensor
    info: Tensor


class Solution(NamedTuple):
    result: Tensor
    info: Tensor


class Factors(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


class LeastSquares(NamedTuple):
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
    except linalg.LinAlgError:
        if check_errors:
            raise
    parts, errors = [], []
    for matrix in A.reshape(-1, *A.shape[-2:]).unbind(0):
        try:
            parts.append(function(matrix))
            errors.append(0)
        except linalg.LinAlgError:
            parts.append(matrix * float("nan"))
            errors.append(1)
    info = _core.tensor(errors, dtype=_core.int32, device=A.device)
    return _core.stack(parts).reshape(A.shape), info.reshape(A.shape[:-2])


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """cholesky(), and for each matrix 0, or 1 where it is not positive definite: its factor is NaN then."""
    made = Factor(*_each(lambda a: linalg.cholesky(a, upper=upper), A, check_errors))
    return made if out is None else placed("cholesky_ex", made, out)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """inv(), and for each matrix 0, or 1 where it is singular: its inverse is NaN then."""
    made = Inverse(*_each(linalg.inv, A, check_errors))
    return made if out is None else placed("inv_ex", made, out)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """How much solving with A may enlarge an error: the norm of A times that of its inverse; p=None is p=2."""
    if p in (None, 2, -2):
        s = linalg.svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return linalg.matrix_norm(A, p) * linalg.matrix_norm(linalg.inv(A), p)


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number of singular values above atol, by its old name `tol`, and above rtol times the largest one."""
    atol = tol if atol is None else atol
    if A.numel() == 0:
        return _core.zeros(A.shape[:-2], dtype=_core.int64, device=A.device)
    s = linalg.eigvalsh(A).abs() if hermitian else linalg.svdvals(A)
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
    """
    driver = driver or ("gels" if A.device.kind == "gpu" else "gelsy")
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"lstsq: driver {driver!r} is unknown; use 'gels', 'gelsy', 'gelsd' or 'gelss'")
    rank = matrix_rank(A, rtol=rcond)
    if A.shape[-2] >= A.shape[-1] and (rank == A.shape[-1]).all():
        q, r = linalg.qr(A)
        solution = linalg.solve_triangular(r, q.mH @ B, upper=True)
    else:
        solution = linalg.pinv(A) @ B
    none = A.new_empty(0)
    more = A.shape[-2] > A.shape[-1] and driver != "gelsy"
    residuals = (A @ solution - B).abs().square().sum(-2) if more else none
    singular = linalg.svdvals(A.detach()) if driver in ("gelsd", "gelss") else none
    return LeastSquares(solution, residuals, none.to(_core.int64) if driver == "gels" else rank, singular)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3."""
    return _cross(input, other, dim)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers of x, growing: [..., n] -> [..., n, N]."""
    x = x if x.ndim else x.reshape(1)
    return _vander(x, x.shape[-1] if N is None else N, increasing=True)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Solution:
    """solve() and zeros: a singular matrix raises here, also with check_errors=False."""
    return Solution(linalg.solve(A, B, left=left), _no_errors(A))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Factors:
    """lu_factor() and zeros."""
    return Factors(*linalg.lu_factor(A, pivot=pivot), _no_errors(A))


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices: a view."""
    return A.diagonal(offset, dim1, dim2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The scalar products of vectors along a dimension, of complex ones with the first conjugated."""
    return (conj(x) * y).sum(dim)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The X for which tensordot(A, X) = B; `dims` of A are moved to its end first."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    return linalg.solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(A.shape[B.ndim :])


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse with respect to tensordot(): dimensions from `ind` on come first."""
    rows = _core.zeros(A.shape[:ind]).numel()
    return linalg.inv(A.reshape(rows, -1)).reshape(*A.shape[ind:], *A.shape[:ind])
