"""Linear algebra: norms, inverses, decompositions, determinants; batches of matrices in the leading dimensions.

Norms are made of tensor operations, on every device. inv, solve, cholesky, qr, svd, eigh, det and slogdet, and what is
made of them, run in LAPACK on the CPU, through NumPy, in float32 and float64. A GPU tensor is copied there and back,
which one `FallbackWarning` an operation says, `stats()["fallbacks"]` counts, and SPIROGRAD_STRICT=1 refuses. Gradients
are tensor operations and have gradients themselves.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._core import Error, FallbackWarning, Tensor
from ._grad_mode import no_grad
from ._types import DTypeLike
from .autograd import Function

__all__ = [
    "EighResult",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "vector_norm",
]

Dim = int | Sequence[int] | None
Array = np.ndarray[Any, Any]


class LinAlgError(Error):
    """A matrix has no inverse, no Cholesky factor, or an iteration found no end."""


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


class SlogdetResult(NamedTuple):
    """What slogdet() gives."""

    sign: Tensor
    logabsdet: Tensor


# ---- in LAPACK -------------------------------------------------------------------------------------------------------
_warned: set[str] = set()


def _fall_back(op: str, device: _core.Device) -> None:
    _core._count_fallback(op)
    if op in _warned:
        return
    _warned.add(op)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "spirograd":
        level, frame = level + 1, frame.f_back
    message = f"{op}: it runs in LAPACK on the CPU; a tensor of {device} is copied there and back (said once)"
    warnings.warn(message, FallbackWarning, stacklevel=level)


def _first_wrong(f: Callable[..., Any], arrays: Sequence[Array]) -> tuple[Any, ...]:
    """The first matrix of a batch that LAPACK gives up on."""
    for at in np.ndindex(arrays[0].shape[:-2]):
        try:
            f(*(a[at] for a in arrays))
        except np.linalg.LinAlgError:
            return tuple(at)
    return ()


def _lapack(op: str, wrong: str, f: Callable[..., Any], *inputs: Tensor) -> tuple[Tensor, ...]:
    """f of the inputs as arrays, as tensors of their device."""
    device = inputs[0].device
    if device.kind == "gpu":
        _fall_back(op, device)
    arrays = [x.detach().numpy() for x in inputs]
    try:
        made = f(*arrays)
    except np.linalg.LinAlgError as e:
        at = _first_wrong(f, arrays)
        which = f"matrix {list(at)} of the batch" if at else "the matrix"
        raise LinAlgError(f"{op}: {which} {wrong}") from e
    results = made if isinstance(made, tuple) else (made,)
    return tuple(_core.tensor(np.asarray(r), device=device) for r in results)


def _matrices(op: str, x: Any, square: bool = False, name: str = "A") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: {name} is a {type(x).__name__}; a tensor is needed")
    if x.ndim < 2:
        raise ValueError(f"{op}: {name} of shape {list(x.shape)} is no matrix; use two dimensions or more")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{op}: {name} has matrices of {x.shape[-2]} x {x.shape[-1]}; they must be square")
    if x.dtype not in (_core.float32, _core.float64):
        raise TypeError(f"{op}: {name} is {_name(x)}; LAPACK takes float32 and float64, convert it with .float()")


def _name(x: Tensor) -> str:
    return str(x.dtype).rsplit(".", 1)[-1]


def _eye(like: Tensor) -> Tensor:
    return _core.eye(like.shape[-1], dtype=like.dtype, device=like.device)


class _Inv(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = _lapack("linalg.inv", "is singular and has no inverse; see linalg.pinv", np.linalg.inv, a)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return -(y.mT @ g @ y.mT)


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
    _matrices("linalg.inv", A, square=True)
    out: Tensor = _Inv.apply(A)
    return out


class _Solve(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        (out,) = _lapack("linalg.solve", "is singular; see linalg.pinv", np.linalg.solve, a, b)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, x = ctx.saved_tensors
        by_b = solve(a.mT, g)
        return -(by_b @ x.mT) if ctx.needs_input_grad[0] else None, by_b


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
    _matrices(op, A, square=True)
    if not isinstance(B, Tensor):
        raise TypeError(f"{op}: B is a {type(B).__name__}; a tensor is needed")
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors and not left:
        raise ValueError(f"{op}: left=False with vectors B of shape {list(B.shape)}; use B.unsqueeze(-2)")
    if vectors:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    _matrices(op, B, name="B")
    if A.dtype != B.dtype or A.device != B.device:
        raise TypeError(
            f"{op}: A is {_name(A)} on {A.device} and B is {_name(B)} on {B.device}; convert one with .to()"
        )
    if not left:
        return solve(A.mT, B.mT).mT
    if A.shape[-1] != B.shape[-2]:
        raise ValueError(f"{op}: A {list(A.shape)} and B {list(B.shape)} do not fit; A @ X = B needs as many rows")
    batch = _core.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    out: Tensor = _Solve.apply(A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:]))
    return out


class _Cholesky(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = _lapack("linalg.cholesky", "is not positive definite", np.linalg.cholesky, a)
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
    _matrices("linalg.cholesky", A, square=True)
    factor: Tensor = _Cholesky.apply(A)
    return factor.mT if upper else factor


class _Qr(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, mode: Any) -> tuple[Tensor, Tensor]:
        wrong = "has no decomposition"
        q, r = _lapack("linalg.qr", wrong, lambda x: tuple(np.linalg.qr(x, mode=mode)), a)
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
    _matrices("linalg.qr", A)
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
        made = _lapack("linalg.svd", wrong, lambda x: tuple(np.linalg.svd(x, full_matrices=full)), a)
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
        gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + _eye(inner)
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
        LinAlgError: the iteration found no end: NaN or infinity.
        TypeError: A is neither float32 nor float64.

    Example:
        >>> sg.linalg.svd(sg.tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
        [4.0, 3.0]
    """
    _matrices("linalg.svd", A)
    return SVDResult(*_Svd.apply(A, bool(full_matrices)))


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
        made = _lapack("linalg.eigh", wrong, lambda x: tuple(np.linalg.eigh(x, UPLO=side)), a)
        ctx.save_for_backward(*made)
        return made

    @staticmethod
    def backward(ctx: Any, gw: Tensor | None, gv: Tensor | None) -> Any:
        w, v = ctx.saved_tensors
        inner = _core.diag_embed(gw if gw is not None else w * 0)
        if gv is not None:
            turn = v.mT @ gv
            inner = inner + (turn - turn.mT) * 0.5 / (w.unsqueeze(-2) - w.unsqueeze(-1) + _eye(v))
        return v @ inner @ v.mT, None


def eigh(A: Tensor, UPLO: str = "L") -> EighResult:
    """Eigenvalues, smallest first, and orthonormal eigenvectors of symmetric matrices.

    Shapes: [..., n, n] -> [..., n], [..., n, n].

    The signs of the vectors are free; their gradient needs eigenvalues that differ. That of the eigenvalues always
    exists.

    Args:
        A: only one triangle of each matrix is read.
        UPLO: which one: 'L' for the lower, 'U' for the upper.

    Raises:
        LinAlgError: the iteration found no end: NaN or infinity.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square, or UPLO is something else.

    Example:
        >>> sg.linalg.eigh(sg.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    _matrices("linalg.eigh", A, square=True)
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"linalg.eigh: UPLO {UPLO!r} is unknown; use 'L' or 'U'")
    return EighResult(*_Eigh.apply(A, UPLO.upper()))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, smallest first: [..., n, n] -> [..., n]; see eigh().

    Example:
        >>> sg.linalg.eigvalsh(sg.tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return eigh(A, UPLO).eigenvalues


class _Det(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = _lapack("linalg.det", "has no determinant", np.linalg.det, a)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, y = ctx.saved_tensors
        g = g.unsqueeze(-1).unsqueeze(-1)
        try:
            inverse = inv(a)
        except LinAlgError:
            return g * _Cofactors.apply(a)
        with no_grad():  # what the inverse of a nearly singular matrix is off by
            condition = (matrix_norm(a, 1) * matrix_norm(inverse, 1)).amax().item() if y.numel() and a.numel() else 1.0
        if condition > float(np.finfo(_name(a)).eps) ** -0.5:
            return g * _Cofactors.apply(a)
        return g * y.unsqueeze(-1).unsqueeze(-1) * inverse.mT


class _Cofactors(Function):
    """The gradient of det: without the signs of U and V, of each singular value the product of the others."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        ctx.save_for_backward(a)
        u, s, vh = svd(a)
        others = _core.where(_eye(a) != 0, 1.0, s.unsqueeze(-2)).prod(-1)
        return _sign_of(u, vh) * ((u * others.unsqueeze(-2)) @ vh)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (a,) = ctx.saved_tensors
        u, s, vh = svd(a)
        same = _eye(a) != 0
        two = same.unsqueeze(-2) | same.unsqueeze(-3)
        pairs = _core.where(two, 1.0, s.unsqueeze(-2).unsqueeze(-2)).prod(-1)  # products without two of them
        pairs = _core.where(same, 0.0, pairs)
        inner = u.mT @ g @ vh.mT
        along = _core.diag_embed((pairs @ inner.diagonal(0, -2, -1).unsqueeze(-1)).squeeze(-1))
        return _sign_of(u, vh) * (u @ (along - pairs * inner.mT) @ vh)


def _sign_of(u: Tensor, vh: Tensor) -> Tensor:
    with no_grad():
        return (det(u) * det(vh)).round().unsqueeze(-1).unsqueeze(-1)


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices: [..., n, n] -> [...].

    Singular matrices have a first and a second gradient; a third one needs singular values that differ.

    Raises:
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> round(sg.linalg.det(sg.tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 5)
        -2.0
    """
    _matrices("linalg.det", A, square=True)
    out: Tensor = _Det.apply(A)
    return out


class _Slogdet(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, ...]:
        made = _lapack("linalg.slogdet", "has no determinant", lambda x: tuple(np.linalg.slogdet(x)), a)
        ctx.save_for_backward(a)
        ctx.mark_non_differentiable(made[0])
        return made

    @staticmethod
    def backward(ctx: Any, gsign: Tensor, g: Tensor) -> Any:
        (a,) = ctx.saved_tensors
        return g.unsqueeze(-1).unsqueeze(-1) * inv(a).mT


def slogdet(A: Tensor) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value: [..., n, n] -> [...], [...].

    A singular matrix gives 0 and -inf, and has no gradient.

    Raises:
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> sign, log = sg.linalg.slogdet(sg.tensor([[1.0, 0.0], [0.0, -1.0]]))
        >>> sign.item(), log.item()
        (-1.0, 0.0)
    """
    _matrices("linalg.slogdet", A, square=True)
    return SlogdetResult(*_Slogdet.apply(A))


# ---- made of those above ---------------------------------------------------------------------------------------------
def logdet(A: Tensor) -> Tensor:
    """The logarithm of the determinant: [..., n, n] -> [...]; NaN where it is negative.

    Example:
        >>> sg.logdet(sg.eye(2)).item()
        0.0
    """
    sign, log = slogdet(A)
    out: Tensor = _core.where(sign < 0, math.nan, log)
    return out


class _Pinv(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, rtol: float, atol: float) -> Any:
        u, s, vh = svd(a, full_matrices=False)
        least = (rtol * s[..., :1]).clamp(min=atol)
        out = (vh.mT * _core.where(s > least, 1 / s, 0.0).unsqueeze(-2)) @ u.mT
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        # Golub and Pereyra (1973): of matrices whose rank does not change.
        a, p = ctx.saved_tensors
        left, right = g.mT @ p @ p.mT, p.mT @ p @ g.mT
        return left - a @ (p @ left) + right - right @ p @ a - p.mT @ g @ p.mT, None, None


def pinv(A: Tensor, rtol: float | None = None, *, atol: float | None = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse: [..., m, n] -> [..., n, m].

    Args:
        A: matrices. The gradient holds where their rank does not change.
        rtol: singular values below rtol times the largest count as 0; default: max(m, n) times the type's epsilon,
            or 0 when atol is given.
        atol: singular values below it count as 0.
        hermitian: accepted for PyTorch's sake; singular values serve as well.

    Raises:
        LinAlgError: the iteration found no end: NaN or infinity.
        TypeError: A is neither float32 nor float64.

    Example:
        >>> [[round(v, 5) for v in row] for row in sg.linalg.pinv(sg.tensor([[2.0], [0.0]])).tolist()]
        [[0.5, 0.0]]
    """
    _matrices("linalg.pinv", A)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(np.finfo(_name(A)).eps)
    out: Tensor = _Pinv.apply(A, float(rtol), float(atol or 0))
    return out


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices, of the inverse when n is negative: [..., n, n] -> [..., n, n].

    Raises:
        LinAlgError: n is negative and a matrix is singular.
        ValueError: the matrices are not square.

    Example:
        >>> sg.linalg.matrix_power(sg.tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"linalg.matrix_power: a tensor of shape {list(A.shape)} holds no square matrices")
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        return _eye(A).expand(*A.shape).clone()
    out, square = None, A
    while n:
        if n & 1:
            out = square if out is None else out @ square
        n >>= 1
        square = square @ square if n else square
    assert out is not None
    return out


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices, in the order that multiplies least; the first and last may be vectors.

    Raises:
        ValueError: fewer than two are given, or sizes differ.

    Example:
        >>> sg.linalg.multi_dot([sg.ones(2, 9), sg.ones(9, 1), sg.ones(1, 3)]).tolist()
        [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]
    """
    parts = list(tensors)
    if len(parts) < 2:
        raise ValueError(f"linalg.multi_dot: {len(parts)} tensors; give two or more")
    for i, t in enumerate(parts):
        if t.ndim != 2 and not (t.ndim == 1 and i in (0, len(parts) - 1)):
            raise ValueError(f"linalg.multi_dot: tensor {i} is of shape {list(t.shape)}; a matrix is needed")
    sizes = [1 if parts[0].ndim == 1 else parts[0].shape[0], *(t.shape[0 if t.ndim == 1 else -2] for t in parts[1:])]
    sizes.append(1 if parts[-1].ndim == 1 else parts[-1].shape[-1])
    # cheapest[i, j]: multiplications for parts i to j, and where to cut.
    cheapest: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(parts))}
    for length in range(1, len(parts)):
        for i in range(len(parts) - length):
            j = i + length
            cheapest[i, j] = min(
                (cheapest[i, c][0] + cheapest[c + 1, j][0] + sizes[i] * sizes[c + 1] * sizes[j + 1], c)
                for c in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return parts[i]
        cut = cheapest[i, j][1]
        return product(i, cut) @ product(cut + 1, j)

    return product(0, len(parts) - 1)


# ---- norms -----------------------------------------------------------------------------------------------------------
def _floating(op: str, x: Any, dtype: DTypeLike | None) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: a {type(x).__name__} is given; a tensor is needed")
    made: Tensor = x if dtype is None else x.to(dtype)
    if not made.is_floating_point():
        raise TypeError(f"{op}: the tensor is {_name(made)}; convert it with .float(), or give dtype=")
    return made


def vector_norm(
    x: Tensor, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The norm of vectors, the root of order ord of the sum of abs(x)**ord, on the tensor's device.

    Args:
        x: of a floating type.
        ord: any number; 0 counts what is not 0, inf and -inf give the largest and smallest abs(x).
        dim: the dimensions that make a vector; default: all.
        keepdim: keeps them, with size 1.
        dtype: converts x first.

    Raises:
        TypeError: x is of integers.

    Example:
        >>> sg.linalg.vector_norm(sg.tensor([3.0, 4.0])).item()
        5.0
    """
    x = _floating("linalg.vector_norm", x, dtype)
    if not isinstance(ord, int | float):
        raise TypeError(f"linalg.vector_norm: ord is {ord!r}; a number is needed")
    return _core.norm(x, float(ord), dim, keepdim)


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of matrices.

    Args:
        A: of a floating type.
        ord: 'fro' the root of the sum of squares; 'nuc' the sum of singular values; 2 and -2 the largest and smallest
            of them (these three in LAPACK, see svd()); 1 and -1 the largest and smallest sum of abs(A) along a column,
            inf and -inf along a row.
        dim: the two dimensions that make a matrix.
        keepdim: keeps them, with size 1.
        dtype: converts A first.

    Raises:
        TypeError: A is of integers.
        ValueError: ord is something else, or dim are not two dimensions.

    Example:
        >>> sg.linalg.matrix_norm(sg.tensor([[1.0, -2.0], [3.0, 4.0]]), 1).item()
        6.0
    """
    op = "linalg.matrix_norm"
    A = _floating(op, A, dtype)
    if A.ndim < 2:
        raise ValueError(f"{op}: a tensor of shape {list(A.shape)} is no matrix; use two dimensions or more")
    dims = list(dim) if not isinstance(dim, int) else [dim]
    if any(not -A.ndim <= d < A.ndim for d in dims):
        raise IndexError(f"{op}: dim {tuple(dims)} is out of range for shape {list(A.shape)}")
    if len({d % A.ndim for d in dims}) != 2 or len(dims) != 2:
        raise ValueError(f"{op}: dim {tuple(dims)} are not two dimensions")
    row, column = (d % A.ndim for d in dims)
    if ord == "fro":
        return _core.norm(A, 2.0, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(A.movedim((row, column), (-2, -1)))
        out = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        along, other = (row, column) if abs(float(ord)) == 1 else (column, row)
        sums = A.abs().sum(along, True)
        out = sums.amax(other, True) if float(ord) > 0 else sums.amin(other, True)
        out = out.squeeze((row, column))
    else:
        raise ValueError(f"{op}: ord {ord!r} is unknown; use 'fro', 'nuc', 1, 2, inf, or these with a minus")
    if not keepdim:
        return out
    for d in sorted((row, column)):
        out = out.unsqueeze(d)
    return out


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of vectors or of matrices.

    Args:
        A: of a floating type.
        ord: without it, the root of the sum of squares; else as in vector_norm() or matrix_norm().
        dim: one dimension makes vectors, two make matrices (vectors again without ord); default: all of A, which with
            ord is of one dimension or two.
        keepdim: keeps them, with size 1.
        dtype: converts A first.

    Raises:
        TypeError: A is of integers.
        ValueError: ord or dim are neither.

    Example:
        >>> sg.linalg.norm(sg.tensor([[3.0, 0.0], [0.0, 4.0]])).item()
        5.0
        >>> sg.linalg.norm(sg.tensor([[3.0, 0.0], [0.0, 4.0]]), ord=1, dim=0).tolist()
        [3.0, 4.0]
    """
    A = _floating("linalg.norm", A, dtype)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    dims = list(range(A.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim)
    if isinstance(ord, str):
        raise ValueError(f"linalg.norm: ord {ord!r} is for matrices; {len(dims)} dimensions are given")
    if len(dims) != 1:
        raise ValueError(f"linalg.norm: ord {ord!r} over {len(dims)} dimensions; give dim= of one or two")
    return vector_norm(A, ord, dims, keepdim)
