"""qr, svd and eigh, with their gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Error, Tensor
from ..autograd import Function
from ._inverses import solve
from ._lapack import check_matrices, eye_like, lapack, or_complex


class QRResult(NamedTuple):
    """What qr() gives."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """What svd() gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EighResult(NamedTuple):
    """What eigh() gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class _Qr(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, mode: Any) -> tuple[Tensor, Tensor]:
        wrong = "has no decomposition"
        q, r = lapack("linalg.qr", wrong, lambda x: tuple(np.linalg.qr(x, mode=mode)), a)
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, gq: Tensor, gr: Tensor) -> Any:
        q, r = ctx.saved_tensors
        if q.shape[-1] != r.shape[-1]:
            raise Error("linalg.qr: mode='complete' has no gradient for tall matrices; use mode='reduced'")
        inner = (gr @ r.mT - q.mT @ gq).triu()
        inner = inner + inner.mT - _core.diag_embed(inner.diagonal(0, -2, -1))
        return solve(r.mT, gq + q @ inner, left=False), None


@or_complex
def qr(A: Tensor, mode: str = "reduced") -> QRResult:
    """Q with orthonormal columns and an upper triangular R with A = Q @ R.

    Shapes, with k = min(m, n): [..., m, n] -> [..., m, k], [..., k, n]; complete: [..., m, m], [..., m, n].

    Args:
        A: matrices. The gradient needs the first k columns to be independent.
        mode: 'reduced', 'complete' (no gradient for m > n), or 'r': Q is empty.

    Raises:
        TypeError: A is neither float32 nor float64.
        ValueError: the mode is unknown.

    Example:
        >>> q, r = sg.linalg.qr(sg.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> sg.allclose(q @ r, sg.tensor([[3.0, 1.0], [4.0, 2.0]]), atol=1e-6)
        True
    """
    check_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"linalg.qr: mode {mode!r} is unknown; use 'reduced', 'complete' or 'r'")
    rows, columns = A.shape[-2:]
    # A wide matrix is a square one with more columns behind it: [X, Y] = Q [R, Q^T Y].
    head = A[..., :rows] if columns > rows else A
    q, r = _Qr.apply(head, "complete" if mode == "complete" else "reduced")
    if columns > rows:
        r = _core.cat([r, q.mT @ A[..., rows:]], -1)
    return QRResult(_core.empty(0, dtype=A.dtype, device=A.device) if mode == "r" else q, r)


class _Svd(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, full: bool) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        wrong = "has no decomposition; it may hold NaN or infinity"
        made = lapack("linalg.svd", wrong, lambda x: tuple(np.linalg.svd(x, full_matrices=full)), a)
        ctx.save_for_backward(*made)
        return made

    @staticmethod
    def backward(ctx: Any, gu: Tensor | None, gs: Tensor | None, gvh: Tensor | None) -> Any:
        # Townsend, "Differentiating the singular value decomposition" (2016). Vectors beyond k have no gradient.
        u, s, vh = ctx.saved_tensors
        k = s.shape[-1]
        u, vh = u[..., :k], vh[..., :k, :]
        inner = _core.diag_embed(gs if gs is not None else s * 0)
        squares = s * s
        gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + eye_like(inner)
        beside: Tensor | float = 0.0
        if gu is not None:
            gu = gu[..., :k]
            turn = u.mT @ gu
            inner = inner + (turn - turn.mT) / gaps * s.unsqueeze(-2)
            if u.shape[-2] > k:
                beside = (gu - u @ turn) / s.unsqueeze(-2) @ vh
        if gvh is not None:
            gvh = gvh[..., :k, :]
            turn = vh @ gvh.mT
            inner = inner + s.unsqueeze(-1) * ((turn - turn.mT) / gaps)
            if vh.shape[-1] > k:
                beside = beside + u @ ((gvh - turn.mT @ vh) / s.unsqueeze(-1))
        return u @ inner @ vh + beside, None


@or_complex
def svd(A: Tensor, full_matrices: bool = True) -> SVDResult:
    """Singular values S, largest first, and vectors with A = U @ diag(S) @ Vh.

    Shapes, with k = min(m, n): [..., m, n] -> [..., m, m], [..., k], [..., n, n]; without full_matrices the vectors are
    [..., m, k] and [..., k, n].

    The signs of the vectors are free, so only what does not depend on them has a meaningful gradient. The gradient of
    vectors needs singular values that differ (and are not 0, where m and n differ); that of S always exists. Vectors
    beyond k have none.

    Args:
        A: matrices.
        full_matrices: square U and Vh.

    Raises:
        LinAlgError: the iteration did not converge: NaN or infinity.
        TypeError: A is neither float32 nor float64.

    Example:
        >>> sg.linalg.svd(sg.tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
        [4.0, 3.0]
    """
    check_matrices("linalg.svd", A)
    return SVDResult(*_Svd.apply(A, bool(full_matrices)))


@or_complex
def svdvals(A: Tensor) -> Tensor:
    """The singular values, largest first: [..., m, n] -> [..., min(m, n)]; see svd().

    Example:
        >>> sg.linalg.svdvals(sg.tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [4.0, 3.0]
    """
    return svd(A, full_matrices=False).S


class _Eigh(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, side: Any) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        wrong = "has no decomposition; it may hold NaN or infinity"
        made = lapack("linalg.eigh", wrong, lambda x: tuple(np.linalg.eigh(x, UPLO=side)), a)
        ctx.save_for_backward(*made)
        return made

    @staticmethod
    def backward(ctx: Any, gw: Tensor | None, gv: Tensor | None) -> Any:
        w, v = ctx.saved_tensors
        inner = _core.diag_embed(gw if gw is not None else w * 0)
        if gv is not None:
            turn = v.mT @ gv
            inner = inner + (turn - turn.mT) * 0.5 / (w.unsqueeze(-2) - w.unsqueeze(-1) + eye_like(v))
        return v @ inner @ v.mT, None


@or_complex
def eigh(A: Tensor, UPLO: str = "L") -> EighResult:
    """Eigenvalues, smallest first, and orthonormal eigenvectors of symmetric matrices.

    Shapes: [..., n, n] -> [..., n], [..., n, n].

    The signs of the vectors are free; their gradient needs eigenvalues that differ. That of the eigenvalues always
    exists.

    Args:
        A: only one triangle of each matrix is read.
        UPLO: which one: 'L' for the lower, 'U' for the upper.

    Raises:
        LinAlgError: the iteration did not converge: NaN or infinity.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square, or UPLO is something else.

    Example:
        >>> sg.linalg.eigh(sg.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    check_matrices("linalg.eigh", A, square=True)
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"linalg.eigh: UPLO {UPLO!r} is unknown; use 'L' or 'U'")
    return EighResult(*_Eigh.apply(A, UPLO.upper()))


@or_complex
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, smallest first: [..., n, n] -> [..., n]; see eigh().

    Example:
        >>> sg.linalg.eigvalsh(sg.tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return eigh(A, UPLO).eigenvalues
