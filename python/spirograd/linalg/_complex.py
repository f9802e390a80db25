"""Matrices of complex numbers.

What is made of sums and products is that of a real matrix, in which a + ib is the block [[a, -b], [b, a]]; so are
singular values, each of which that matrix has twice. The others are LAPACK's, with their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._complex import ComplexTensor, _abs
from .._core import Tensor
from ..autograd import Function
from ._decompositions import EighResult, QRResult, SVDResult
from ._decompositions import svdvals as real_svdvals
from ._determinants import SlogdetResult
from ._eigenvalues import EigResult
from ._factors import LUFactorResult, eliminate, gradient_by_factors
from ._factors import matrix_exp as real_matrix_exp
from ._inverses import cholesky as real_cholesky
from ._inverses import inv as real_inv
from ._inverses import solve as real_solve
from ._lapack import COMPLEX, Array, check_matrices, lapack, real_of
from ._norms import matrix_norm as real_matrix_norm
from ._products import pinv as real_pinv


def _checked(op: str, A: Any, square: bool = False) -> Any:
    """The matrices, complex if they were real."""
    check_matrices(op, real_of(A), square)
    return A if isinstance(A, ComplexTensor) else ComplexTensor(A, _core.zeros_like(A))


def _blocks(A: ComplexTensor) -> Tensor:
    """[..., m, n] -> [..., 2m, 2n], real."""
    rows = [_core.stack(pair, -1) for pair in ([A.real, -A.imag], [A.imag, A.real])]
    return _core.stack(rows, -3).reshape(*A.shape[:-2], 2 * A.shape[-2], 2 * A.shape[-1])


def _of_blocks(x: Tensor) -> ComplexTensor:
    x = x.reshape(*x.shape[:-2], x.shape[-2] // 2, 2, x.shape[-1] // 2, 2)
    return ComplexTensor(x[..., 0, :, 0], x[..., 1, :, 0])


def _array(a: Array, b: Array) -> Array:
    return a + 1j * b


def _split(*arrays: Array) -> tuple[Array, ...]:
    return tuple(part for x in arrays for part in ((x.real, x.imag) if np.iscomplexobj(x) else (x,)))


def _diagonal(x: Tensor) -> ComplexTensor:
    return ComplexTensor(_core.diag_embed(x), _core.zeros_like(_core.diag_embed(x)))


def _over(x: ComplexTensor, gaps: Any) -> ComplexTensor:
    """x / gaps; 0 where two values are equal, as on the diagonal."""
    equal = (gaps == 0).to(x.real.dtype)
    out: ComplexTensor = x / (gaps + equal) * (1 - equal)
    return out


def inv(A: Any) -> ComplexTensor:
    return _of_blocks(real_inv(_blocks(_checked("linalg.inv", A, True))))


def solve(A: Any, B: Any, *, left: bool = True) -> ComplexTensor:
    A = _checked("linalg.solve", A, True)
    B = B if isinstance(B, ComplexTensor) else ComplexTensor(B, _core.zeros_like(B))
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)  # type: ignore[no-any-return]
    if not left:
        return solve(A.mT, B.mT).mT
    return _of_blocks(real_solve(_blocks(A), _blocks(B)))


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> ComplexTensor:
    A = _checked("linalg.solve_triangular", A, True)
    A = A.triu(int(unitriangular)) if upper else A.tril(-int(unitriangular))
    if unitriangular:
        A = A + _core.eye(A.shape[-1], dtype=A.real.dtype, device=A.device)
    return solve(A, B, left=left)


def pinv(A: Any, rtol: float | None = None, *, atol: float | None = None, hermitian: bool = False) -> ComplexTensor:
    A = _checked("linalg.pinv", A)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(np.finfo(A.real.dtype.name).eps)
    return _of_blocks(real_pinv(_blocks(A), rtol, atol=atol))


def matrix_exp(A: Any) -> ComplexTensor:
    return _of_blocks(real_matrix_exp(_blocks(_checked("linalg.matrix_exp", A, True))))


def cholesky(A: Any, *, upper: bool = False) -> ComplexTensor:
    lower = _of_blocks(real_cholesky(_blocks(_checked("linalg.cholesky", A, True))))
    return lower.mH if upper else lower


def svdvals(A: Any) -> Tensor:
    return real_svdvals(_blocks(_checked("linalg.svdvals", A)))[..., ::2]


def matrix_norm(
    A: Any, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    if ord not in (2, -2, "nuc"):
        return real_matrix_norm(_abs(A), ord, dim, keepdim, dtype=dtype)
    s = svdvals(A.movedim(tuple(dim), (-2, -1)))
    out: Tensor = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
    for d in sorted(d % A.ndim for d in dim) if keepdim else ():
        out = out.unsqueeze(d)
    return out


class _Slogdet(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        made = lapack(
            "linalg.slogdet", "has no determinant", lambda x, y: _split(*np.linalg.slogdet(_array(x, y))), a, b
        )
        ctx.save_for_backward(a, b, *made[:2])
        return made

    @staticmethod
    def backward(ctx: Any, gx: Tensor, gy: Tensor, g: Tensor) -> Any:
        a, b, x, y = ctx.saved_tensors
        slope = ComplexTensor(g, gy * x - gx * y)  # of the logarithm of the determinant
        return (inv(ComplexTensor(a, b)).mH * slope[..., None, None]).parts()


def slogdet(A: Any) -> SlogdetResult:
    x, y, log = _Slogdet.apply(*_checked("linalg.slogdet", A, True).parts())
    return SlogdetResult(ComplexTensor(x, y), log)  # type: ignore[arg-type]


def det(A: Any) -> ComplexTensor:
    sign, log = slogdet(_checked("linalg.det", A, True))
    return sign * log.exp()  # type: ignore[return-value]


def logdet(A: Any) -> ComplexTensor:
    sign, log = slogdet(A)
    return ComplexTensor(log, _core.atan2(sign.imag, sign.real))  # type: ignore[attr-defined]


class _Eigh(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, lower: bool) -> tuple[Tensor, ...]:
        def made(x: Array, y: Array) -> tuple[Array, ...]:
            return _split(*np.linalg.eigh(_array(x, y), "L" if lower else "U"))

        found = lapack("linalg.eigh", "has eigenvalues that were not found", made, a, b)
        ctx.save_for_backward(*found)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor, gx: Tensor, gy: Tensor) -> Any:
        w, x, y = ctx.saved_tensors
        v = ComplexTensor(x, y)
        inner = _over(v.mH @ ComplexTensor(gx, gy), w.unsqueeze(-2) - w.unsqueeze(-1)) + _diagonal(g)
        return (*(v @ inner @ v.mH).parts(), None)


def eigh(A: Any, UPLO: str = "L") -> EighResult:
    w, x, y = _Eigh.apply(*_checked("linalg.eigh", A, True).parts(), UPLO.upper() == "L")
    return EighResult(w, ComplexTensor(x, y))  # type: ignore[arg-type]


def eigvalsh(A: Any, UPLO: str = "L") -> Tensor:
    return eigh(A, UPLO).eigenvalues


class _Eig(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        def made(x: Array, y: Array) -> tuple[Array, ...]:
            return _split(*np.linalg.eig(_array(x, y)))

        found = lapack("linalg.eig", "has eigenvalues that were not found", made, a, b)
        ctx.save_for_backward(*found)
        return found

    @staticmethod
    def backward(ctx: Any, ga: Tensor, gb: Tensor, gx: Tensor, gy: Tensor) -> Any:
        a, b, x, y = ctx.saved_tensors
        v = ComplexTensor(x, y)
        turned = v.mH @ ComplexTensor(gx, gy)  # the columns of v have length 1
        inner = turned - v.mH @ v * turned.real.diagonal(0, -2, -1).unsqueeze(-2)
        gaps = ComplexTensor(a.unsqueeze(-2) - a.unsqueeze(-1), b.unsqueeze(-1) - b.unsqueeze(-2))
        inner = _over(inner, gaps) + ComplexTensor(_core.diag_embed(ga), _core.diag_embed(gb))
        return solve(v.mH, inner @ v.mH).parts()


def eig(A: Any) -> EigResult:
    a, b, x, y = _Eig.apply(*_checked("linalg.eig", A, True).parts())
    return EigResult(ComplexTensor(a, b), ComplexTensor(x, y))


def eigvals(A: Any) -> ComplexTensor:
    return eig(A).eigenvalues


class _Svd(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, full: bool) -> tuple[Tensor, ...]:
        def made(x: Array, y: Array) -> tuple[Array, ...]:
            return _split(*np.linalg.svd(_array(x, y), full_matrices=full))

        found = lapack("linalg.svd", "has singular values that were not found", made, a, b)
        ctx.save_for_backward(*found)
        return found

    @staticmethod
    def backward(ctx: Any, gux: Tensor, guy: Tensor, g: Tensor, gvx: Tensor, gvy: Tensor) -> Any:
        ux, uy, s, vx, vy = ctx.saved_tensors
        k = s.shape[-1]
        u, vh = ComplexTensor(ux, uy)[..., :k], ComplexTensor(vx, vy)[..., :k, :]
        gu, gvh = ComplexTensor(gux, guy)[..., :k], ComplexTensor(gvx, gvy)[..., :k, :]
        of_u, of_v = u.mH @ gu, vh @ gvh.mH
        turn_u, turn_v = of_u - of_u.mH, of_v - of_v.mH
        squares = s * s
        gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
        inner = _over(turn_u, gaps) * s.unsqueeze(-2) + _over(turn_v, gaps) * s.unsqueeze(-1) + _diagonal(g)
        phase = _core.diag_embed(turn_u.imag.diagonal(0, -2, -1) / (2 * s))
        inner = inner + ComplexTensor(_core.zeros_like(phase), phase)
        out = u @ inner @ vh
        if u.shape[-2] > k:
            out = out + (gu - u @ of_u) / s.unsqueeze(-2) @ vh
        if vh.shape[-1] > k:
            out = out + u @ ((gvh - of_v.mH @ vh) / s.unsqueeze(-1))
        return (*out.parts(), None)


def svd(A: Any, full_matrices: bool = True) -> SVDResult:
    ux, uy, s, vx, vy = _Svd.apply(*_checked("linalg.svd", A).parts(), full_matrices)
    return SVDResult(ComplexTensor(ux, uy), s, ComplexTensor(vx, vy))  # type: ignore[arg-type]


class _Qr(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        found = lapack("linalg.qr", "has no factors", lambda x, y: _split(*np.linalg.qr(_array(x, y))), a, b)
        ctx.save_for_backward(*found)
        return found

    @staticmethod
    def backward(ctx: Any, gqx: Tensor, gqy: Tensor, grx: Tensor, gry: Tensor) -> Any:
        qx, qy, rx, ry = ctx.saved_tensors
        q, r, gq, gr = (ComplexTensor(*p) for p in ((qx, qy), (rx, ry), (gqx, gqy), (grx, gry)))
        if r.shape[-2] != r.shape[-1]:
            raise ValueError("linalg.qr: complex matrices with more columns than rows have no gradient; use their mH")
        upper = (gr @ r.mH - q.mH @ gq).triu()
        both = upper + upper.mH
        both = both - _diagonal(both.real.diagonal(0, -2, -1) / 2)
        return solve(r.mH, q @ both + gq, left=False).parts()


def qr(A: Any, mode: str = "reduced") -> QRResult:
    if mode != "reduced":
        raise ValueError(f"linalg.qr: mode '{mode}' of complex matrices is not there; use 'reduced'")
    qx, qy, rx, ry = _Qr.apply(*_checked("linalg.qr", A).parts())
    return QRResult(ComplexTensor(qx, qy), ComplexTensor(rx, ry))  # type: ignore[arg-type]


class _LUFactor(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        found = lapack("linalg.lu_factor", "has no factors", lambda x, y: _split(*eliminate(_array(x, y))), a, b)
        ctx.save_for_backward(*found)
        ctx.mark_non_differentiable(found[2])
        return found

    @staticmethod
    def backward(ctx: Any, gx: Tensor, gy: Tensor, _: Any) -> Any:
        x, y, pivots = ctx.saved_tensors
        return gradient_by_factors(ComplexTensor(x, y), pivots, ComplexTensor(gx, gy)).parts()


def lu_factor(A: Any, *, pivot: bool = True) -> LUFactorResult:
    if not pivot:
        raise ValueError("linalg.lu_factor: pivot is False; factors are found with pivots only")
    x, y, pivots = _LUFactor.apply(*_checked("linalg.lu_factor", A).parts())
    return LUFactorResult(ComplexTensor(x, y), pivots)  # type: ignore[arg-type]


for _function in (
    *(cholesky, det, eig, eigh, eigvals, eigvalsh, inv, logdet, lu_factor, matrix_exp, matrix_norm, pinv, qr, slogdet),
    *(solve, solve_triangular, svd, svdvals),
):
    COMPLEX[_function.__name__] = _function
