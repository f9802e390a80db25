"""The pseudo-inverse, powers, and products of several matrices and of reflections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..autograd import Function
from ..base.steps import flat_in
from ._decompositions import svd
from ._inverses import inv, solve_triangular
from ._lapack import check_matrices, eye_like, name_of, or_complex, real_of


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


@or_complex
def pinv(A: Tensor, rtol: float | None = None, *, atol: float | None = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse: [..., m, n] -> [..., n, m].

    Args:
        A: matrices. The gradient holds where their rank does not change.
        rtol: singular values below rtol times the largest count as 0; default: max(m, n) times the type's epsilon,
            or 0 when atol is given.
        atol: singular values below it count as 0.
        hermitian: accepted for PyTorch's sake; singular values are used in any case.

    Raises:
        LinAlgError: the iteration did not converge: NaN or infinity.
        TypeError: A is neither float32 nor float64.

    Example:
        >>> [[round(v, 5) for v in row] for row in sg.linalg.pinv(sg.tensor([[2.0], [0.0]])).tolist()]
        [[0.5, 0.0]]
    """
    check_matrices("linalg.pinv", A)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(np.finfo(name_of(A)).eps)
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
        return flat_in(eye_like(A).expand(*A.shape).clone(), A)
    if n == 1:
        return A.clone()
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


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections I - tau v v^H: [..., m, n], [..., k] -> [..., m, n].

    Args:
        A: the vectors below the diagonal, [..., m, n], n at most m; the rest does not matter.
        tau: [..., k], k at most n.

    Returns:
        [..., m, n].

    Raises:
        TypeError: A has another type than float32, float64, complex64 and complex128.
        ValueError: the shapes do not fit.

    Example:
        >>> sg.linalg.householder_product(sg.zeros(3, 2), sg.tensor([2.0, 0.0])).tolist()
        [[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    check_matrices("linalg.householder_product", real_of(A))
    m, n = A.shape[-2:]
    k = tau.shape[-1] if tau.ndim else 0
    if not 0 <= k <= n <= m or tau.shape[:-1] != A.shape[:-2]:
        raise ValueError(
            f"linalg.householder_product: A has shape {list(A.shape)} and tau {list(tau.shape)}; "
            "give [..., m, n] and [..., k] with k <= n <= m"
        )
    # Schreiber and Van Loan (1989): the product is I - V T V^H with an upper triangular T.
    one = _core.eye(m, n, dtype=A.dtype, device=A.device)
    v = A[..., :k].tril(-1) + one[:, :k]
    inner = (v.mH @ v).triu(1) * tau.unsqueeze(-1)
    t = solve_triangular(inner, tau.diag_embed(), upper=True, unitriangular=True)
    return one - v @ (t @ v[..., :n, :].mH)
